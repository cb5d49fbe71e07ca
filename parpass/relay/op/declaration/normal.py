"""The full form of a call's attributes, whoever makes the call.

Builders and the text parser come here: each value gets the form that its field asks for
(`attributes.py`) and is checked against the field's type. Of a builder, the whole is
asked whether its values go together (`Attrs.check`). JSON has full forms alone.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec
import numpy as np

from parpass.errors import IRError, IRTypeError
from parpass.ir.attrs import Attrs
from parpass.relay.op.declaration.attributes import Converter


class Field(msgspec.Struct, frozen=True):
    """How a value becomes that of a field.

    Attributes:
        name: The field's name.
        kind: Its type.
        convert: Gives a value its full form; None if it has only one.
        is_optional: Whether None stands for itself.
    """

    name: str
    kind: Any
    convert: Converter | None = None
    is_optional: bool = False

    def normal(self, value: Any, owner: str) -> Any:
        """Return a value in its full form.

        Args:
            value: The value.
            owner: The operator that has the attribute.

        Raises:
            IRTypeError: It has none.
        """
        if value is None and self.is_optional:
            return None
        found = value
        try:
            if self.convert is not None:
                found = self.convert(value, self.name)
            if type(found) is self.kind or (found is None and self.is_optional):
                return found
            return msgspec.convert(_plain(found, self.kind), self.kind)
        except IRError:
            raise
        # A converter need not say what it does with what makes no sense at all.
        except (msgspec.ValidationError, TypeError, ValueError):
            kind = self.kind | None if self.is_optional else self.kind
            wanted = kind.__name__ if isinstance(kind, type) else kind
            raise IRTypeError(
                f"'{owner}': expected {wanted} for {self.name}, got {found!r}"
            ) from None

    def stored(self, value: Any, owner: str) -> Any:
        """Return a value that is read, in its full form if it has one.

        A program may hold what no builder makes; it is read as it was written.

        Raises:
            IRTypeError: It has none, nor is it of the field's type.
        """
        try:
            kept = msgspec.convert(value, self.kind)
        except msgspec.ValidationError:
            return self.normal(value, owner)
        # Of what is of the right type, names alone have more forms than one.
        if self.convert is not None and type(kept) is str:
            with contextlib.suppress(IRTypeError):
                return self.convert(kept, self.name)
        return kept


@functools.cache
def fields_of(kind: type[Attrs]) -> dict[str, Field]:
    """Return the fields of an attribute class by name."""
    return {
        one.name: _field(one.name, one.type) for one in msgspec.structs.fields(kind)
    }


def _field(name: str, kind: Any) -> Field:
    if get_origin(kind) is Annotated:
        inner, convert, *_ = get_args(kind)
        return Field(name, inner, convert)
    if get_origin(kind) in (Union, types.UnionType):
        some = [one for one in get_args(kind) if one is not types.NoneType]
        if len(some) == 1:
            return msgspec.structs.replace(_field(name, some[0]), is_optional=True)
    return Field(name, kind)


def _plain(value: Any, kind: Any) -> Any:
    """Return numpy's scalars as Python's; TVM's builders take 0 and 1 for flags."""
    if isinstance(value, np.generic):
        value = cast("Any", value.item())
    return bool(value) if kind is bool and value in (0, 1) else value
