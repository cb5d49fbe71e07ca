from __future__ import annotations

import numpy as np
import pytest

import parpass as tvm


def test_arrays_that_are_close_pass() -> None:
    tvm.testing.assert_allclose(tvm.nd.array([1.0, 0.0]), np.array([1.0, 1e-8]))


def test_others_fail_by_value_or_shape() -> None:
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        tvm.testing.assert_allclose([1.0], [1.1])
    with pytest.raises(AssertionError, match=r"expected shape \(1, 1\), got \(1,\)"):
        tvm.testing.assert_allclose([1.0], [[1.0]])


def test_expressions_that_are_equal_for_all_values_pass() -> None:
    x = tvm.te.var("x")
    tvm.testing.assert_prim_expr_equal(x * 2 + x, x * 3)
    with pytest.raises(ValueError, match="expected equal expressions"):
        tvm.testing.assert_prim_expr_equal(x * 2, x * 3)


def test_conditions_are_tried_for_all_values_of_variables():
    x, y = tvm.tir.Var("x"), tvm.tir.Var("y")
    ranges = {x: tvm.ir.Range(-2, 2), y: tvm.ir.Range(3)}
    check = tvm.testing.check_bool_expr_is_true
    check(x + y < 4, ranges)
    check(x < y, ranges, cond=x < 0)
    with pytest.raises(AssertionError, match=r"got a case: \{'x': 0, 'y': 0\}"):
        check(x < y, ranges)


def test_systems_of_conditions_are_compared_both_ways():
    x, y = tvm.tir.Var("x"), tvm.tir.Var("y")
    one = tvm.arith.IntConstraints([x], {x: tvm.ir.Range(1, 5)}, [x < 4])
    same = tvm.arith.IntConstraints([y], {y: tvm.ir.Range(3)}, [])
    other = tvm.arith.IntConstraints([y], {y: tvm.ir.Range(2)}, [])
    check = tvm.testing.check_int_constraints_trans_consistency
    there, back = {x: y + 1}, {y: x - 1}
    check(tvm.arith.IntConstraintsTransform(one, same, there, back))
    with pytest.raises(AssertionError, match=r"got a case: \{'x': 3\}"):
        check(tvm.arith.IntConstraintsTransform(one, other, there, back))
