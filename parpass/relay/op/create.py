"""Operators that make a tensor of one value.

Their results repeat one element without taking memory, as `numpy.broadcast_to` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, register_op
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.attributes import Ints, dtype_name, int_tuple
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import (
    identity,
    require_rank,
    require_same_dtype,
    tensors,
)

Array = npt.NDArray[Any]


class InitOpAttrs(Attrs, frozen=True):
    """Attributes of `full`, `zeros` and `ones`; an empty dtype means the value's."""

    shape: tuple[int, ...]
    dtype: str


def _attrs(shape: Ints, dtype: str) -> InitOpAttrs:
    name = dtype_name(dtype) if dtype else ""
    return InitOpAttrs(shape=int_tuple(shape, "shape"), dtype=name)


def _full_relation(types: Sequence[Type], attrs: InitOpAttrs) -> TensorType:
    (value,) = tensors(types)
    require_rank(value, 0, "the fill value")
    return TensorType(attrs.shape, attrs.dtype or value.dtype)


def _full(attrs: InitOpAttrs, value: Array) -> Array:
    value = value.astype(attrs.dtype or value.dtype, copy=False)
    return np.broadcast_to(value, attrs.shape)


_FULL = register_op(
    Op("full", 1, _full_relation, _full, InitOpAttrs, pattern=OpPattern.ELEMWISE)
)


def full(fill_value: Operand, shape: Ints = (), dtype: str = "") -> Call:
    """Return a tensor of one value; without a dtype it has the value's."""
    return call_op(_FULL, (fill_value,), _attrs(shape, dtype))


def _init_relation(_types: Sequence[Type], attrs: InitOpAttrs) -> TensorType:
    return TensorType(attrs.shape, attrs.dtype)


def _zeros(attrs: InitOpAttrs) -> Array:
    return np.broadcast_to(np.zeros((), attrs.dtype), attrs.shape)


def _ones(attrs: InitOpAttrs) -> Array:
    return np.broadcast_to(np.ones((), attrs.dtype), attrs.shape)


_ZEROS = register_op(
    Op("zeros", 0, _init_relation, _zeros, InitOpAttrs, pattern=OpPattern.ELEMWISE)
)
_ONES = register_op(
    Op("ones", 0, _init_relation, _ones, InitOpAttrs, pattern=OpPattern.ELEMWISE)
)


def zeros(shape: Ints, dtype: str) -> Call:
    """Return a tensor of zeros."""
    return call_op(_ZEROS, (), _attrs(shape, dtype_name(dtype)))


def ones(shape: Ints, dtype: str) -> Call:
    """Return a tensor of ones."""
    return call_op(_ONES, (), _attrs(shape, dtype_name(dtype)))


def _full_like_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    data, value = tensors(types)
    require_rank(value, 0, "the fill value")
    require_same_dtype((data, value))
    return data


def _full_like(_attrs: None, data: Array, value: Array) -> Array:
    return np.broadcast_to(value, data.shape)


def _zeros_like(_attrs: None, data: Array) -> Array:
    return np.broadcast_to(np.zeros((), data.dtype), data.shape)


def _ones_like(_attrs: None, data: Array) -> Array:
    return np.broadcast_to(np.ones((), data.dtype), data.shape)


_FULL_LIKE = register_op(
    Op("full_like", 2, _full_like_relation, _full_like, pattern=OpPattern.ELEMWISE)
)
_ZEROS_LIKE = register_op(
    Op("zeros_like", 1, identity, _zeros_like, pattern=OpPattern.ELEMWISE)
)
_ONES_LIKE = register_op(
    Op("ones_like", 1, identity, _ones_like, pattern=OpPattern.ELEMWISE)
)


def full_like(data: Expr, fill_value: Operand) -> Call:
    """Return a tensor of one value in the shape and dtype of another tensor."""
    return call_op(_FULL_LIKE, (data, fill_value))


def zeros_like(data: Expr) -> Call:
    """Return zeros in the shape and dtype of another tensor."""
    return call_op(_ZEROS_LIKE, (data,))


def ones_like(data: Expr) -> Call:
    """Return ones in the shape and dtype of another tensor."""
    return call_op(_ONES_LIKE, (data,))
