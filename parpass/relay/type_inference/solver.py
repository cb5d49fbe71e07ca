"""Unification of types, some of which are not known yet.

An unknown is an `IncompleteType`. What is learnt of it is kept here; types that were
made before refer to the unknown, so they need no change. Dimensions follow TVM's rule:
two that are known must be equal, and where one is `Any` their common type has `Any`.
So a type that was learnt may still be widened, from `(3,)` to `(?,)`, by what is learnt
later; watchers of an unknown are called for that, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from parpass.ir.type_functor import TypeMutator
from parpass.ir.types import Any, FuncType, IncompleteType, TensorType, Type, TypeVar
from parpass.ir.types.type_structure import checked_depth, is_complete, substitute

Watcher = Callable[[], None]


class TypeSolver:
    """Knows what unknown types stand for.

    Attributes:
        in_use: Whether there is any unknown; without one nothing needs resolving.
        type_vars: Type variables of the program, which unknowns may stand for.
    """

    def __init__(self) -> None:
        self.in_use = False
        self.type_vars: set[TypeVar] = set()
        # What an unknown stands for; that may be another unknown.
        self._meaning: dict[IncompleteType, Type] = {}
        self._watchers: dict[IncompleteType, list[Watcher]] = {}
        self._waiting: deque[Watcher] = deque()
        self._is_running = False
        # What two types had in common, by their ids: those of one call of `unify`.
        self._common: dict[tuple[int, int], tuple[Type, Type, Type | None]] = {}
        self._depth = 0

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
        """Return a type with all that is known of its parts.

        Raises:
            SizeLimitError: It would be too large.
        """
        return self.resolver()(typ)

    def resolver(self) -> Callable[[Type], Type]:
        """Return `resolve` for many types, between which nothing is learnt."""
        return _Resolution(self).visit

    def unknowns_in(self, types: Iterable[Type]) -> list[IncompleteType]:
        """Return the unknowns that types are made of, those with a meaning included."""
        found: dict[IncompleteType, None] = {}
        seen: set[int] = set()  # types that are parts of others, so they are kept
        waiting = [*types][::-1]
        while waiting:
            typ = waiting.pop()
            if isinstance(typ, IncompleteType):
                root = self.root(typ)
                if root not in found:
                    found[root] = None
                    waiting += [self._meaning[root]] if root in self._meaning else []
            elif id(typ) not in seen and not is_complete(typ):
                seen.add(id(typ))
                waiting += typ.parts[::-1]
        return list(found)

    def is_open(self, typ: Type) -> bool:
        """Return whether a part of a type is still unknown."""
        typ = self.outline(typ)
        if is_complete(typ):
            return False
        return any(it not in self._meaning for it in self.unknowns_in([typ]))

    def watch(self, unknowns: Iterable[IncompleteType], watcher: Watcher) -> None:
        """Call `watcher` whenever more is known of one of some unknowns."""
        for unknown in unknowns:
            self._watchers.setdefault(self.root(unknown), []).append(watcher)

    def unify(self, one: Type, other: Type) -> Type | None:
        """Return the type of what is of both types, None if there is no such type.

        What is learnt stays learnt, even where the types as wholes do not agree. An
        unknown type is never unified with a type that it is a part of.

        Raises:
            SizeLimitError: It would be too large.
        """
        if one is other or one == other:
            return one
        self._common.clear()
        self._depth = 0
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
        if type(one) is not type(other):
            return None
        key = (id(one), id(other))
        if key not in self._common:  # with the types, or others could get their ids
            self._common[key] = (one, other, self._unify_parts(one, other))
        return self._common[key][2]

    def _unify_parts(self, one: Type, other: Type) -> Type | None:
        if isinstance(one, FuncType) and isinstance(other, FuncType):
            return self._unify_functions(one, other)
        if not one.is_composed or one.labels != other.labels:
            return None
        parts = self._unify_all(one.parts, other.parts)
        return None if parts is None else one.rebuilt(parts, ())

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
        self._depth = checked_depth(self._depth + 1)
        pairs = zip(ones, others, strict=True)
        found = [self._unify(one, other) for one, other in pairs]
        self._depth -= 1
        known = tuple([typ for typ in found if typ is not None])
        return known if len(known) == len(found) else None

    def _unify_functions(self, one: FuncType, other: FuncType) -> Type | None:
        """Unify functions; the more general one is instantiated to the other."""
        if len(one.arg_types) != len(other.arg_types):
            return None
        if len(one.type_params) < len(other.type_params):
            one, other = other, one
        fewer = len(other.type_params)
        types: dict[TypeVar, Type] = {
            param: other.type_params[at] if at < fewer else self.unknown()
            for at, param in enumerate(one.type_params)
        }
        ones = [substitute(typ, types, self.type_vars) for typ in one.parts]
        found = self._unify_all(ones, other.parts)
        return None if found is None else other.rebuilt(found, other.type_params)

    def _learn(self, root: IncompleteType, typ: Type) -> None:
        self._meaning[root] = typ
        self._waiting.extend(self._watchers.get(root, ()))


class _Resolution(TypeMutator):
    def __init__(self, solver: TypeSolver) -> None:
        self._solver = solver
        self._depth = 0

    def visit(self, typ: Type) -> Type:
        return typ if is_complete(typ) else super().visit(typ)

    def visit_incomplete_type(self, it: IncompleteType) -> Type:
        known = self._solver.outline(it)
        if isinstance(known, IncompleteType):
            return known
        self._depth = checked_depth(self._depth + 1)
        found = self.visit(known)
        self._depth -= 1
        return found


def _common_tensor(one: TensorType, other: TensorType) -> TensorType | None:
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = list(zip(one.shape, other.shape, strict=True))
    if any(
        a != b and not isinstance(a, Any) and not isinstance(b, Any) for a, b in pairs
    ):
        return None
    return TensorType(tuple([a if a == b else Any() for a, b in pairs]), one.dtype)
