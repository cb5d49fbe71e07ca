"""How operators that name axes, and may drop some, go on in another layout."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from msgspec.structs import replace

from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call
from parpass.relay.op.declaration.layout import Layout
from parpass.relay.transform.relayout.layout_change import Change, Relaid, Rule


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


def _output(old: str, new: str) -> tuple[bool | Change, ...]:
    """Return the change of a result, which may have no axes left."""
    return (Change(Layout.of(old), Layout.of(new)) if old != new else False,)


def _letters(change: Change, axes: Collection[int]) -> list[str]:
    rank = len(change.old.axes)
    return [change.old.axes[axis % rank] for axis in axes]


def _is_blocked(layout: Layout) -> bool:
    return any(layout.blocks)


def _transpose(call: Call, change: Change) -> Relaid | None:
    """Take the axes from where they are; the result is as it was."""
    old, new = change
    if _is_blocked(old) or _is_blocked(new):
        return None
    rank = len(old.axes)
    wanted = call.attrs.axes
    order = range(rank - 1, -1, -1) if wanted is None else wanted
    axes = tuple(new.index(letter) for letter in _letters(change, order))
    return Relaid(replace(call.attrs, axes=axes), (True,), (False,))


def _squeeze(call: Call, change: Change) -> Relaid | None:
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
    return Relaid(attrs, (True,), _output(_without(old, gone), _without(new, gone)))


def _reduce(call: Call, change: Change) -> Relaid | None:
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
    return Relaid(new_attrs, (True,), _output(*names))


def _positional(call: Call) -> Collection[Any]:
    """Return the operator itself if its result says where along its axes."""
    return (call.op,) if getattr(call.op, "name", "") in {"argmax", "argmin"} else ()


def _strided_slice(call: Call, change: Change) -> Relaid | None:
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
    return Relaid(replace(attrs, **changed), (True,), (True,))


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


def _slice_like(call: Call, change: Change) -> Relaid | None:
    old, new = change
    types = [cast("TensorType", arg.checked_type) for arg in call.args]
    if _is_blocked(old) or _is_blocked(new) or len(types[1].shape) != len(old.axes):
        return None
    axes = call.attrs.axes
    if axes is not None:
        axes = tuple(new.index(letter) for letter in _letters(change, axes))
    return Relaid(replace(call.attrs, axes=axes), (True, True), (True,))


AXIS_RULES: Mapping[str, Rule] = {
    "slice_like": _slice_like,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "transpose": _transpose,
    **dict.fromkeys(("argmax", "argmin", "max", "mean", "min", "prod", "sum"), _reduce),
}
