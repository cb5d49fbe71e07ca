"""Visitors and mutators of types, under TVM's names.

They recurse along the nesting of a type, which is shallow where a program is deep, and
visit a part once, however often it is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from parpass.errors import IRTypeError
from parpass.relay.ty import (
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    extent,
)
from parpass.relay.ty import TypeVar as RelayTypeVar

ResultT = TypeVar("ResultT")

_METHODS: dict[type[Type], str] = {
    RelayTypeVar: "visit_type_var",
    IncompleteType: "visit_incomplete_type",
    TensorType: "visit_tensor_type",
    FuncType: "visit_func_type",
    TupleType: "visit_tuple_type",
}


class TypeFunctor(Generic[ResultT]):
    """Gives a type a result, by its kind: subclass it and override `visit_...`.

    An object that is made of types is dispatched once, and its result remembered. What
    depends on the scope that a type is in needs a functor for each scope.
    """

    def visit(self, typ: Type) -> ResultT:
        """Return the result for a type, from memory if the same object was visited.

        Raises:
            IRTypeError: This is no type.
        """
        if type(typ) not in _METHODS:
            raise IRTypeError(f"expected a type, got {type(typ).__name__}")
        method: Callable[[Type], ResultT] = getattr(self, _METHODS[type(typ)])
        if not typ.parts:
            return method(typ)
        # With the type itself, or another one could get its id.
        memo: dict[int, tuple[Type, ResultT]] = self.__dict__.setdefault("_memo", {})
        if id(typ) not in memo:
            memo[id(typ)] = (typ, method(typ))
        return memo[id(typ)][1]

    def visit_type_var(self, tv: RelayTypeVar) -> ResultT:
        """Give the result for a type variable."""
        return self.visit_default(tv)

    def visit_incomplete_type(self, it: IncompleteType) -> ResultT:
        """Give the result for a type that is not known yet."""
        return self.visit_default(it)

    def visit_tensor_type(self, tt: TensorType) -> ResultT:
        """Give the result for the type of a tensor."""
        return self.visit_default(tt)

    def visit_func_type(self, ft: FuncType) -> ResultT:
        """Give the result for the type of a function."""
        return self.visit_default(ft)

    def visit_tuple_type(self, tt: TupleType) -> ResultT:
        """Give the result for the type of a tuple."""
        return self.visit_default(tt)

    def visit_default(self, typ: Type) -> ResultT:
        """Give the result for a type whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(typ).__name__}; override {_METHODS[type(typ)]}"
        )


class TypeVisitor(TypeFunctor[None]):
    """Visits all parts of a type; override the `visit_...` of what you look at."""

    def visit_default(self, typ: Type) -> None:
        """Visit the parts of a type: a function's parameters before its result."""
        params = typ.type_params if isinstance(typ, FuncType) else ()
        for part in (*params, *typ.parts):
            self.visit(part)


class TypeMutator(TypeFunctor[Type]):
    """Rewrites a type; what does not change stays the same object.

    Override the `visit_...` of the kinds you rewrite; `super().visit_...` gives the
    type with its parts rewritten. Type parameters are binders, and are not visited.
    """

    def visit_default(self, typ: Type) -> Type:
        """Return a type with its parts rewritten, itself if none changed."""
        old = typ.parts
        new = tuple([self.visit(part) for part in old])
        if all(before is after for before, after in zip(old, new, strict=True)):
            return typ
        if isinstance(typ, FuncType):
            return FuncType(new[:-1], new[-1], typ.type_params)
        return TupleType(new)


class _FreeTypeVars(TypeFunctor[dict[RelayTypeVar, None]]):
    def visit_type_var(self, tv: RelayTypeVar) -> dict[RelayTypeVar, None]:
        return {tv: None}

    def visit_func_type(self, ft: FuncType) -> dict[RelayTypeVar, None]:
        found = self.visit_default(ft)
        return {var: None for var in found if var not in ft.type_params}

    def visit_default(self, typ: Type) -> dict[RelayTypeVar, None]:
        return {var: None for part in typ.parts for var in self.visit(part)}


def type_vars_in(typ: Type) -> list[RelayTypeVar]:
    """Return the type variables that a type does not bind, by first appearance."""
    if RelayTypeVar not in extent(typ).kinds:
        return []
    return list(_FreeTypeVars().visit(typ))


def is_complete(typ: Type) -> bool:
    """Return whether no part of a type is left open."""
    return IncompleteType not in extent(typ).kinds


class _Substitution(TypeMutator):
    def __init__(self, types: Mapping[RelayTypeVar, Type]) -> None:
        self._types = types

    def visit(self, typ: Type) -> Type:
        return super().visit(typ) if RelayTypeVar in extent(typ).kinds else typ

    def visit_type_var(self, tv: RelayTypeVar) -> Type:
        return self._types.get(tv, tv)

    def visit_func_type(self, ft: FuncType) -> Type:
        if not ft.type_params:
            return super().visit_func_type(ft)
        free = type_vars_in(ft)
        types: dict[RelayTypeVar, Type]
        types = {var: typ for var, typ in self._types.items() if var in free}
        if not types:
            return ft
        taken = {*free, *(var for typ in types.values() for var in type_vars_in(typ))}
        params = tuple([_renamed(param, taken) for param in ft.type_params])
        types |= zip(ft.type_params, params, strict=True)
        parts = [*map(_Substitution(types).visit, ft.parts)]
        return FuncType(tuple(parts[:-1]), parts[-1], params)


def _renamed(var: RelayTypeVar, taken: set[RelayTypeVar]) -> RelayTypeVar:
    """Return a variable that is not taken, this one if it can be, and take it."""
    new, tries = var, 0
    while new in taken:
        tries += 1
        new = RelayTypeVar(f"{var.name_hint}_{tries}", var.kind)
    taken.add(new)
    return new


def substitute(typ: Type, types: Mapping[RelayTypeVar, Type]) -> Type:
    """Return a type with types in place of the variables that it does not bind."""
    return _Substitution(types).visit(typ)


__all__ = [
    "TypeFunctor",
    "TypeMutator",
    "TypeVisitor",
    "is_complete",
    "substitute",
    "type_vars_in",
]
