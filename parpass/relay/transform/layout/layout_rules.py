"""Layout inference: how an operator continues in a layout it was not written for.

`infer_layouts` applies the rules, by operator; those that users register return an
`InferCorrectLayoutOutput` (`relay.transform.infer_layout_utils`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op, OpPattern
from parpass.ir.types import TensorType, TupleType
from parpass.relay.expr import Call
from parpass.relay.op.declaration.layout import Layout


class LayoutChange(NamedTuple):
    """A layout and the one that takes its place."""

    old: Layout
    new: Layout

    def axis(self, axis: int) -> int | None:
        """Return where an axis is now; None if it is in blocks."""
        letter = self.old.axes[axis % len(self.old.axes)]
        return None if self.new.block(letter) > 1 else self.new.index(letter)


class InferredLayouts(NamedTuple):
    """The layouts of a call after a change.

    Attributes:
        attrs: The attributes.
        inputs: Whether each argument is to change its layout, too.
        outputs: Whether each field of its result, or the result, has changed; where it
            has other axes than its argument, the change itself.
    """

    attrs: Any
    inputs: tuple[bool, ...]
    outputs: tuple[bool | LayoutChange, ...]


Rule = Callable[[Call, LayoutChange], InferredLayouts | None]


class InferCorrectLayoutOutput(NamedTuple):
    """The layouts in which an operator goes on.

    Attributes:
        input_layouts: Those of its arguments; None where that does not matter.
        output_layouts: Those of its results.
        new_attrs: Its attributes.
    """

    input_layouts: Sequence[Layout | None]
    output_layouts: Sequence[Layout | None]
    new_attrs: Any


def _without(layout: Layout, gone: Collection[str]) -> str:
    """Return the name of a layout that lacks some axes, with their blocks."""
    pairs = zip(layout.axes, layout.blocks, strict=True)
    kept = [(axis, block) for axis, block in pairs if axis.upper() not in gone]
    return "".join(f"{block or ''}{axis}" for axis, block in kept)


def _of_length_1(layout: Layout, axes: Collection[str]) -> str:
    """Return the name of a layout in which blocks of some axes are of length 1."""
    pairs = zip(layout.axes, layout.blocks, strict=True)
    return "".join(
        f"{(1 if axis.upper() in axes else block) if block else ''}{axis}"
        for axis, block in pairs
    )


def _output(old: str, new: str) -> tuple[bool | LayoutChange, ...]:
    """Return the change of a result, which may have no axes left."""
    return (LayoutChange(Layout.of(old), Layout.of(new)) if old != new else False,)


def _letters(change: LayoutChange, axes: Collection[int]) -> list[str]:
    rank = len(change.old.axes)
    return [change.old.axes[axis % rank] for axis in axes]


def _is_blocked(layout: Layout) -> bool:
    return any(layout.blocks)


def _transpose(call: Call, change: LayoutChange) -> InferredLayouts | None:
    """Take the axes from where they are; the result is as it was."""
    old, new = change
    if _is_blocked(old) or _is_blocked(new):
        return None
    rank = len(old.axes)
    wanted = call.attrs.axes
    order = range(rank - 1, -1, -1) if wanted is None else wanted
    axes = tuple(new.index(letter) for letter in _letters(change, order))
    return InferredLayouts(replace(call.attrs, axes=axes), (True,), (False,))


def _squeeze(call: Call, change: LayoutChange) -> InferredLayouts | None:
    old, new = change
    shape = cast("TensorType", call.args[0].checked_type).shape
    axes = call.attrs.axis
    if axes is None:
        axes = [at for at, dim in enumerate(shape) if dim == 1]
    gone = _letters(change, axes)
    if _is_blocked(old) or any(new.block(letter) > 1 for letter in gone):
        return None
    squeezed = [at for at, axis in enumerate(new.axes) if axis.upper() in gone]
    attrs = replace(call.attrs, axis=tuple(squeezed))
    return InferredLayouts(
        attrs, (True,), _output(_without(old, gone), _without(new, gone))
    )


def _reduce(call: Call, change: LayoutChange) -> InferredLayouts | None:
    """Reduce along the axes where they are, and along their blocks."""
    attrs = call.attrs
    old, new = change
    rank = len(old.axes)
    listed = range(rank) if attrs.axis is None else attrs.axis
    axes = {axis % rank for axis in ([listed] if isinstance(listed, int) else listed)}
    if attrs.exclude:
        axes = {*range(rank)} - axes
    gone = _letters(change, sorted(axes))
    if _is_blocked(old):
        return None
    reduced = [at for at, axis in enumerate(new.axes) if axis.upper() in gone]
    if call.op in _positional(call) and [new.axes[at] for at in reduced] != gone:
        return None
    names = (
        (old.name, _of_length_1(new, gone))
        if attrs.keepdims
        else (_without(old, gone), _without(new, gone))
    )
    new_attrs = replace(attrs, axis=tuple(reduced), exclude=False)
    return InferredLayouts(new_attrs, (True,), _output(*names))


def _positional(call: Call) -> Collection[Any]:
    """Return the operator itself if its result says where along its axes."""
    return (call.op,) if getattr(call.op, "name", "") in {"argmax", "argmin"} else ()


def _strided_slice(call: Call, change: LayoutChange) -> InferredLayouts | None:
    old, new = change
    attrs = call.attrs
    if _is_blocked(old) or (_is_blocked(new) and attrs.slice_mode != "end"):
        return None
    count = max(len(attrs.begin), len(attrs.end))
    axes = range(count) if attrs.axes is None else attrs.axes
    shape = cast("TensorType", call.args[0].checked_type).shape
    at = dict(zip(_letters(change, axes), range(count), strict=True))
    whole = {letter: (0, dim, 1) for letter, dim in zip(old.axes, shape, strict=True)}
    bounds = {letter: _bounds(attrs, at.get(letter), whole[letter]) for letter in whole}
    order = new.axes if attrs.axes is None else _letters(change, axes)
    found: list[tuple[int, Any, int]] = []
    for letter in order:
        if letter.islower():
            block = new.block(letter.upper())
            found.append((0, block, 1))
            continue
        inside = _in_blocks(bounds[letter], new.block(letter))
        if inside is None:
            return None
        found.append(inside)
    if not all(isinstance(end, int) for _, end, _ in found):
        return None
    begin, end, strides = zip(*found, strict=True)
    changed = {"begin": begin, "end": end, "strides": strides}
    if attrs.axes is not None:
        changed["axes"] = tuple(new.index(letter) for letter in order)
    return InferredLayouts(replace(attrs, **changed), (True,), (True,))


def _bounds(attrs: Any, at: int | None, whole: Any) -> tuple[int, Any, int]:
    """Return from where to where to slice one axis, and with which stride."""
    first, last, step = whole
    if at is None:
        return (first, last, step) if attrs.slice_mode == "end" else (first, -1, step)
    begin = attrs.begin[at] if at < len(attrs.begin) else first
    end = attrs.end[at] if at < len(attrs.end) else last
    return begin, end, attrs.strides[at] if at < len(attrs.strides) else 1


def _in_blocks(bounds: tuple[int, Any, int], block: int) -> tuple[int, Any, int] | None:
    """Return bounds of an axis counted in blocks, None if they are inside of such."""
    if block == 1:
        return bounds
    begin, end, stride = bounds
    if stride != 1 or not isinstance(end, int) or begin % block or end % block:
        return None
    return begin // block, end // block, 1


def _slice_like(call: Call, change: LayoutChange) -> InferredLayouts | None:
    old, new = change
    types = [cast("TensorType", arg.checked_type) for arg in call.args]
    if _is_blocked(old) or _is_blocked(new) or len(types[1].shape) != len(old.axes):
        return None
    axes = call.attrs.axes
    if axes is not None:
        axes = tuple(new.index(letter) for letter in _letters(change, axes))
    return InferredLayouts(replace(call.attrs, axes=axes), (True, True), (True,))


AXIS_RULES: Mapping[str, Rule] = {
    "slice_like": _slice_like,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "transpose": _transpose,
    **dict.fromkeys(("argmax", "argmin", "max", "mean", "min", "prod", "sum"), _reduce),
}


# Position counts in it, so it is elementwise to FuseOps only.
_BY_POSITION = frozenset({"trilu"})


def infer_layouts(
    call: Call, change: LayoutChange, own: Mapping[str, Any] = MappingProxyType({})
) -> InferredLayouts | None:
    """Return how a call goes on if its data changes; None if it needs it as it was.

    Args:
        call: A call of an operator, with types.
        change: The change of the layout of the first argument that changes.
        own: The rules that users have registered, by operator.

    Raises:
        IRTypeError: Such a rule gives something else than layouts.
    """
    op = cast("Op", call.op)
    if op.name in own:
        return _by_users_rule(call, change, own[op.name])
    rule = LAYOUT_RULES.get(op.name)
    if rule is not None:
        return rule(call, change)
    if "layout" in (call.attrs or ()):
        return _with_layout(call, change)
    if op.name in _BY_POSITION or not call.args:
        return None
    if op.pattern is OpPattern.ELEMWISE and len(call.args) == 1:
        return InferredLayouts(call.attrs, (True,), (True,))
    if op.pattern is OpPattern.BROADCAST and op.attrs_type is None:
        return _broadcast(call, change)
    return None


def _by_users_rule(
    call: Call, change: LayoutChange, rule: Any
) -> InferredLayouts | None:
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
    return InferredLayouts(found.new_attrs, inputs, outputs)


def _broadcast(call: Call, change: LayoutChange) -> InferredLayouts | None:
    result = call.checked_type
    if not isinstance(result, TensorType):
        return None
    if len(result.shape) != len(change.old.axes):
        return None
    types = [cast("TensorType", arg.checked_type) for arg in call.args]
    rank = len(change.old.axes)
    # What broadcasts along all axes does so in any layout.
    inputs = [len(x.shape) == rank or any(dim != 1 for dim in x.shape) for x in types]
    return InferredLayouts(call.attrs, tuple(inputs), (True,))


def _with_layout(call: Call, change: LayoutChange) -> InferredLayouts | None:
    attrs = call.attrs
    old, new = change
    blocked = [letter for letter in new.primal if new.block(letter) > 1]
    out_layout = attrs.get("out_layout", "") or attrs.layout
    if {attrs.layout, out_layout} != {old.name} or blocked not in ([], ["C"]):
        return None
    changes = {"layout": new.name}
    if attrs.get("out_layout"):
        changes["out_layout"] = new.name
    return InferredLayouts(replace(attrs, **changes), _first(call), (True,))


def _first(call: Call) -> tuple[bool, ...]:
    return (True, *[False] * (len(call.args) - 1))


def _along_axis(call: Call, change: LayoutChange) -> InferredLayouts | None:
    """Give the form of an operator with one axis, and vectors along it."""
    axis = change.axis(call.attrs.axis)
    if axis is None:
        return None
    others = [False] * (_field_count(call) - 1)
    return InferredLayouts(
        replace(call.attrs, axis=axis), _first(call), (True, *others)
    )


def _field_count(call: Call) -> int:
    found = call.checked_type
    return len(found.fields) if isinstance(found, TupleType) else 1


def _split(call: Call, change: LayoutChange) -> InferredLayouts | None:
    axis = change.axis(call.attrs.axis)
    if axis is None:
        return None
    outputs = (True,) * _field_count(call)
    return InferredLayouts(replace(call.attrs, axis=axis), (True,), outputs)


def _concatenate(call: Call, change: LayoutChange) -> InferredLayouts | None:
    # Along blocks too, for each field is made of whole ones.
    axis: int = call.attrs.axis
    letter = change.old.axes[axis % len(change.old.axes)]
    return InferredLayouts(
        replace(call.attrs, axis=change.new.index(letter)), (True,), (True,)
    )


def _dropout(call: Call, change: LayoutChange) -> InferredLayouts | None:
    return InferredLayouts(call.attrs, (True,), (True, True))


def _pad(call: Call, change: LayoutChange) -> InferredLayouts | None:
    old, new = change
    widths = dict(zip(old.axes, call.attrs.pad_width, strict=True))
    blocked = [letter for letter in new.primal if new.block(letter) > 1]
    if any(tuple(widths[letter]) != (0, 0) for letter in blocked):
        return None
    pad_width = tuple(widths.get(letter, (0, 0)) for letter in new.axes)
    return InferredLayouts(
        replace(call.attrs, pad_width=pad_width), _first(call), (True,)
    )


LAYOUT_RULES: dict[str, Rule] = {
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
