"""Dtypes, and what becomes of values in another one."""

from __future__ import annotations

import numpy as np
import pytest

from parpass.runtime.dtypes import converted, numpy_dtype


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_floats_that_no_int_is_near_are_the_nearest_or_0(
    source: str, dtype: str
) -> None:
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        floats = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.75, -0.5, 1.0])
        floats = floats.astype(numpy_dtype(source))
    wanted = [0, info.max, info.min, info.max, info.min, 2, 0, 1]
    found = converted(floats, dtype)
    assert found.dtype == dtype
    assert found.tolist() == wanted


def test_ints_wrap_around() -> None:
    assert converted(np.array([-1, 256, 300]), "uint8").tolist() == [255, 0, 44]
