"""The attributes of a call, checked against those that its operator has."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import msgspec

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.text.attribute import Attribute, by_name
from parpass.relay.op.declaration.normal import fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parpass.ir.attrs import Attrs
    from parpass.ir.operators.op_table import Op
    from parpass.ir.text.problems import Problems


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
    given = by_name(attributes, problems)
    fields = fields_of(kind)
    values: dict[str, Any] = {}
    for attribute in attributes:
        field = fields.get(attribute.name)
        if field is None:
            what = f"attribute of '{op.name}' named"
            problems.report_unknown(attribute.place, what, attribute.name, fields)
            continue
        try:
            values[field.name] = field.stored(attribute.value, op.name)
        except IRTypeError as error:
            what = f"attribute '{attribute.name}' of '{op.name}'"
            words = error if field.convert else _misfit(attribute.value, field.kind)
            problems.report(attribute.place, f"{what}: {words}")
    missing = [one for one in _required(kind) if one not in given]
    for name in missing:
        problems.report(place, f"'{op.name}' needs the attribute '{name}'")
    return None if missing or values.keys() != given.keys() else kind(**values)


def _misfit(value: Any, kind: Any) -> str:
    """Return why a value is not of a type: msgspec's message, begun as ours are."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # Without its path into the value.
        message = re.sub(r" - at `\$(.*)`$", "", str(error)).replace("`", "'")
        message = message.replace("'array'", "a sequence").replace("'str'", "a string")
        return message[:1].lower() + message[1:]
    return "expected another value"


@functools.cache
def _required(kind: type[Attrs]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind) if field.required]
