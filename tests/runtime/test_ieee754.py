"""What numpy leaves open depends on values alone, whatever the shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.runtime import ieee754
from tests.support.special_floats import assert_same_bits, pairs, specials

DTYPES = ("float16", "float32", "float64")


def larger(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return max(a, b, key=lambda x: (x, math.copysign(1, x)))


def lesser(a: float, b: float) -> float:
    return -larger(-a, -b)


Extreme = Callable[..., Any]
EXTREMES: list[tuple[Extreme, Extreme, Callable[[float, float], float]]] = [
    (ieee754.maximum, ieee754.max_along, larger),
    (ieee754.minimum, ieee754.min_along, lesser),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("of_two", "along", "wanted"), EXTREMES)
def test_zeros_are_ordered_by_their_signs(
    of_two: Extreme, along: Extreme, wanted: Callable[..., float], dtype: str
) -> None:
    a, b = pairs(dtype)
    exact = [wanted(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    expected = np.array(exact, dtype)
    assert_same_bits(of_two(a, b), expected)
    assert_same_bits(along(np.stack([a, b]), axis=0), expected)
    assert_same_bits(along(np.stack([a, b], 1), axis=(1,)), expected)
    for x, y, one in zip(a[::7], b[::7], expected[::7], strict=True):
        assert_same_bits(of_two(x, y), one)  # scalars
        assert_same_bits(of_two(np.full(3, x), y), np.full(3, one))  # one for all


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_extremes_of_ints_are_numpys(dtype: str) -> None:
    a, b = np.array([0, 1, 0, 1], dtype), np.array([0, 0, 1, 1], dtype)
    np.testing.assert_array_equal(ieee754.maximum(a, b), np.maximum(a, b), strict=True)
    np.testing.assert_array_equal(ieee754.min_along(a, axis=0), a.min(axis=0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_power_does_not_depend_on_how_many_there_are(dtype: str) -> None:
    a, b = pairs(dtype)
    b = np.where(b == 3, b.dtype.type(0.5), b)
    with np.errstate(all="ignore"):
        together = ieee754.power(a, b)
        for value in specials(dtype):
            by_one = ieee754.power(a[b == value], value)
            np.testing.assert_allclose(by_one, together[b == value], rtol=1e-3)
            zeros = by_one == 0
            signs = np.signbit(by_one), np.signbit(together[b == value])
            np.testing.assert_array_equal(signs[0][zeros], signs[1][zeros])
        roots = ieee754.power(np.array([-0.0, 0.0, -np.inf, np.inf], dtype), 0.5)
    assert_same_bits(roots, np.array([0, 0, np.inf, np.inf], roots.dtype))
