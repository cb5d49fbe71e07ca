"""Rules of SimplifyExpr on shapes and dtypes.

`LIKE_RULES` replace `..._like` operators by static ones, `SHAPE_RULES` join consecutive
reshapes, transposes and layout changes, and `CAST_RULES` consecutive casts and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.analysis.matchers import call_of
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.simplify.peephole import Peephole, Rule
from parpass.runtime.dtypes import numpy_dtype


def _by_result(build: Callable[[Call, TensorType], Expr]) -> Rule:
    """Return the rule that builds a call from the type of the result."""

    def rule(peephole: Peephole, call: Call) -> Expr | None:
        found = peephole.tensor(call)
        return found and peephole.instead_of(call, build(call, found))

    return rule


def _cast_like(peephole: Peephole, call: Call) -> Expr | None:
    found = peephole.type_of(call)  # of any shape, also of an unknown one
    if not isinstance(found, TensorType):
        return None
    return peephole.instead_of(call, op.cast(call.args[0], found.dtype))


def _reshape_like(peephole: Peephole, call: Call) -> Expr | None:
    found = peephole.tensor(call)
    if found is None or 0 in found.shape:  # 0 would keep the old dimension
        return None
    shape = found.concrete_shape
    return peephole.instead_of(call, op.reshape(call.args[0], shape))


LIKE_RULES: Mapping[str, Sequence[Rule]] = {
    "zeros_like": [_by_result(lambda _, to: op.zeros(to.concrete_shape, to.dtype))],
    "ones_like": [_by_result(lambda _, to: op.ones(to.concrete_shape, to.dtype))],
    "full_like": [
        _by_result(lambda call, to: op.full(call.args[1], to.concrete_shape, to.dtype))
    ],
    "broadcast_to_like": [
        _by_result(lambda call, to: op.broadcast_to(call.args[0], to.concrete_shape))
    ],
    "cast_like": [_cast_like],
    "collapse_sum_like": [
        _by_result(lambda call, to: op.collapse_sum_to(call.args[0], to.concrete_shape))
    ],
    "reshape_like": [_reshape_like],
}


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
    return _layout_changed(
        peephole, call, inner.args[0], (inner.attrs.src_layout, layout)
    )


def _layout_transform(peephole: Peephole, call: Call) -> Expr | None:
    """Change the layout once, or not at all."""
    data, attrs = call.args[0], call.attrs
    if attrs.src_layout == attrs.dst_layout:
        return data
    inner = call_of(data, "layout_transform")
    if inner is not None and inner.attrs.dst_layout == attrs.src_layout:
        layouts = inner.attrs.src_layout, attrs.dst_layout
        return _layout_changed(peephole, call, inner.args[0], layouts)
    inner = call_of(data, "transpose")
    axes = None if inner is None else _axes(peephole, inner)
    if inner is None or axes is None or not _is_plain(attrs.src_layout):
        return None
    letters = dict(zip(axes, attrs.src_layout, strict=True))
    before = "".join(letters[at] for at in range(len(axes)))
    return _layout_changed(peephole, call, inner.args[0], (before, attrs.dst_layout))


def _layout_changed(
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


SHAPE_RULES: Mapping[str, Sequence[Rule]] = {
    "layout_transform": [_layout_transform],
    **{name: [_reshape] for name in _RESHAPES},
    "transpose": [_transpose],
}


def _same_cast(peephole: Peephole, call: Call) -> Expr | None:
    """Leave out a cast to the dtype that the data has."""
    data = call.args[0]
    return data if _dtype(peephole, data) == call.attrs.dtype else None


def _consecutive_cast(peephole: Peephole, call: Call) -> Expr | None:
    """Leave out a cast that loses nothing before another cast."""
    inner = call_of(call.args[0], "cast")
    if inner is None:
        return None
    data, through = inner.args[0], inner.attrs.dtype
    if not _loses_nothing(_dtype(peephole, data), through) and not _is_clipped(
        peephole, data, through
    ):
        return None
    return peephole.instead_of(call, op.cast(data, call.attrs.dtype))


def _is_clipped(peephole: Peephole, data: Expr, through: str) -> bool:
    """Return whether integers are limited to what an integer dtype can hold.

    Floats never are: what a NaN becomes depends on the dtype.
    """
    clip, limits = call_of(data, "clip"), _limits(through)
    if clip is None or limits is None or _limits(_dtype(peephole, data)) is None:
        return False
    return bool(limits[0] <= clip.attrs.a_min and clip.attrs.a_max <= limits[1])


def _cast_clip(peephole: Peephole, call: Call) -> Expr | None:
    """Leave out a limit that the integer dtype has anyhow."""
    limits = _limits(_dtype(peephole, call.args[0]))
    if limits is None or call.attrs.a_min > limits[0] or call.attrs.a_max < limits[1]:
        return None
    return call.args[0]


def _clip_cast_clip(peephole: Peephole, call: Call) -> Expr | None:
    """Limit integers once, before the cast."""
    cast = call_of(call.args[0], "cast")
    clip = None if cast is None else call_of(cast.args[0], "clip")
    if cast is None or clip is None:
        return None
    low = max(clip.attrs.a_min, call.attrs.a_min)
    high = min(clip.attrs.a_max, call.attrs.a_max)
    if not _is_clipped(peephole, clip, cast.attrs.dtype) or low > high:
        return None
    limited = peephole.made(op.clip(clip.args[0], low, high))
    return peephole.instead_of(call, op.cast(limited, cast.attrs.dtype))


def _dtype(peephole: Peephole, expr: Expr) -> str | None:
    found = peephole.type_of(expr)
    return found.dtype if isinstance(found, TensorType) else None


def _limits(dtype: str | None) -> tuple[int, int] | None:
    """Return the least and the greatest integer of a dtype, None for other dtypes."""
    known = _numpy(dtype)
    if known is None or known.kind not in "iu":
        return None
    info = np.iinfo(known)
    return info.min, info.max


def _loses_nothing(origin: str | None, through: str) -> bool:
    before, after = _numpy(origin), _numpy(through)
    if before is None or after is None or not np.can_cast(before, after, "safe"):
        return False
    # numpy takes it to be safe, though a double has 53 bits only.
    return not (before.kind in "iu" and before.itemsize == 8 and after.kind == "f")


def _numpy(dtype: str | None) -> np.dtype[Any] | None:
    try:
        return None if dtype is None else numpy_dtype(dtype)
    except ValueError:  # such as bfloat16, without the package that has it
        return None


CAST_RULES: Mapping[str, Sequence[Rule]] = {
    "cast": [_same_cast, _consecutive_cast],
    "clip": [_cast_clip, _clip_cast_clip],
}
