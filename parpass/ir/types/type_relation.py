"""Type relations: how the type of a call's result follows from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.types.ty import Type

TypeRelationFn = Callable[[Sequence[Type], Any], Type]

# Relations that operators may be given by their names.
TYPE_RELATIONS: dict[str, TypeRelationFn] = {}


class TypeRelationError(IRTypeError):
    """An operator does not accept the types of its arguments, or its attributes."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


def refusing(name: str, relation: Callable[[Any, Any], Type | None]) -> TypeRelationFn:
    """Return a relation that refuses in TVM's ways: by `assert`, or by giving None."""

    def related(types: Sequence[Type], attrs: Any) -> Type:
        try:
            found = relation(types, attrs)
        except AssertionError as error:
            raise TypeRelationError(f"'{name}' refuses it: {error}") from error
        if found is None:
            raise TypeRelationError(f"'{name}' gives no type for the result")
        return found

    return related
