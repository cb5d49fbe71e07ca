"""Operators that create a tensor of one value, and casts.

A created tensor repeats one element without taking memory, as `numpy.broadcast_to`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import (
    DType,
    Ints,
    IntTuple,
    MaybeDType,
)
from parpass.relay.op.declaration.build import ELEMWISE, operator
from parpass.relay.op.declaration.type_relations import identity, require_rank, tensors
from parpass.runtime.dtypes import converted

__all__ = [
    "cast",
    "cast_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "reinterpret",
    "zeros",
    "zeros_like",
]


class InitOpAttrs(Attrs, frozen=True):
    """Attributes of `full`; an empty dtype means the value's."""

    shape: IntTuple
    dtype: MaybeDType


def _full_relation(types: Sequence[Type], attrs: InitOpAttrs) -> TensorType:
    (value,) = tensors(types)
    require_rank(value, 0, "the fill value")
    return TensorType(attrs.shape, attrs.dtype or value.dtype)


def _full(attrs: InitOpAttrs, value: Array) -> Array:
    value = converted(value, attrs.dtype or value.dtype)
    return np.broadcast_to(value, attrs.shape)


@operator("full", _full_relation, _full, InitOpAttrs, pattern=ELEMWISE)
def full(fill_value: Operand, shape: Ints | Expr = (), dtype: str = "") -> Call:
    """Return a tensor of one value; without a dtype it has the value's."""
    ...


class FilledAttrs(InitOpAttrs, frozen=True):
    """Attributes of `zeros` and `ones`, whose dtype is no value's."""

    dtype: DType


def _init_relation(_types: Sequence[Type], attrs: FilledAttrs) -> TensorType:
    return TensorType(attrs.shape, attrs.dtype)


def _zeros(attrs: FilledAttrs) -> Array:
    return np.broadcast_to(np.zeros((), attrs.dtype), attrs.shape)


def _ones(attrs: FilledAttrs) -> Array:
    return np.broadcast_to(np.ones((), attrs.dtype), attrs.shape)


@operator("zeros", _init_relation, _zeros, FilledAttrs, pattern=ELEMWISE)
def zeros(shape: Ints | Expr, dtype: str) -> Call:
    """Return a tensor of zeros."""
    ...


@operator("ones", _init_relation, _ones, FilledAttrs, pattern=ELEMWISE)
def ones(shape: Ints | Expr, dtype: str) -> Call:
    """Return a tensor of ones."""
    ...


def _full_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, value = tensors(types)
    require_rank(value, 0, "the fill value")
    return data


def _full_like(_attrs: None, data: Array, value: Array) -> Array:
    return np.broadcast_to(converted(value, data.dtype), data.shape)


def _zeros_like(_attrs: None, data: Array) -> Array:
    return np.broadcast_to(np.zeros((), data.dtype), data.shape)


def _ones_like(_attrs: None, data: Array) -> Array:
    return np.broadcast_to(np.ones((), data.dtype), data.shape)


@operator("full_like", _full_like_relation, _full_like, pattern=ELEMWISE)
def full_like(data: Expr, fill_value: Operand) -> Call:
    """Return a tensor of one value in the shape and dtype of another tensor."""
    ...


@operator("zeros_like", identity, _zeros_like, pattern=ELEMWISE)
def zeros_like(data: Expr) -> Call:
    """Return zeros in the shape and dtype of another tensor."""
    ...


@operator("ones_like", identity, _ones_like, pattern=ELEMWISE)
def ones_like(data: Expr) -> Call:
    """Return ones in the shape and dtype of another tensor."""
    ...


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

    Floats out of range become the nearest integer, NaN becomes 0. Integers wrap around.
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
    """Reinterpret the bits of each element as another dtype of equal width."""
    ...
