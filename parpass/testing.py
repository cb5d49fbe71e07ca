"""`tvm.testing`, as far as programs that compare values need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parpass.errors.missing_names import refusing


def assert_allclose(
    actual: npt.ArrayLike,
    desired: npt.ArrayLike,
    rtol: float = 1e-7,
    atol: float = 1e-7,
) -> None:
    """Check that two arrays have one shape, and agree up to `atol + rtol * desired`.

    Raises:
        AssertionError: They do not; it shows where.
    """
    found, wanted = np.asanyarray(actual), np.asanyarray(desired)
    if found.shape != wanted.shape:
        raise AssertionError(f"expected shape {wanted.shape}, got {found.shape}")
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Check that two expressions of ints are found to be equal, whatever variables are.

    Raises:
        ValueError: They are not.
    """
    # It takes longer to load than all that compares arrays.
    from parpass.tir.analysis import expr_deep_equal
    from parpass.tir.arith import Analyzer

    if not expr_deep_equal(lhs, rhs) and not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"expected equal expressions, got {lhs} and {rhs}")


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
