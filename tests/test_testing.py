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
