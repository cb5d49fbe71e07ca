"""Analyses of types: kinds, type variables, and the defined types of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from parpass.errors import IRTypeError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall, TypeData
from parpass.ir.module import IRModule
from parpass.ir.module.free_vars import free_type_vars_in, stated_types
from parpass.ir.node import Node, children, post_order
from parpass.ir.op.type_relation import TypeRelation
from parpass.ir.type_functor import TypeVisitor
from parpass.ir.types import FuncType, IncompleteType, Type, TypeKind, TypeVar
from parpass.ir.types.type_structure import extent, type_vars_in
from parpass.relay.adt import Clause, Pattern, PatternConstructor
from parpass.relay.expr import Expr, Function

Definitions = Callable[[str], TypeData | None]

_KINDS: dict[type[Type], TypeKind] = {
    TypeData: TypeKind.TypeData,
    TypeRelation: TypeKind.Constraint,
}


def check_kind(t: Type, mod: IRModule | None = None) -> TypeKind:
    """Return the kind of a type: that of a variable is its own, that of others `Type`.

    Args:
        t: The type.
        mod: Defines the types in it; without it, defined types are not checked.

    Raises:
        IRTypeError: A part of the type is of the wrong kind, or a defined type has the
            wrong number of type arguments.
    """
    return kind_of_type(t, mod.types.by_name.get if mod is not None else None)


def kind_of_type(typ: Type, definitions: Definitions | None) -> TypeKind:
    """Return the kind of a type; `check_kind` with a function that finds definitions.

    Raises:
        IRTypeError: As for `check_kind`.
    """
    return _Kinds(definitions).kind(typ)


class _Kinds:
    def __init__(self, definitions: Definitions | None) -> None:
        self._definitions = definitions
        self._seen: dict[int, TypeKind] = {}  # of parts, which live as long as the type

    def kind(self, typ: Type) -> TypeKind:
        if isinstance(typ, TypeVar | GlobalTypeVar | IncompleteType):
            return TypeKind(typ.kind)
        if id(typ) not in self._seen:
            self._seen[id(typ)] = self._composed(typ)
        return self._seen[id(typ)]

    def _composed(self, typ: Type) -> TypeKind:
        parts = typ.parts
        if isinstance(typ, TypeCall):
            self._check_callee(typ)
            parts = typ.args
        if isinstance(typ, FuncType):
            parts = (*typ.arg_types, typ.ret_type)
            for constraint in typ.type_constraints:
                self._check(constraint, TypeKind.Constraint, typ)
        for part in parts:
            self._check(part, TypeKind.Type, typ)
        return _KINDS.get(type(typ), TypeKind.Type)

    def _check(self, part: Type, wanted: TypeKind, inside: Type) -> None:
        found = self.kind(part)
        if found is not wanted:
            raise IRTypeError(
                f"expected a type of kind {wanted.name} in {inside}, got {part} of "
                f"kind {found.name}"
            )

    def _check_callee(self, call: TypeCall) -> None:
        found = self.kind(call.func)
        if not isinstance(call.func, GlobalTypeVar) or found is not TypeKind.AdtHandle:
            raise IRTypeError(
                f"expected the name of a defined type in {call}, got {call.func} of "
                f"kind {found.name}"
            )
        if self._definitions is None:
            return
        name = call.func.name_hint
        definition = self._definitions(name)
        if definition is None:
            raise IRTypeError(f"the module has no type named '{name}'")
        wanted, got = len(definition.type_vars), len(call.args)
        if wanted != got:
            plural = "" if wanted == 1 else "s"
            raise IRTypeError(
                f"type '{name}' takes {wanted} type argument{plural}, got {got}"
            )


def free_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type variables that no function in `of` has as its parameters.

    They come in order of first appearance.
    """
    if isinstance(of, Type):
        return list(dict.fromkeys(type_vars_in(of)))
    return free_type_vars_in(post_order(of))


def bound_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type parameters of functions in `of`, or of its types, each once."""
    if isinstance(of, Type):
        return list(_Names(of).bound)
    functions = [node for node in post_order(of) if isinstance(node, Function)]
    return list(dict.fromkeys(var for func in functions for var in func.type_params))


def all_type_vars(of: Expr | Type) -> list[TypeVar]:
    """Return the type variables in `of`.

    For an expression those that it uses come before the others; in a type, parameters
    come before their scope.
    """
    if isinstance(of, Type):
        return list(_Names(of).found)
    used = (var for typ in stated_types(post_order(of)) for var in type_vars_in(typ))
    return list(dict.fromkeys([*used, *bound_type_vars(of)]))


class _Names(TypeVisitor):
    """The type variables in a type, and those that functions in it bind."""

    def __init__(self, typ: Type) -> None:
        self.found: dict[TypeVar, None] = {}
        self.bound: dict[TypeVar, None] = {}
        self.visit(typ)

    def visit_type_var(self, tv: TypeVar) -> None:
        self.found[tv] = None

    def visit_func_type(self, ft: FuncType) -> None:
        self.bound.update(dict.fromkeys(ft.type_params))
        super().visit_func_type(ft)


def unbound_type_vars(expr: Expr) -> list[tuple[Node, TypeVar]]:
    """Return the uses of type variables that no enclosing function binds.

    A node that is shared between scopes may use what all of them bind.
    """
    order = post_order(expr)
    bound: dict[Node, frozenset[TypeVar]] = {order[-1]: frozenset()}
    found: list[tuple[Node, TypeVar]] = []
    for node in reversed(order):
        inside = bound[node]
        if isinstance(node, Function) and node.type_params:
            inside = inside.union(node.type_params)
        for child in children(node):
            known = bound.setdefault(child, inside)
            if known is not inside:
                bound[child] = known & inside
        used = [var for typ in stated_types([node]) for var in type_vars_in(typ)]
        found += [(node, var) for var in used if var not in inside]
    return found[::-1]


def constructors_in(order: Iterable[Node]) -> Iterator[Constructor]:
    """Yield the constructors that expressions call or match, with repetition."""
    for node in order:
        if isinstance(node, Constructor):
            yield node
        elif isinstance(node, Clause):
            yield from _in_pattern(node.lhs)


def _in_pattern(pattern: Pattern) -> Iterator[Constructor]:
    if isinstance(pattern, PatternConstructor):
        yield pattern.constructor
    for part in pattern.inside:
        yield from _in_pattern(part)


def types_used(order: Iterable[Node]) -> set[str]:
    """Return the names of the defined types that nodes state, call and match."""
    nodes = list(order)
    found = {it.belong_to.name_hint for it in constructors_in(nodes)}
    return found.union(*map(types_in, stated_types(nodes)))


def types_in(typ: Type) -> set[str]:
    """Return the names of the defined types in a type, or in a definition."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [typ]
    while waiting:
        part = waiting.pop()
        if isinstance(part, GlobalTypeVar):
            found.add(part.name_hint)
        elif id(part) not in seen and GlobalTypeVar in extent(part).kinds:
            seen.add(id(part))  # which lives as long as the whole
            waiting += part.parts
    return found
