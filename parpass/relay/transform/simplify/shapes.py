"""Reshapes, transposes and changes of layout, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parpass.relay import op
from parpass.relay.analysis.calls import call_of
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.simplify.peephole import Peephole, Rule

_RESHAPES = ("contrib_reverse_reshape", "reshape")


def _reshape(peephole: Peephole, call: Call) -> Expr | None:
    """Reshape once, or not at all."""
    found, data = peephole.tensor(call), call.args[0]
    inner = call_of(data, *_RESHAPES, "nn.batch_flatten")
    if found is None:
        return None
    if peephole.type_of(data) == found:
        return data
    if inner is None or 0 in found.shape:  # 0 would keep the old dimension
        return None
    return peephole.instead_of(call, op.reshape(inner.args[0], found.concrete_shape))


def _transpose(peephole: Peephole, call: Call) -> Expr | None:
    """Transpose once, or not at all."""
    data, axes = call.args[0], _axes(peephole, call)
    if axes is None:
        return None
    if axes == list(range(len(axes))):
        return data
    inner = call_of(data, "transpose")
    if inner is not None:
        before = _axes(peephole, inner)
        joined = before and [before[axis] for axis in axes]
        return peephole.instead_of(call, op.transpose(inner.args[0], joined))
    inner = call_of(data, "layout_transform")
    if inner is None or not _is_plain(inner.attrs.dst_layout):
        return None
    layout = "".join(inner.attrs.dst_layout[axis] for axis in axes)
    return _relaid(peephole, call, inner.args[0], (inner.attrs.src_layout, layout))


def _layout_transform(peephole: Peephole, call: Call) -> Expr | None:
    """Change the layout once, or not at all."""
    data, attrs = call.args[0], call.attrs
    if attrs.src_layout == attrs.dst_layout:
        return data
    inner = call_of(data, "layout_transform")
    if inner is not None and inner.attrs.dst_layout == attrs.src_layout:
        layouts = inner.attrs.src_layout, attrs.dst_layout
        return _relaid(peephole, call, inner.args[0], layouts)
    inner = call_of(data, "transpose")
    axes = None if inner is None else _axes(peephole, inner)
    if inner is None or axes is None or not _is_plain(attrs.src_layout):
        return None
    letters = dict(zip(axes, attrs.src_layout, strict=True))
    before = "".join(letters[at] for at in range(len(axes)))
    return _relaid(peephole, call, inner.args[0], (before, attrs.dst_layout))


def _relaid(
    peephole: Peephole, call: Call, data: Expr, layouts: tuple[str, str]
) -> Expr | None:
    """Return `data` in the second of two layouts, transposed if that is enough."""
    before, after = layouts
    if before == after:
        return peephole.instead_of(call, data)
    if _is_plain(before) and _is_plain(after):
        axes = [before.index(letter) for letter in after]
        return peephole.instead_of(call, op.transpose(data, axes))
    return peephole.instead_of(call, op.layout_transform(data, before, after))


def _axes(peephole: Peephole, transpose: Call) -> list[int] | None:
    found = peephole.tensor(transpose)
    if found is None:
        return None
    rank = len(found.shape)
    axes: tuple[int, ...] | None = transpose.attrs.axes
    return [axis % rank for axis in axes or range(rank)[::-1]]


def _is_plain(layout: str) -> bool:
    """Return whether a layout has no blocks, such as the `4c` of `NCHW4c`."""
    return layout.isalpha() and layout.isupper()


RULES: Mapping[str, Sequence[Rule]] = {
    "layout_transform": [_layout_transform],
    **{name: [_reshape] for name in _RESHAPES},
    "transpose": [_transpose],
}
