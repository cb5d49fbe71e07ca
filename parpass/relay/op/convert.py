"""Operators that give the elements another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import dtype_name
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import tensors

Array = npt.NDArray[Any]


class CastAttrs(Attrs, frozen=True):
    """Attributes of `cast` and `reinterpret`."""

    dtype: str


def _cast_relation(types: Sequence[Type], attrs: CastAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType(data.shape, attrs.dtype)


def _cast(attrs: CastAttrs, data: Array) -> Array:
    return data.astype(attrs.dtype, copy=False)


_CAST = register_op(
    Op("cast", 1, _cast_relation, _cast, CastAttrs, pattern=OpPattern.ELEMWISE)
)


def cast(data: Operand, dtype: str) -> Call:
    """Convert to another dtype, towards zero from floats to integers."""
    return call_op(_CAST, (data,), CastAttrs(dtype=dtype_name(dtype)))


def _cast_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, like = tensors(types)
    return TensorType(data.shape, like.dtype)


def _cast_like(_attrs: None, data: Array, like: Array) -> Array:
    return data.astype(like.dtype, copy=False)


_CAST_LIKE = register_op(
    Op("cast_like", 2, _cast_like_relation, _cast_like, pattern=OpPattern.ELEMWISE)
)


def cast_like(data: Operand, dtype_like: Expr) -> Call:
    """Convert to the dtype of another tensor."""
    return call_op(_CAST_LIKE, (data, dtype_like))


def _reinterpret_relation(types: Sequence[Type], attrs: CastAttrs) -> TensorType:
    (data,) = tensors(types)
    if np.dtype(data.dtype).itemsize != np.dtype(attrs.dtype).itemsize:
        raise TypeRelationError(
            f"expected elements as wide as those of {attrs.dtype}, got {data}"
        )
    return TensorType(data.shape, attrs.dtype)


def _reinterpret(attrs: CastAttrs, data: Array) -> Array:
    return np.ascontiguousarray(data).view(attrs.dtype).reshape(data.shape)


_REINTERPRET = register_op(
    Op(
        "reinterpret",
        1,
        _reinterpret_relation,
        _reinterpret,
        CastAttrs,
        pattern=OpPattern.ELEMWISE,
        moves=True,
    )
)


def reinterpret(data: Expr, dtype: str) -> Call:
    """Take the bits of each element as one of another dtype of the same width."""
    return call_op(_REINTERPRET, (data,), CastAttrs(dtype=dtype_name(dtype)))
