"""Normalisation: of batches, layers, instances, groups, neighbours and lengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.loops import (
    allocated,
    nest,
    scratch,
    zero,
)
from parpass.relay.backend.lowering.reduction_loops import accumulated
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    OpCall,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.declaration.type_relations import normal_axes, normal_axis
from parpass.relay.op.nn.norm import (
    BatchNormAttrs,
    GroupNormAttrs,
    L2NormalizeAttrs,
    LRNAttrs,
    NormAttrs,
)
from parpass.tir import op
from parpass.tir.expr import BufferLoad, PrimExpr
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq


@register_injective("nn.batch_norm")
def _batch_norm(call: OpCall[BatchNormAttrs], indices: Indices) -> PrimExpr:
    data, gamma, beta, mean, variance = call.sources
    if call.out.field:
        return call.sources[call.out.field + 2].at(indices)
    channel = [indices[normal_axis(call.attrs.axis, len(data.shape))]]
    epsilon = op.const(call.attrs.epsilon, call.out.dtype)
    factor = _inverse_root(op.add(variance.at(channel), epsilon))
    result = op.multiply(op.subtract(data.at(indices), mean.at(channel)), factor)
    return _affine(call.attrs, result, gamma.at(channel), beta.at(channel))


def _inverse_root(value: PrimExpr) -> PrimExpr:
    return op.div(op.const(1, value.dtype), op.sqrt(value))


def _affine(
    attrs: NormAttrs | GroupNormAttrs, x: PrimExpr, gamma: PrimExpr, beta: PrimExpr
) -> PrimExpr:
    x = op.multiply(x, gamma) if attrs.scale else x
    return op.add(x, beta) if attrs.center else x


Join = Callable[[Indices, Indices], list[PrimExpr]]


def _normalised(
    call: OpCall[NormAttrs | GroupNormAttrs],
    store: Store,
    outer: Sequence[int],
    inner: Sequence[int],
    join: Join,
) -> Stmt:
    """Return three loops over each part: its mean, its variance, what comes of it.

    Args:
        call: The call; its operands are the data, gamma and beta.
        store: Takes the results.
        outer: How many parts there are, in several dimensions.
        inner: The lengths of a part.
        join: Returns where an element is, by its part and its place there.
    """
    attrs, out = call.attrs, call.out
    data, gamma, beta = call.sources
    axis = normal_axis(attrs.axis, len(data.shape))
    many = max(math.prod(inner), 1)  # of no elements nobody asks the mean
    count, epsilon = (op.const(x, out.dtype) for x in (many, attrs.epsilon))

    def part(which: Indices) -> Stmt:
        numbers = scratch((2,), out.dtype, "numbers")
        mean, factor = (BufferLoad(numbers, [at]) for at in range(2))

        def off(k: Indices) -> PrimExpr:
            return op.subtract(data.at(join(which, k)), mean)

        def scaled(k: Indices) -> Stmt:
            place = join(which, k)
            channel = [place[axis]]
            vectors = gamma.at(channel), beta.at(channel)
            return store(place, _affine(attrs, op.multiply(off(k), factor), *vectors))

        def with_variance(total: PrimExpr) -> Stmt:
            root = _inverse_root(op.add(op.div(total, count), epsilon))
            loops = elementwise_nest(inner, scaled, call.target)
            return stmt_seq(BufferStore(numbers, root, [1]), loops)

        def with_mean(total: PrimExpr) -> Stmt:
            return stmt_seq(
                BufferStore(numbers, op.div(total, count), [0]),
                accumulated(
                    zero(out.dtype),
                    inner,
                    lambda k: op.multiply(off(k), off(k)),
                    with_variance,
                    call.target,
                ),
            )

        sums = accumulated(
            zero(out.dtype),
            inner,
            lambda k: data.at(join(which, k)),
            with_mean,
            call.target,
        )
        return allocated(numbers, sums)

    return nest(outer, part)


def _over(axes: Sequence[int], call: OpCall[NormAttrs], store: Store) -> Stmt:
    """Normalise over some axes; see `_normalised`."""
    outer = [1 if at in axes else dim for at, dim in enumerate(call.out.shape)]
    inner = [call.out.shape[axis] for axis in axes]
    return _normalised(call, store, outer, inner, _joined(axes))


def _joined(axes: Sequence[int]) -> Join:
    def join(which: Indices, k: Indices) -> list[PrimExpr]:
        within = dict(zip(axes, k, strict=True))
        return [within.get(at, index) for at, index in enumerate(which)]

    return join


@register_template("nn.layer_norm")
def _layer_norm(call: OpCall[NormAttrs], store: Store) -> Stmt:
    axis = normal_axis(call.attrs.axis, len(call.out.shape))
    return _over([axis], call, store)


@register_template("nn.instance_norm")
def _instance_norm(call: OpCall[NormAttrs], store: Store) -> Stmt:
    channel = normal_axis(call.attrs.axis, len(call.out.shape))
    axes = [at for at in range(1, len(call.out.shape)) if at != channel]
    return _over(axes, call, store)


@register_template("nn.group_norm")
def _group_norm(call: OpCall[GroupNormAttrs], store: Store) -> Stmt:
    attrs, out = call.attrs, call.out
    axis = normal_axis(attrs.axis, len(out.shape))
    each = out.shape[axis] // attrs.num_groups
    others = [at for at in range(1, len(out.shape)) if at != axis]

    def join(which: Indices, k: Indices) -> list[PrimExpr]:
        found = {0: which[0], **dict(zip((axis, *others), k, strict=True))}
        found[axis] = which[1] * each + k[0]
        return [found[at] for at in range(len(out.shape))]

    outer = [out.shape[0] if axis else 1, attrs.num_groups]
    inner = [each, *(out.shape[at] for at in others)]
    return _normalised(call, store, outer, inner, join)


@register_template("nn.lrn")
def _lrn(call: OpCall[LRNAttrs], store: Store) -> Stmt:
    attrs, out = call.attrs, call.out
    (data,), axis = call.sources, normal_axis(attrs.axis, len(out.shape))
    bias, alpha, beta = (
        op.const(x, out.dtype)
        for x in (attrs.bias, attrs.alpha / attrs.size, attrs.beta)
    )

    def element(at: Indices) -> Stmt:
        def square(k: Indices) -> PrimExpr:
            place = op.subtract(op.add(at[axis], k[0]), attrs.size // 2)
            x = data.at([*at[:axis], place, *at[axis + 1 :]])
            inside = op.all(place >= 0, place < out.shape[axis])
            return op.if_then_else(inside, op.multiply(x, x), zero(out.dtype))

        def done(total: PrimExpr) -> Stmt:
            base = op.add(bias, op.multiply(alpha, total))
            return store(at, op.div(data.at(at), op.power(base, beta)))

        return accumulated(zero(out.dtype), (attrs.size,), square, done, call.target)

    return nest(out.shape, element)


@register_template("nn.l2_normalize")
def _l2_normalize(call: OpCall[L2NormalizeAttrs], store: Store) -> Stmt:
    attrs, out = call.attrs, call.out
    (data,), rank = call.sources, len(out.shape)
    axes = range(rank) if attrs.axis is None else normal_axes(attrs.axis, rank)
    inner, join = [out.shape[axis] for axis in axes], _joined(axes)
    outer = [1 if at in axes else dim for at, dim in enumerate(out.shape)]

    def part(which: Indices) -> Stmt:
        def square(k: Indices) -> PrimExpr:
            x = data.at(join(which, k))
            return op.multiply(x, x)

        def done(total: PrimExpr) -> Stmt:
            length = op.sqrt(op.maximum(total, op.const(attrs.eps, out.dtype)))

            def quotient(k: Indices) -> Stmt:
                place = join(which, k)
                return store(place, op.div(data.at(place), length))

            return elementwise_nest(inner, quotient, call.target)

        return accumulated(zero(out.dtype), inner, square, done, call.target)

    return nest(outer, part)
