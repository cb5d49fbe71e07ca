"""`tvm.testing`, as far as programs that compare arrays need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
