"""TVM's comparison of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy.typing as npt


def assert_allclose(
    actual: npt.ArrayLike,
    desired: npt.ArrayLike,
    rtol: float = 1e-7,
    atol: float = 1e-7,
) -> None:
    """Check that two arrays have one shape and agree up to `atol + rtol * desired`.

    Raises:
        AssertionError: They do not; the message shows where.
    """
    import numpy as np  # the kit is for IRs that need no numpy

    found, wanted = np.asanyarray(actual), np.asanyarray(desired)
    if found.shape != wanted.shape:
        raise AssertionError(f"expected shape {wanted.shape}, got {found.shape}")
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
