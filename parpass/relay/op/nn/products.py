"""What layers of networks stand on: products of matrices, vectors along an axis."""

from __future__ import annotations

import numpy as np

from parpass.ir.operators.op_table import Array
from parpass.relay.op.declaration.relations import normal_axis
from parpass.runtime.dtypes import computed_in, converted, numpy_dtype


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
    lhs, rhs = converted(lhs, working), converted(rhs, working)
    return (_for_blas(lhs) @ _for_blas(rhs)).astype(wanted, copy=False)


def _for_blas(array: Array) -> Array:
    return array if all(array.strides) else np.ascontiguousarray(array)


def along(axis: int, vector: Array, data: Array) -> Array:
    """Return a vector in the shape in which it broadcasts along an axis of the data."""
    return vector.reshape(-1, *(1,) * (data.ndim - 1 - normal_axis(axis, data.ndim)))
