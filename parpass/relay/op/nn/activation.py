"""Activations, softmax and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.effect import Effect
from parpass.ir.op_table import Op, OpPattern, register_op
from parpass.ir.ty import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, TupleGetItem, TupleWrapper
from parpass.relay.op.build import call_op
from parpass.relay.op.elementwise import unary
from parpass.relay.op.relations import (
    float_identity,
    normal_axis,
    number_identity,
    require_same_dtype,
    require_shape,
    tensors,
)

Array = npt.NDArray[Any]


def _relu(data: Array) -> Array:
    return np.maximum(data, data.dtype.type(0))


relu = unary("nn.relu", number_identity, _relu, "Return the larger of `data` and 0.")


class LeakyReluAttrs(Attrs, frozen=True):
    """Attributes of `nn.leaky_relu`."""

    alpha: float


def _leaky_relu(attrs: LeakyReluAttrs, data: Array) -> Array:
    return np.where(data > 0, data, data * data.dtype.type(attrs.alpha))


_LEAKY_RELU = register_op(
    Op(
        "nn.leaky_relu",
        1,
        float_identity,
        _leaky_relu,
        LeakyReluAttrs,
        pattern=OpPattern.ELEMWISE,
    )
)


def leaky_relu(data: Expr, alpha: float) -> Call:
    """Return `data` where it is above 0, `alpha * data` elsewhere."""
    return call_op(_LEAKY_RELU, (data,), LeakyReluAttrs(alpha=float(alpha)))


class PReluAttrs(Attrs, frozen=True):
    """Attributes of `nn.prelu`."""

    axis: int = 1


def _prelu_relation(types: Sequence[Type], attrs: PReluAttrs) -> TensorType:
    data, alpha = tensors(types)
    require_same_dtype((data, alpha))
    axis = normal_axis(attrs.axis, len(data.shape))
    require_shape(alpha, (data.shape[axis],), "alpha")
    return float_identity((data,), attrs)


def _prelu(attrs: PReluAttrs, data: Array, alpha: Array) -> Array:
    axis = normal_axis(attrs.axis, data.ndim)
    slope = alpha.reshape(-1, *(1,) * (data.ndim - 1 - axis))
    return np.where(data > 0, data, data * slope)


_PRELU = register_op(
    Op("nn.prelu", 2, _prelu_relation, _prelu, PReluAttrs, pattern=OpPattern.BROADCAST)
)


def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
    """Return `data` where it is above 0, times its channel's `alpha` elsewhere."""
    return call_op(_PRELU, (data, alpha), PReluAttrs(axis=axis))


class SoftmaxAttrs(Attrs, frozen=True):
    """Attributes of `nn.softmax` and `nn.log_softmax`."""

    axis: int = -1


def _softmax_relation(types: Sequence[Type], attrs: SoftmaxAttrs) -> TensorType:
    data = float_identity(types, attrs)
    normal_axis(attrs.axis, len(data.shape))
    return data


def _softmax(attrs: SoftmaxAttrs, data: Array) -> Array:
    powers = np.exp(data - data.max(axis=attrs.axis, keepdims=True))
    return powers / powers.sum(axis=attrs.axis, keepdims=True)


def _log_softmax(attrs: SoftmaxAttrs, data: Array) -> Array:
    shifted = data - data.max(axis=attrs.axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True))


_SOFTMAX = register_op(
    Op(
        "nn.softmax",
        1,
        _softmax_relation,
        _softmax,
        SoftmaxAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)
_LOG_SOFTMAX = register_op(
    Op(
        "nn.log_softmax",
        1,
        _softmax_relation,
        _log_softmax,
        SoftmaxAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)
# A target may approximate it; what it means is the exact function.
_FAST_SOFTMAX = register_op(
    Op(
        "nn.fast_softmax",
        1,
        _softmax_relation,
        _softmax,
        SoftmaxAttrs,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    )
)


def fast_softmax(data: Expr, axis: int = -1) -> Call:
    """Return `softmax`, approximately."""
    return call_op(_FAST_SOFTMAX, (data,), SoftmaxAttrs(axis=axis))


def softmax(data: Expr, axis: int = -1) -> Call:
    """Return `exp(data)`, scaled to the sum 1 along an axis."""
    return call_op(_SOFTMAX, (data,), SoftmaxAttrs(axis=axis))


def log_softmax(data: Expr, axis: int = -1) -> Call:
    """Return the logarithm of `softmax`."""
    return call_op(_LOG_SOFTMAX, (data,), SoftmaxAttrs(axis=axis))


class DropoutAttrs(Attrs, frozen=True):
    """Attributes of `nn.dropout`."""

    rate: float = 0.5


def _dropout_relation(types: Sequence[Type], attrs: DropoutAttrs) -> TupleType:
    data = float_identity(types, attrs)
    return TupleType((data, data))


def _dropout(_attrs: DropoutAttrs, data: Array) -> tuple[Array, Array]:
    # Programs are evaluated as they are deployed, when nothing is dropped.
    return data, np.broadcast_to(np.ones((), data.dtype), data.shape)


# In training it draws noise, as TVM says of it; where it is run here it drops nothing.
_DROPOUT = register_op(
    Op(
        "nn.dropout",
        1,
        _dropout_relation,
        _dropout,
        DropoutAttrs,
        effect=Effect.READS,
    )
)


def dropout(data: Expr, rate: float = 0.5) -> TupleGetItem:
    """Drop elements in training; the identity when deployed."""
    return dropout_raw(data, rate)[0]


def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return the result of `dropout` and the mask of what it kept."""
    if not 0 <= rate < 1:
        raise IRTypeError(f"expected a rate from 0 up to 1, got {rate}")
    return TupleWrapper(call_op(_DROPOUT, (data,), DropoutAttrs(rate=float(rate))), 2)
