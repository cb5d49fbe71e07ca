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
