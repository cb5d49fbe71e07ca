"""Loss functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import OneOf
from parpass.relay.op.declaration.build import OUT_ELEMWISE_FUSABLE, operator
from parpass.relay.op.declaration.type_relations import (
    float_identity,
    require_integer,
    require_rank,
    require_same_dtype,
    require_shape,
    tensors,
)

__all__ = ["cross_entropy", "cross_entropy_with_logits", "nll_loss"]


def _cross_entropy_relation(types: Sequence[Type], attrs: Any) -> TensorType:
    predictions, targets = tensors(types)
    require_same_dtype((predictions, targets))
    require_rank(predictions, 2, "the predictions")
    require_shape(targets, predictions.shape, "the targets")
    float_identity((predictions,), attrs)
    return TensorType((), predictions.dtype)


def _cross_entropy(_attrs: None, predictions: Array, targets: Array) -> Array:
    return _with_logits(None, np.log(predictions), targets)


def _with_logits(_attrs: None, logs: Array, targets: Array) -> Array:
    return np.asarray(-(logs * targets).sum() / logs.dtype.type(logs.shape[0]))


@operator("nn.cross_entropy", _cross_entropy_relation, _cross_entropy)
def cross_entropy(predictions: Expr, targets: Expr) -> Call:
    """Return the mean of `-sum(targets * log(predictions))` over the batch."""
    ...


@operator("nn.cross_entropy_with_logits", _cross_entropy_relation, _with_logits)
def cross_entropy_with_logits(predictions: Expr, targets: Expr) -> Call:
    """Return `cross_entropy` of predictions that are logarithms already."""
    ...


class NLLLossAttrs(Attrs, frozen=True):
    """Attributes of `nn.nll_loss`.

    Attributes:
        reduction: `mean` (weighted), `sum`, or `none`.
        ignore_index: The target that does not count.
    """

    reduction: Annotated[str, OneOf("mean", "sum", "none")] = "mean"
    ignore_index: int = -100


def _nll_loss_relation(types: Sequence[Type], attrs: NLLLossAttrs) -> TensorType:
    predictions, targets, weights = tensors(types)
    require_integer(targets, "the targets")
    require_same_dtype((predictions, weights))
    float_identity((predictions,), attrs)
    if len(predictions.shape) < 2:
        raise TypeRelationError(
            f"expected two dimensions or more for the predictions, got {predictions}"
        )
    batch, classes, *rest = predictions.shape
    require_shape(targets, (batch, *rest), "the targets")
    require_shape(weights, (classes,), "the weights")
    kept = targets.shape if attrs.reduction == "none" else ()
    return TensorType(kept, predictions.dtype)


def _nll_loss(
    attrs: NLLLossAttrs, predictions: Array, targets: Array, weights: Array
) -> Array:
    counted = targets != attrs.ignore_index
    classes = np.where(counted, targets, 0)
    picked = np.take_along_axis(predictions, classes[:, None], 1)[:, 0]
    factors = np.where(counted, weights[classes], predictions.dtype.type(0))
    losses = -picked * factors
    if attrs.reduction == "none":
        return losses
    total = losses.sum()
    return np.asarray(total / factors.sum() if attrs.reduction == "mean" else total)


@operator(
    "nn.nll_loss",
    _nll_loss_relation,
    _nll_loss,
    NLLLossAttrs,
    pattern=OUT_ELEMWISE_FUSABLE,
)
def nll_loss(
    predictions: Expr,
    targets: Expr,
    weights: Expr,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:
    """Return the negative log-likelihood of target classes, weighted by class."""
    ...
