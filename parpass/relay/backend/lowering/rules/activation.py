"""Lowering rules of activations, softmax and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.extremes import lowest
from parpass.relay.backend.lowering.index_maps import counted
from parpass.relay.backend.lowering.loops import (
    accumulated_together,
    allocated,
    nest,
    quotient,
    scratch,
    zero,
)
from parpass.relay.backend.lowering.reduction_loops import accumulated, reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Result,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.backend.lowering.softmax_powers import power
from parpass.relay.op.declaration.type_relations import normal_axis
from parpass.relay.op.nn.activation import LeakyReluAttrs, PReluAttrs, SoftmaxAttrs
from parpass.relay.op.nn.loss import NLLLossAttrs
from parpass.tir import op
from parpass.tir.expr import BufferLoad, PrimExpr, Select
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq


@register_injective("nn.relu")
def _relu(call: OpCall[Any], indices: Indices) -> PrimExpr:
    return op.maximum(call.sources[0].at(indices), zero(call.out.dtype))


@register_injective("nn.leaky_relu")
def _leaky_relu(call: OpCall[LeakyReluAttrs], indices: Indices) -> PrimExpr:
    x, dtype = call.sources[0].at(indices), call.out.dtype
    scaled = op.multiply(x, op.const(call.attrs.alpha, dtype))
    return Select(x > zero(dtype), x, scaled)


@register_injective("nn.prelu")
def _prelu(call: OpCall[PReluAttrs], indices: Indices) -> PrimExpr:
    (data, alpha), out = call.sources, call.out
    x, axis = data.at(indices), normal_axis(call.attrs.axis, len(out.shape))
    return Select(x > zero(out.dtype), x, op.multiply(x, alpha.at([indices[axis]])))


@register_injective("nn.dropout")
def _dropout(call: OpCall[Any], indices: Indices) -> PrimExpr:
    out = call.out
    return op.const(1, out.dtype) if out.field else call.sources[0].at(indices)


Row = Callable[[Indices], list[PrimExpr]]


def _along_rows(
    call: OpCall[SoftmaxAttrs], body: Callable[[Row, PrimExpr], Stmt]
) -> Stmt:
    """Return loops over the rows of data, and one along each for its largest element.

    Args:
        call: The call; its attributes say which axis rows run along.
        body: Returns what is done with a row, given where an element of it is, and the
            largest one.
    """
    (data,), out = call.sources, call.out
    axis = normal_axis(call.attrs.axis, len(out.shape))
    if not out.shape[axis]:
        raise NoRuleError("the largest of no elements")

    def row(outer: Indices) -> Stmt:
        def at(k: Indices) -> list[PrimExpr]:
            return [*outer[:axis], k[0], *outer[axis + 1 :]]

        return accumulated(
            lowest(out.dtype),
            (out.shape[axis],),
            lambda k: data.at(at(k)),
            lambda largest: body(at, largest),
            call.target,
            _larger,
        )

    return nest([1 if at == axis else n for at, n in enumerate(out.shape)], row)


def _larger(one: PrimExpr, other: PrimExpr) -> PrimExpr:
    """Return the larger of two; a NaN may be lost, since its power is NaN again."""
    return Select(one > other, one, other)


@register_template("nn.softmax", "nn.fast_softmax", level=20)
def _softmax_of_columns(call: OpCall[SoftmaxAttrs], store: Store) -> Stmt | None:
    """Return loops over all columns together, if rows are not along the last axis."""
    (data,), out, target = call.sources, call.out, call.target
    axis = normal_axis(call.attrs.axis, len(out.shape))
    if axis == len(out.shape) - 1 or 0 in out.shape:
        return None
    columns = Result((*out.shape[:axis], *out.shape[axis + 1 :]), out.dtype)
    largest, factors = (
        scratch(columns.shape, out.dtype, name) for name in ("largest", "factors")
    )
    powers = scratch(out.shape, out.dtype, "powers")

    def element(at: Indices, k: Indices) -> list[PrimExpr]:
        return [*at[:axis], k[0], *at[axis:]]

    def read(at: Indices, k: Indices) -> PrimExpr:
        return data.at(element(at, k))

    def keep_largest(at: Indices, value: PrimExpr) -> Stmt:
        return BufferStore(largest, value, at)

    def keep_power(at: Indices) -> Stmt:
        difference = op.subtract(
            data.at(at), BufferLoad(largest, [*at[:axis], *at[axis + 1 :]])
        )
        return BufferStore(powers, power(difference), at)

    def kept_power(at: Indices, k: Indices) -> PrimExpr:
        return BufferLoad(powers, element(at, k))

    def keep_factor(at: Indices, total: PrimExpr) -> Stmt:
        return BufferStore(factors, op.div(op.const(1, out.dtype), total), at)

    def quotient(at: Indices) -> Stmt:
        factor = BufferLoad(factors, [*at[:axis], *at[axis + 1 :]])
        return store(at, op.multiply(BufferLoad(powers, at), factor))

    over, least = (out.shape[axis],), lowest(out.dtype)
    stmt = stmt_seq(
        reductions(columns, over, read, keep_largest, target, least, _larger),
        elementwise_nest(out.shape, keep_power, target),
        reductions(columns, over, kept_power, keep_factor, target),
        elementwise_nest(out.shape, quotient, target),
    )
    for one in (powers, factors, largest):
        stmt = allocated(one, stmt)
    return stmt


@register_template("nn.softmax", "nn.fast_softmax")
def _softmax(call: OpCall[SoftmaxAttrs], store: Store) -> Stmt:
    """Return three loops along each row: its largest, the sum of powers, quotients."""
    (data,), out, target = call.sources, call.out, call.target
    length = out.shape[call.attrs.axis]

    def of_row(at: Row, largest: PrimExpr) -> Stmt:
        powers = scratch((length,), out.dtype, "powers")

        def keep(k: Indices) -> Stmt:
            difference = op.subtract(data.at(at(k)), largest)
            return BufferStore(powers, power(difference), k)

        def divided(total: PrimExpr) -> Stmt:
            factor = op.div(op.const(1, out.dtype), total)  # a product takes less time

            def quotient(k: Indices) -> Stmt:
                return store(at(k), op.multiply(BufferLoad(powers, k), factor))

            return elementwise_nest((length,), quotient, target)

        kept = elementwise_nest((length,), keep, target)

        def kept_power(k: Indices) -> PrimExpr:
            return BufferLoad(powers, k)

        sums = accumulated(zero(out.dtype), (length,), kept_power, divided, target)
        return allocated(powers, stmt_seq(kept, sums))

    return _along_rows(call, of_row)


@register_template("nn.log_softmax")
def _log_softmax(call: OpCall[SoftmaxAttrs], store: Store) -> Stmt:
    (data,), out = call.sources, call.out
    length = out.shape[call.attrs.axis]

    def of_row(at: Row, largest: PrimExpr) -> Stmt:
        def shifted(k: Indices) -> PrimExpr:
            return op.subtract(data.at(at(k)), largest)

        def less(total: PrimExpr) -> Stmt:
            of_all = scratch((1,), out.dtype, "logarithm")

            def difference(k: Indices) -> Stmt:
                return store(at(k), op.subtract(shifted(k), BufferLoad(of_all, [0])))

            begin = BufferStore(of_all, op.log(total), [0])
            loops = elementwise_nest((length,), difference, call.target)
            return allocated(of_all, stmt_seq(begin, loops))

        def power_of(k: Indices) -> PrimExpr:
            return power(shifted(k))

        return accumulated(zero(out.dtype), (length,), power_of, less, call.target)

    return _along_rows(call, of_row)


def _register(name: str, *, is_logarithm: bool) -> None:
    @register_template(name)
    def template(call: OpCall[Any], store: Store) -> Stmt:
        predictions, targets = call.sources

        def product(k: Indices) -> PrimExpr:
            value = predictions.at(k)
            value = value if is_logarithm else op.log(value)
            return op.multiply(value, targets.at(k))

        def done(total: PrimExpr) -> Stmt:
            return store((), quotient(op.neg(total), predictions.shape[0]))

        begin, over = zero(call.out.dtype), predictions.shape
        return accumulated(begin, over, product, done, call.target)


_register("nn.cross_entropy", is_logarithm=False)
_register("nn.cross_entropy_with_logits", is_logarithm=True)


@register_template("nn.nll_loss")
def _nll_loss(call: OpCall[NLLLossAttrs], store: Store) -> Stmt:
    attrs, out = call.attrs, call.out
    predictions, targets, weights = call.sources

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
