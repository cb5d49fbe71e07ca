"""Unification of types, some of which are not known yet.

An unknown is an `IncompleteType`. What is learnt of it is kept here; types that were
made before refer to the unknown, so they need no change. Dimensions follow TVM's rule:
two that are known must be equal, and where one is `Any` their common type has `Any`.
So a type that was learnt may still be widened, from `(3,)` to `(?,)`, by what is learnt
later; whoever watches an unknown is called for that, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from parpass.relay.ty import (
    Any,
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from parpass.relay.type_functor import TypeMutator, TypeVisitor, substitute

Watcher = Callable[[], None]


class TypeSolver:
    """Knows what unknown types stand for.

    Attributes:
        in_use: Whether there is any unknown; without one nothing needs resolving.
    """

    def __init__(self) -> None:
        self.in_use = False
        # What an unknown stands for; that may be another unknown.
        self._meaning: dict[IncompleteType, Type] = {}
        self._watchers: dict[IncompleteType, list[Watcher]] = {}
        self._waiting: deque[Watcher] = deque()
        self._is_running = False

    def unknown(self) -> IncompleteType:
        """Return a new unknown type."""
        self.in_use = True
        return IncompleteType()

    def root(self, unknown: IncompleteType) -> IncompleteType:
        """Return the one that stands for all unknowns that were unified with it."""
        path: list[IncompleteType] = []
        while isinstance(after := self._meaning.get(unknown), IncompleteType):
            path.append(unknown)
            unknown = after
        for passed in path:
            self._meaning[passed] = unknown
        return unknown

    def outline(self, typ: Type) -> Type:
        """Return a type of which the outermost part is known as far as can be."""
        if not isinstance(typ, IncompleteType):
            return typ
        root = self.root(typ)
        return self._meaning.get(root, root)

    def resolve(self, typ: Type) -> Type:
        """Return a type with all that is known of its parts."""
        typ = self.outline(typ)
        return typ if type(typ) is TensorType else _Resolution(self).visit(typ)

    def unknowns_in(self, types: Iterable[Type]) -> list[IncompleteType]:
        """Return the unknowns that types are made of, those with a meaning included."""
        collector = _Unknowns(self)
        for typ in types:
            if type(typ) is not TensorType:
                collector.visit(typ)
        return list(collector.found)

    def is_open(self, typ: Type) -> bool:
        """Return whether a part of a type is still unknown."""
        typ = self.outline(typ)
        if type(typ) is TensorType:
            return False
        return any(it not in self._meaning for it in self.unknowns_in([typ]))

    def watch(self, unknowns: Iterable[IncompleteType], watcher: Watcher) -> None:
        """Have `watcher` called whenever more is known of one of some unknowns."""
        for unknown in unknowns:
            self._watchers.setdefault(self.root(unknown), []).append(watcher)

    def unify(self, one: Type, other: Type) -> Type | None:
        """Return the type of what is of both types, None if there is no such type.

        What is learnt stays learnt, even where the types as wholes do not agree. An
        unknown type is never unified with a type that it is a part of.
        """
        if one is other or one == other:
            return one
        found = self._unify(one, other)
        self._run_watchers()
        return found

    def _run_watchers(self) -> None:
        # A watcher unifies in its turn; the queue keeps that from nesting along a chain
        # of expressions.
        if self._is_running or not self._waiting:
            return
        self._is_running = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            self._is_running = False

    def _unify(self, one: Type, other: Type) -> Type | None:
        if isinstance(one, IncompleteType):
            return self._unify_unknown(one, other)
        if isinstance(other, IncompleteType):
            return self._unify_unknown(other, one)
        if one == other:
            return one
        if isinstance(one, TensorType) and isinstance(other, TensorType):
            return _common_tensor(one, other)
        if isinstance(one, TupleType) and isinstance(other, TupleType):
            fields = self._unify_all(one.fields, other.fields)
            return None if fields is None else TupleType(fields)
        if isinstance(one, FuncType) and isinstance(other, FuncType):
            return self._unify_functions(one, other)
        return None

    def _unify_unknown(self, unknown: IncompleteType, other: Type) -> Type | None:
        root = self.root(unknown)
        if isinstance(other, IncompleteType):
            return self._unify_two_unknowns(root, self.root(other))
        known = self._meaning.get(root)
        if known is None:
            if root in self.unknowns_in([other]):
                return None  # an infinite type
            self._learn(root, other)
            return root
        found = self._unify(known, other)
        if found is None:
            return None
        if found != known:
            self._learn(root, found)
        return root

    def _unify_two_unknowns(
        self, one: IncompleteType, other: IncompleteType
    ) -> Type | None:
        if one is other:
            return one
        left, right = self._meaning.get(one), self._meaning.get(other)
        if left is not None and right is not None:
            meaning = self._unify(left, right)
            if meaning is None:
                return None
        else:
            meaning = left or right
            if meaning is not None:
                unbound = one if left is None else other
                if unbound in self.unknowns_in([meaning]):
                    return None
        self._meaning[one] = other
        self._watchers.setdefault(other, []).extend(self._watchers.pop(one, ()))
        if meaning is not None:
            self._learn(other, meaning)
        return other

    def _unify_all(
        self, ones: Sequence[Type], others: Sequence[Type]
    ) -> tuple[Type, ...] | None:
        if len(ones) != len(others):
            return None
        pairs = zip(ones, others, strict=True)
        found = [self._unify(one, other) for one, other in pairs]
        known = tuple([typ for typ in found if typ is not None])
        return known if len(known) == len(found) else None

    def _unify_functions(self, one: FuncType, other: FuncType) -> FuncType | None:
        """Unify functions; one that is more general is used as the other one is."""
        if len(one.type_params) < len(other.type_params):
            one, other = other, one
        fewer = len(other.type_params)
        types: dict[TypeVar, Type] = {
            param: other.type_params[at] if at < fewer else self.unknown()
            for at, param in enumerate(one.type_params)
        }
        ones = [substitute(typ, types) for typ in (*one.arg_types, one.ret_type)]
        found = self._unify_all(ones, (*other.arg_types, other.ret_type))
        if found is None:
            return None
        return FuncType(found[:-1], found[-1], other.type_params)

    def _learn(self, root: IncompleteType, typ: Type) -> None:
        self._meaning[root] = typ
        self._waiting.extend(self._watchers.get(root, ()))


class _Resolution(TypeMutator):
    def __init__(self, solver: TypeSolver) -> None:
        self._solver = solver

    def visit_incomplete_type(self, it: IncompleteType) -> Type:
        known = self._solver.outline(it)
        return known if isinstance(known, IncompleteType) else self.visit(known)


class _Unknowns(TypeVisitor):
    def __init__(self, solver: TypeSolver) -> None:
        self.found: dict[IncompleteType, None] = {}
        self._solver = solver

    def visit_incomplete_type(self, it: IncompleteType) -> None:
        root = self._solver.root(it)
        if root not in self.found:
            self.found[root] = None
            known = self._solver.outline(root)
            if not isinstance(known, IncompleteType):
                self.visit(known)


def _common_tensor(one: TensorType, other: TensorType) -> TensorType | None:
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = list(zip(one.shape, other.shape, strict=True))
    if any(
        a != b and not isinstance(a, Any) and not isinstance(b, Any) for a, b in pairs
    ):
        return None
    return TensorType(tuple([a if a == b else Any() for a, b in pairs]), one.dtype)
