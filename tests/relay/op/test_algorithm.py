"""Operators that sort agree with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.ir.op.op_table import Op
from parpass.relay.op.algorithm import ArgsortAttrs, TopKAttrs

SHAPE = (50, 3, 60)


def drawn(dtype: str, kind: str) -> Any:
    """Return numbers, of which many are equal if there are few of them."""
    rng = np.random.default_rng(0)
    if kind == "many":
        return (rng.standard_normal(SHAPE) * 1e4).astype(dtype)
    few = [-2, -1, 0, 1, 2]
    if kind == "none":
        few = [np.nan, np.nan, -0.0, 0.0, np.inf, -np.inf, 1]
    return np.array(few, dtype)[rng.integers(0, len(few), SHAPE)]


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *[("float32", kind) for kind in ("many", "few", "none")],
        *[("float64", "none"), ("float16", "none"), ("int32", "many")],
        *[("int8", "few"), ("int64", "many")],
    ],
)
def test_topk_is_what_a_stable_sort_has_first(
    dtype: str, kind: str, axis: int, ascending: bool
):
    data = drawn(dtype, kind)
    sort: Any = Op.get("argsort").compute
    first: Any = Op.get("topk").compute
    order = sort(ArgsortAttrs(axis, ascending), data)
    for k in (1, 7, 25, 49, 0):
        wanted = order.take(range(k or data.shape[axis]), axis)
        values, indices = first(TopKAttrs(k, axis, is_ascend=ascending), data)
        np.testing.assert_array_equal(indices, wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(data, wanted, axis))
