"""Products of matrices, on which dense layers and convolutions stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.runtime.dtypes import computed_in, numpy_dtype

Array = npt.NDArray[Any]


def matrix_product(lhs: Array, rhs: Array, out_dtype: str = "") -> Array:
    """Return the products of stacks of matrices, computed in the dtype of the result.

    It goes through BLAS, also where an operand has zero strides.

    Args:
        lhs: Stacked matrices.
        rhs: As many, or one for all.
        out_dtype: The dtype of the result; empty for the left operand's.
    """
    wanted = numpy_dtype(out_dtype) if out_dtype else lhs.dtype
    working = numpy_dtype(computed_in(wanted.name))
    lhs, rhs = lhs.astype(working, copy=False), rhs.astype(working, copy=False)
    return (_for_blas(lhs) @ _for_blas(rhs)).astype(wanted, copy=False)


def _for_blas(array: Array) -> Array:
    return array if all(array.strides) else np.ascontiguousarray(array)
