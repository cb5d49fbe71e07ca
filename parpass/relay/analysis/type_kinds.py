"""Kinds: whether types are made of what they may be made of."""

from __future__ import annotations

from collections.abc import Callable

from parpass.errors import IRTypeError
from parpass.ir.adt import GlobalTypeVar, TypeCall, TypeData
from parpass.ir.module import IRModule
from parpass.ir.type_constraint import TypeRelation
from parpass.ir.types.ty import FuncType, IncompleteType, Type, TypeKind, TypeVar

Definitions = Callable[[str], TypeData | None]

_KINDS: dict[type[Type], TypeKind] = {
    TypeData: TypeKind.TypeData,
    TypeRelation: TypeKind.Constraint,
}


def check_kind(t: Type, mod: IRModule | None = None) -> TypeKind:
    """Return the kind of a type: that of a variable is its own, that of others `Type`.

    Args:
        t: The type.
        mod: Has the definitions of types in it; without, these are not looked at.

    Raises:
        IRTypeError: It is made of what it may not be made of, or of a defined type
            with another number of types than that takes.
    """
    return kind_of_type(t, mod.types.by_name.get if mod is not None else None)


def kind_of_type(typ: Type, definitions: Definitions | None) -> TypeKind:
    """Return the same, given what returns a definition by its name.

    Raises:
        IRTypeError: As above.
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
