"""Expressions are evaluated for all values of variables at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from parpass import tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.value_grid import value_grid
from tests.support.prim_strategies import VARIABLES, indices
from tests.support.prim_values import Undefined, value_of

RANGES = {var: tir.Range(-2, 2) for var in VARIABLES}


@settings(max_examples=20)
@given(indices())
def test_each_element_is_the_value_of_the_expression(expr: Any):
    try:
        found = np.broadcast_to(value_grid(expr, RANGES), (4, 4, 4))
    except EvaluationError:  # something is divided by 0 somewhere
        return
    for at in ((0, 0, 0), (3, 1, 2), (1, 3, 3)):
        try:
            expected = value_of(
                expr, {v: i - 2 for v, i in zip(VARIABLES, at, strict=True)}
            )
        except Undefined:
            continue
        assert found[at] == np.int64(expected).astype(np.int32)


def test_an_axis_that_is_not_mentioned_has_one_element():
    x, y, z = VARIABLES
    found = value_grid(tir.Cast("float32", tir.all(tir.likely(x < z), x < 2)), RANGES)
    assert found.shape == (4, 1, 4)
    assert found.dtype == np.float32
    assert value_grid(tir.exp(tir.const(0.0)), {}) == 1
    assert value_grid(y * 2, {y: tir.Range(3)}).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("expr", "ranges", "message"),
    [
        (tir.Var("n"), {}, "expected arithmetic on variables with ranges, got Var"),
        (VARIABLES[0], {VARIABLES[0]: tir.Range(VARIABLES[1])}, "range of constants"),
        (
            tir.Call("int32", "tvm_tuple", [1]),
            {},
            "'tir.tvm_tuple' cannot be evaluated",
        ),
    ],
)
def test_what_has_no_values_is_refused(expr: Any, ranges: Any, message: str):
    with pytest.raises(EvaluationError, match=message):
        value_grid(expr, ranges)
