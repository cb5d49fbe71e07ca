"""Operators that give the elements another dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationError
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import DType
from parpass.relay.op.declaration.build import ELEMWISE, operator
from parpass.relay.op.declaration.relations import tensors
from parpass.runtime.dtypes import converted

__all__ = ["cast", "cast_like", "reinterpret"]


class CastAttrs(Attrs, frozen=True):
    """Attributes of `cast` and `reinterpret`."""

    dtype: DType


def _cast_relation(types: Sequence[Type], attrs: CastAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType(data.shape, attrs.dtype)


def _cast(attrs: CastAttrs, data: Array) -> Array:
    return converted(data, attrs.dtype)


@operator("cast", _cast_relation, _cast, CastAttrs, pattern=ELEMWISE)
def cast(data: Operand, dtype: str) -> Call:
    """Convert to another dtype, towards zero from floats to integers.

    Of floats that are too large it is the nearest integer that there is, and 0 of what
    is no number. Integers wrap around.
    """
    ...


def _cast_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    return TensorType(data.shape, like.dtype)


def _cast_like(_attrs: None, data: Array, like: Array) -> Array:
    return converted(data, like.dtype)


@operator("cast_like", _cast_like_relation, _cast_like, pattern=ELEMWISE)
def cast_like(data: Operand, dtype_like: Expr) -> Call:
    """Convert to the dtype of another tensor."""
    ...


def _reinterpret_relation(types: Sequence[Type], attrs: CastAttrs) -> TensorType:
    (data,) = tensors(types)
    if np.dtype(data.dtype).itemsize != np.dtype(attrs.dtype).itemsize:
        raise TypeRelationError(
            f"expected elements as wide as those of {attrs.dtype}, got {data}"
        )
    return TensorType(data.shape, attrs.dtype)


def _reinterpret(attrs: CastAttrs, data: Array) -> Array:
    return np.ascontiguousarray(data).view(attrs.dtype).reshape(data.shape)


@operator(
    "reinterpret",
    _reinterpret_relation,
    _reinterpret,
    CastAttrs,
    pattern=ELEMWISE,
    moves=True,
)
def reinterpret(data: Expr, dtype: str) -> Call:
    """Take the bits of each element as one of another dtype of the same width."""
    ...
