"""Arguments reach compiled functions, however many there are and of whatever dtype."""

from __future__ import annotations

import math
from typing import Any

import pytest

from parpass import tir
from parpass.target.build_library import build


def second_of(dtype: str) -> Any:
    """Return a compiled function of two scalars, which gives the second one."""
    first, second = tir.Var("first", "int8"), tir.Var("second", dtype)
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    given = tir.ret(second if wide == dtype else second.astype(wide))
    return build(tir.PrimFunc((first, second), tir.Evaluate(given)), workers=0)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *[(f"int{bits}", -(2 ** (bits - 1)) + 1) for bits in (8, 16, 32, 64)],
        *[(f"uint{bits}", 2**bits - 2) for bits in (8, 16, 32, 64)],
        *[(f"float{bits}", -1.375) for bits in (16, 32, 64)],
        *[("bfloat16", -1.375), ("bool", True), ("float64", 1e300)],
        ("float32", 2.0**-149),
    ],
)
def test_a_scalar_of_any_dtype_is_passed_as_it_is(dtype: str, value: Any):
    assert second_of(dtype)(1, value) == value


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_float_that_its_dtype_has_no_room_for_is_infinite(dtype: str):
    assert second_of(dtype)(1, -1e300) == -math.inf
