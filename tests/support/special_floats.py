"""Floats at which arithmetic is special, and results compared to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from parpass.runtime.dtypes import float_range, numpy_dtype
from tests.support.relay.op.calls import Array

FLOATS = ("float32", "float64", "float16", "bfloat16")


def specials(dtype: str) -> Array:
    """Return zeros, subnormals, ones, the largest floats, infinities, NaN, and some.

    Their order mixes sizes and signs, so that neighbours are unlike.
    """
    least, most = float_range(dtype)
    kind = numpy_dtype(dtype)
    subnormal = np.array(1, f"uint{8 * kind.itemsize}").view(kind).astype("float64")
    sizes = [1.0, 0.0, np.inf, subnormal, 3.0, most, least * 0.75, 0.5, least, 2.5]
    signed = [sign * size for size in sizes for sign in (1, -1)]
    return np.array([*signed, np.nan], kind)


def pairs(dtype: str) -> tuple[Array, Array]:
    """Return two arrays that have all pairs of such floats."""
    some = specials(dtype)
    return np.repeat(some, len(some)), np.tile(some, len(some))


def assert_same_bits(found: Any, wanted: Any, told: str = "") -> None:
    """Compare to the bit, so also the signs of zeros; any NaN equals any other."""
    one, other = np.asarray(found), np.asarray(wanted)
    assert (one.shape, one.dtype) == (other.shape, other.dtype), told
    if one.dtype.kind in "fV":
        one, other = _as_doubles(one), _as_doubles(other)
        signs = [np.signbit(side) & ~np.isnan(side) for side in (one, other)]
        np.testing.assert_array_equal(signs[0], signs[1], f"signs: {told}")
    np.testing.assert_array_equal(one, other, told)


def _as_doubles(values: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return values.astype("float64")
