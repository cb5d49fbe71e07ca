"""Activations, softmax and dropout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, Compute, Effect
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, TupleGetItem, TupleWrapper
from parpass.relay.op.declaration.attributes import Real
from parpass.relay.op.declaration.build import (
    BROADCAST,
    ELEMWISE,
    OUT_ELEMWISE_FUSABLE,
    BuilderT,
    operator,
)
from parpass.relay.op.declaration.type_relations import (
    float_axis_identity,
    float_identity,
    number_identity,
    require_vectors,
    tensors,
    vectors_along_axis,
)
from parpass.relay.op.nn.linear import along

__all__ = [
    "dropout", "dropout_raw", "fast_softmax", "leaky_relu", "log_softmax", "prelu",
    "relu", "softmax",
]  # fmt: skip


def _relu(_attrs: None, data: Array) -> Array:
    zero = data.dtype.type(0)
    # As `ieee754.maximum`, and faster: the sum is 0.0 also of -0.0.
    return np.asarray(np.maximum(data, zero) + zero)


@operator("nn.relu", number_identity, _relu, pattern=ELEMWISE)
def relu(data: Operand) -> Call:
    """Return the larger of `data` and 0."""
    ...


class LeakyReluAttrs(Attrs, frozen=True):
    """Attributes of `nn.leaky_relu`."""

    alpha: Real


def _leaky_relu(attrs: LeakyReluAttrs, data: Array) -> Array:
    return np.where(data > 0, data, data * data.dtype.type(attrs.alpha))


@operator(
    "nn.leaky_relu", float_identity, _leaky_relu, LeakyReluAttrs, pattern=ELEMWISE
)
def leaky_relu(data: Expr, alpha: float) -> Call:
    """Return `data` where it is above 0, `alpha * data` elsewhere."""
    ...


class PReluAttrs(Attrs, frozen=True):
    """Attributes of `nn.prelu`."""

    axis: int = 1


def _prelu_relation(types: Sequence[Type], attrs: PReluAttrs) -> TensorType:
    args = tensors(types)
    require_vectors(args, attrs, "alpha")
    return float_identity(args[:1], attrs)


def _prelu(attrs: PReluAttrs, data: Array, alpha: Array) -> Array:
    return np.where(data > 0, data, data * along(attrs.axis, alpha, data))


@operator(
    "nn.prelu",
    _prelu_relation,
    _prelu,
    PReluAttrs,
    pattern=BROADCAST,
    argument_types=vectors_along_axis,
)
def prelu(data: Expr, alpha: Expr, axis: int = 1) -> Call:
    """Return `data` where it is above 0, times its channel's `alpha` elsewhere."""
    ...


class SoftmaxAttrs(Attrs, frozen=True):
    """Attributes of `nn.softmax` and `nn.log_softmax`."""

    axis: int = -1


def _softmax(attrs: SoftmaxAttrs, data: Array) -> Array:
    powers = np.exp(data - data.max(axis=attrs.axis, keepdims=True))
    return powers / powers.sum(axis=attrs.axis, keepdims=True)


def _log_softmax(attrs: SoftmaxAttrs, data: Array) -> Array:
    shifted = data - data.max(axis=attrs.axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True))


def _softened(name: str, compute: Compute) -> Callable[[BuilderT], BuilderT]:
    kind, heavy = SoftmaxAttrs, OUT_ELEMWISE_FUSABLE
    return operator(name, float_axis_identity, compute, kind, pattern=heavy)


@_softened("nn.softmax", _softmax)
def softmax(data: Expr, axis: int = -1) -> Call:
    """Return `exp(data)`, normalised to the sum 1 along an axis."""
    ...


# A target may approximate it; the operator's meaning is the exact function.
@_softened("nn.fast_softmax", _softmax)
def fast_softmax(data: Expr, axis: int = -1) -> Call:
    """Return an approximation of `softmax`."""
    ...


@_softened("nn.log_softmax", _log_softmax)
def log_softmax(data: Expr, axis: int = -1) -> Call:
    """Return the logarithm of `softmax`."""
    ...


class DropoutAttrs(Attrs, frozen=True):
    """Attributes of `nn.dropout`."""

    rate: Real = 0.5

    def check(self) -> None:
        """Reject a rate outside of its range."""
        if not 0 <= self.rate < 1:
            raise IRTypeError(f"expected a rate from 0 up to 1, got {self.rate:.12g}")


def _dropout_relation(types: Sequence[Type], attrs: DropoutAttrs) -> TupleType:
    data = float_identity(types, attrs)
    return TupleType((data, data))


def _dropout(_attrs: DropoutAttrs, data: Array) -> tuple[Array, Array]:
    # Programs are evaluated for inference, in which nothing is dropped.
    return data, np.broadcast_to(np.ones((), data.dtype), data.shape)


# In training it draws noise, as in TVM; evaluated here, it drops nothing.


def dropout(data: Expr, rate: float = 0.5) -> TupleGetItem:
    """Drop elements in training; the identity in inference."""
    return dropout_raw(data, rate)[0]


@operator(
    "nn.dropout",
    _dropout_relation,
    _dropout,
    DropoutAttrs,
    effect=Effect.READS,
    results=2,
)
def dropout_raw(data: Expr, rate: float = 0.5) -> TupleWrapper:
    """Return the result of `dropout` and the mask of the kept elements."""
    ...
