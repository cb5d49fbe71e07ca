"""What every builder ends in."""

from __future__ import annotations

import functools
from typing import Any, cast

import msgspec
import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Operand, as_expr


def call_op(op: Op, args: tuple[Operand, ...], attrs: Attrs | None = None) -> Call:
    """Return a call of an operator; Python numbers become constants.

    Raises:
        IRTypeError: An argument is neither an expression nor a number, or an attribute
            is of the wrong kind.
    """
    if attrs is not None:
        attrs = _checked(op, attrs)
    return Call(op, tuple(map(as_expr, args)), attrs)


def _checked(op: Op, attrs: Attrs) -> Attrs:
    """Return attributes of the kinds that their class says; numpy's become Python's."""
    changed: dict[str, Any] = {}
    for name, kind in _kinds(type(attrs)):
        value = getattr(attrs, name)
        plain = _plain(value, kind)
        try:
            stored = msgspec.convert(plain, kind)
        except msgspec.ValidationError:
            wanted = kind.__name__ if isinstance(kind, type) else kind
            raise IRTypeError(
                f"'{op.name}': expected {wanted} for {name}, got {value!r}"
            ) from None
        if type(stored) is not type(value):
            changed[name] = stored
    return msgspec.structs.replace(attrs, **changed) if changed else attrs


def _plain(value: Any, kind: Any) -> Any:
    if isinstance(value, np.generic):
        value = cast("Any", value.item())
    # TVM's builders take 0 and 1 for flags.
    return bool(value) if kind is bool and value in (0, 1) else value


@functools.cache
def _kinds(attrs_type: type[Attrs]) -> tuple[tuple[str, Any], ...]:
    return tuple((one.name, one.type) for one in msgspec.structs.fields(attrs_type))
