"""Losses: how far predictions are from targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.loops import (
    accumulated,
    accumulated_together,
    nest,
    zero,
)
from parpass.relay.backend.lowering.places import counted
from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    Store,
    register_template,
)
from parpass.relay.op.nn.loss import NLLLossAttrs
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt


def _register(name: str, *, is_logarithm: bool) -> None:
    @register_template(name)
    def template(
        _attrs: Any,
        sources: Sequence[Source],
        out: Result,
        store: Store,
        _target: Target,
    ) -> Stmt:
        predictions, targets = sources
        if not predictions.shape[0]:
            raise NoRuleError("the mean of no elements")

        def more(total: PrimExpr, k: Indices) -> PrimExpr:
            value = predictions.at(k)
            value = value if is_logarithm else op.log(value)
            return op.add(total, op.multiply(value, targets.at(k)))

        def done(total: PrimExpr) -> Stmt:
            count = op.const(predictions.shape[0], out.dtype)
            return store((), op.div(op.neg(total), count))

        return accumulated(zero(out.dtype), predictions.shape, more, done)


_register("nn.cross_entropy", is_logarithm=False)
_register("nn.cross_entropy_with_logits", is_logarithm=True)


@register_template("nn.nll_loss")
def _nll_loss(
    attrs: NLLLossAttrs,
    sources: Sequence[Source],
    out: Result,
    store: Store,
    _target: Target,
) -> Stmt:
    predictions, targets, weights = sources

    def loss_and_factor(at: Indices) -> tuple[PrimExpr, PrimExpr]:
        target = targets.at(at)
        counts = op.not_equal(op.cast_to(target, "int64"), attrs.ignore_index)
        place = counted(target, predictions.shape[1])
        place = Select(counts, place, op.const(0, place.dtype))
        factor = Select(counts, weights.at([place]), zero(out.dtype))
        picked = predictions.at([at[0], place, *at[1:]])
        return op.multiply(op.neg(picked), factor), factor

    if attrs.reduction == "none":
        return nest(out.shape, lambda at: store(at, loss_and_factor(at)[0]))

    def more(known: list[PrimExpr], k: Indices) -> list[PrimExpr]:
        return [op.add(*both) for both in zip(known, loss_and_factor(k), strict=True)]

    def done(found: list[PrimExpr]) -> Stmt:
        total, factors = found
        return store((), op.div(total, factors) if attrs.reduction == "mean" else total)

    starts = [zero(out.dtype), zero(out.dtype)]
    return accumulated_together(starts, targets.shape, more, done)
