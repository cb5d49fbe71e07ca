"""The attributes of a call, checked against those that its operator has."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import msgspec

from parpass.ir.attrs import DictAttrs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark import Token

    from parpass.diagnostic import Span
    from parpass.ir.attrs import Attrs
    from parpass.ir.op_table import Op
    from parpass.relay.text.problems import Problems


class Attribute(msgspec.Struct, frozen=True):
    """`name=value`, as it stands in a text; `place` is where the name is."""

    name: str
    value: Any
    place: Token


def dict_attrs(attributes: Sequence[Attribute], problems: Problems) -> DictAttrs | None:
    """Return attributes of any names as a mapping, None if there are none."""
    values: dict[str, Any] = {}
    for attribute in attributes:
        if attribute.name in values:
            problems.report(
                attribute.place, f"attribute '{attribute.name}' is given twice"
            )
        values[attribute.name] = attribute.value
    return DictAttrs(values) if values else None


def operator_attrs(
    op: Op, attributes: Sequence[Attribute], place: Span, problems: Problems
) -> Attrs | None:
    """Return the attributes of a call of an operator.

    Args:
        op: The operator.
        attributes: Those that the text has.
        place: Where the call is.
        problems: Takes the errors.
    """
    kind = op.attrs_type
    if kind is None:
        for attribute in attributes:
            problems.report(attribute.place, f"'{op.name}' has no attributes")
        return None
    values = dict(dict_attrs(attributes, problems) or {})
    try:
        if values.keys() <= _fields(kind).keys():
            return msgspec.convert(values, kind)
    except msgspec.ValidationError:
        pass  # found again below, attribute by attribute
    for attribute in attributes:
        _check(op, attribute, _fields(kind), problems)
    for field in _fields(kind).values():
        if field.required and field.name not in values:
            problems.report(place, f"'{op.name}' needs the attribute '{field.name}'")
    return None


def _check(
    op: Op,
    attribute: Attribute,
    fields: dict[str, msgspec.structs.FieldInfo],
    problems: Problems,
) -> None:
    field = fields.get(attribute.name)
    if field is None:
        what = f"attribute of '{op.name}' named"
        problems.report_unknown(attribute.place, what, attribute.name, fields)
        return
    try:
        msgspec.convert(attribute.value, field.type)
    except msgspec.ValidationError as error:
        what = f"attribute '{attribute.name}' of '{op.name}'"
        problems.report(attribute.place, f"{what}: {_in_words(error)}")


def _in_words(error: msgspec.ValidationError) -> str:
    """Return msgspec's message as ours begin, without its path into the value."""
    message = re.sub(r" - at `\$(.*)`$", "", str(error)).replace("`", "'")
    message = message.replace("'array'", "a sequence").replace("'str'", "a string")
    return message[:1].lower() + message[1:]


@functools.cache
def _fields(kind: type[Attrs]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}
