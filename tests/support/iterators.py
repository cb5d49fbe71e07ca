"""Generated indices that are made of iterators by splitting and fusing them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from parpass import tir
from tests.support.prim_values import value_of

NAMES = "ijk"


@st.composite
def iter_maps(draw: st.DrawFn) -> tuple[list[Any], dict[tir.Var, Any], Any]:
    """Return indices, the ranges of the iterators in them, and a predicate."""
    ranges: dict[tir.Var, Any] = {}
    left: list[tuple[Any, int]] = []
    for name in NAMES[: draw(st.integers(1, 3))]:
        var, extent = tir.Var(name), draw(st.sampled_from((1, 2, 3, 4, 6)))
        low = draw(st.sampled_from((0, 0, 0, 2, -1)))
        ranges[var] = tir.Range(low, low + extent)
        left.append((var - low if low else var, extent))
    predicate: Any = tir.const(1, "bool")
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(left) - 1))
        one, extent = left.pop(at)
        if draw(st.booleans()):
            factor = draw(st.sampled_from((1, 2, 3, 4)))
            left.append((tir.floordiv(one, factor), -(-extent // factor)))
            left.append((tir.floormod(one, factor), factor))
        elif left:
            inner, count = left.pop(draw(st.integers(0, len(left) - 1)))
            size = extent * count
            fused = one * draw(st.sampled_from((count, count, count, 5))) + inner
            if draw(st.integers(0, 3)) == 0 and size > 1:
                size = draw(st.integers(1, size))
                predicate = tir.all(predicate, fused < size)
            left.append((fused, size))
        else:
            left.append((one, extent))
    chosen = [one for one, _ in left if draw(st.integers(0, 4))]
    scale = draw(st.sampled_from((1, 1, 1, 2, -1)))
    chosen = [one * scale + draw(st.integers(0, 1)) for one in chosen]
    return chosen, ranges, predicate


def points(ranges: dict[tir.Var, Any], predicate: Any) -> Iterator[dict[Any, int]]:
    """Yield the values of iterators for which a predicate holds."""
    spans = [
        range(int(one.min), int(one.min) + int(one.extent)) for one in ranges.values()
    ]
    for values in itertools.product(*spans):
        point = dict(zip(ranges, values, strict=True))
        if value_of(predicate, point):
            yield point
