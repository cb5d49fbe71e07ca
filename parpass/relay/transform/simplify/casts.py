"""Casts one after the other, and limits that dtypes have anyhow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parpass.ir.types.ty import TensorType
from parpass.relay import op
from parpass.relay.analysis.calls import call_of
from parpass.relay.expr import Call, Expr
from parpass.relay.transform.simplify.peephole import Peephole, Rule


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
        return None if dtype is None else np.dtype(dtype)
    except TypeError:  # bfloat16, which numpy does not know
        return None


RULES: Mapping[str, Sequence[Rule]] = {
    "cast": [_same_cast, _consecutive_cast],
    "clip": [_cast_clip, _clip_cast_clip],
}
