"""How each operator goes on in another layout than the one it was written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from parpass.ir.operators.op_table import Op, OpPattern
from parpass.ir.types.ty import TensorType, TupleType
from parpass.relay.expr import Call
from parpass.relay.op.layout import Layout


class Change(NamedTuple):
    """A layout and the one that takes its place."""

    old: Layout
    new: Layout

    def axis(self, axis: int) -> int | None:
        """Return where an axis is now; None if it is in blocks."""
        letter = self.old.axes[axis % len(self.old.axes)]
        return None if self.new.block(letter) > 1 else self.new.index(letter)


class Relaid(NamedTuple):
    """How a call is written in other layouts.

    Attributes:
        attrs: Its attributes.
        inputs: Whether each argument is to change its layout, too.
        outputs: Whether each field of its result, or the result, has changed.
    """

    attrs: Any
    inputs: tuple[bool, ...]
    outputs: tuple[bool, ...]


Rule = Callable[[Call, Change], Relaid | None]

# Position counts in it, so it is elementwise to FuseOps only.
_BY_POSITION = frozenset({"trilu"})


def relaid(call: Call, change: Change) -> Relaid | None:
    """Return how a call goes on if its data changes; None if it needs it as it was.

    Args:
        call: A call of an operator, with types.
        change: The change of the layout of the first argument that has another one.
    """
    op = cast("Op", call.op)
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


def _broadcast(call: Call, change: Change) -> Relaid | None:
    result = call.checked_type
    if not isinstance(result, TensorType):
        return None
    if len(result.shape) != len(change.old.axes):
        return None
    types = [cast("TensorType", arg.checked_type) for arg in call.args]
    return Relaid(call.attrs, tuple(bool(x.shape) for x in types), (True,))


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


def _reduce(call: Call, change: Change) -> Relaid | None:
    attrs = call.attrs
    old, new = change
    rank = len(old.axes)
    listed = range(rank) if attrs.axis is None else attrs.axis
    axes = {axis % rank for axis in ([listed] if isinstance(listed, int) else listed)}
    if attrs.exclude:
        axes = set(range(rank)) - axes
    letters = {old.axes[axis] for axis in axes}
    if any(new.block(letter) > 1 for letter in new.primal):
        return None
    kept = [[x for x in one.axes if x not in letters] for one in (old, new)]
    if not attrs.keepdims and kept[0] != kept[1]:
        return None
    changed = tuple(sorted(new.index(letter) for letter in letters))
    new_attrs = replace(attrs, axis=changed, exclude=False)
    return Relaid(new_attrs, (True,), (bool(attrs.keepdims),))


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
    **dict.fromkeys(("max", "mean", "min", "prod", "sum"), _reduce),
}
