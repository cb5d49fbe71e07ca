"""How each operator goes on in another layout than the one it was written for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from msgspec.structs import replace

from parpass.errors import IRTypeError
from parpass.ir.operators.op_table import Op, OpPattern
from parpass.ir.types.ty import TensorType, TupleType
from parpass.relay.expr import Call
from parpass.relay.transform.relayout.axis_rules import AXIS_RULES
from parpass.relay.transform.relayout.infer_layout_utils import (
    InferCorrectLayoutOutput,
)
from parpass.relay.transform.relayout.layout_change import Change, Relaid, Rule

# Position counts in it, so it is elementwise to FuseOps only.
_BY_POSITION = frozenset({"trilu"})


def relaid(
    call: Call, change: Change, own: Mapping[str, Any] = MappingProxyType({})
) -> Relaid | None:
    """Return how a call goes on if its data changes; None if it needs it as it was.

    Args:
        call: A call of an operator, with types.
        change: The change of the layout of the first argument that has another one.
        own: The rules that users have registered, by operator.

    Raises:
        IRTypeError: Such a rule gives something else than layouts.
    """
    op = cast("Op", call.op)
    if op.name in own:
        return _by_users_rule(call, change, own[op.name])
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(call, change)
    if "layout" in (call.attrs or ()):
        return _with_layout(call, change)
    if op.name in _BY_POSITION or not call.args:
        return None
    if op.pattern is OpPattern.ELEMWISE and len(call.args) == 1:
        return Relaid(call.attrs, (True,), (True,))
    if op.pattern is OpPattern.BROADCAST and op.attrs_type is None:
        return _broadcast(call, change)
    return None


def _by_users_rule(call: Call, change: Change, rule: Any) -> Relaid | None:
    types = [arg.checked_type for arg in call.args]
    count = len(types)
    found = rule(call.attrs, [change.new] * count, [change.old] * count, types)
    if found is None:
        return None
    if not isinstance(found, InferCorrectLayoutOutput):
        raise IRTypeError(
            f"expected an InferCorrectLayoutOutput for '{cast('Op', call.op).name}', "
            f"got {type(found).__name__}"
        )
    inputs = tuple([layout == change.new for layout in found.input_layouts])
    outputs = tuple([layout == change.new for layout in found.output_layouts])
    return Relaid(found.new_attrs, inputs, outputs)


def _broadcast(call: Call, change: Change) -> Relaid | None:
    result = call.checked_type
    if not isinstance(result, TensorType):
        return None
    if len(result.shape) != len(change.old.axes):
        return None
    types = [cast("TensorType", arg.checked_type) for arg in call.args]
    rank = len(change.old.axes)
    # What broadcasts along all axes does so in any layout.
    inputs = [len(x.shape) == rank or any(dim != 1 for dim in x.shape) for x in types]
    return Relaid(call.attrs, tuple(inputs), (True,))


def _with_layout(call: Call, change: Change) -> Relaid | None:
    attrs = call.attrs
    old, new = change
    blocked = [letter for letter in new.primal if new.block(letter) > 1]
    out_layout = attrs.get("out_layout", "") or attrs.layout
    if {attrs.layout, out_layout} != {old.name} or blocked not in ([], ["C"]):
        return None
    changes = {"layout": new.name}
    if attrs.get("out_layout"):
        changes["out_layout"] = new.name
    return Relaid(replace(attrs, **changes), _first(call), (True,))


def _first(call: Call) -> tuple[bool, ...]:
    return (True, *[False] * (len(call.args) - 1))


def _along_axis(call: Call, change: Change) -> Relaid | None:
    """Give the form of an operator with one axis, and vectors along it."""
    axis = change.axis(call.attrs.axis)
    if axis is None:
        return None
    others = [False] * (_field_count(call) - 1)
    return Relaid(replace(call.attrs, axis=axis), _first(call), (True, *others))


def _field_count(call: Call) -> int:
    found = call.checked_type
    return len(found.fields) if isinstance(found, TupleType) else 1


def _split(call: Call, change: Change) -> Relaid | None:
    axis = change.axis(call.attrs.axis)
    if axis is None:
        return None
    outputs = (True,) * _field_count(call)
    return Relaid(replace(call.attrs, axis=axis), (True,), outputs)


def _concatenate(call: Call, change: Change) -> Relaid | None:
    # Along blocks too, for each field is made of whole ones.
    axis: int = call.attrs.axis
    letter = change.old.axes[axis % len(change.old.axes)]
    return Relaid(replace(call.attrs, axis=change.new.index(letter)), (True,), (True,))


def _dropout(call: Call, change: Change) -> Relaid | None:
    return Relaid(call.attrs, (True,), (True, True))


def _pad(call: Call, change: Change) -> Relaid | None:
    old, new = change
    widths = dict(zip(old.axes, call.attrs.pad_width, strict=True))
    blocked = [letter for letter in new.primal if new.block(letter) > 1]
    if any(tuple(widths[letter]) != (0, 0) for letter in blocked):
        return None
    pad_width = tuple(widths.get(letter, (0, 0)) for letter in new.axes)
    return Relaid(replace(call.attrs, pad_width=pad_width), _first(call), (True,))


_RULES: dict[str, Rule] = {
    "concatenate": _concatenate,
    "split": _split,
    "nn.dropout": _dropout,
    "nn.pad": _pad,
    **dict.fromkeys(
        (
            "nn.batch_norm",
            "nn.bias_add",
            "nn.log_softmax",
            "nn.lrn",
            "nn.prelu",
            "nn.softmax",
        ),
        _along_axis,
    ),
    **AXIS_RULES,
}
