"""Products of matrices, and what is added to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.relay.backend.lowering.loops import accumulated, nest, zero
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.declaration.relations import normal_axis
from parpass.relay.op.nn.linear import BatchMatmulAttrs, BiasAddAttrs, MatmulAttrs
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt

Factor = Callable[[Indices, PrimExpr], PrimExpr]


@register_injective("nn.bias_add")
def _bias_add(
    attrs: BiasAddAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    data, bias = sources
    axis = normal_axis(attrs.axis, len(out.shape))
    return op.add(data.at(indices), bias.at([indices[axis]]))


def _products(out: Result, inner: int, a: Factor, b: Factor, store: Store) -> Stmt:
    """Return loops over the result, and within them sums of products.

    Args:
        out: What the result is.
        inner: How many products a sum has.
        a: Gives the first factor, by indices of the result and of the sum.
        b: Gives the second one.
        store: Takes the sums.
    """

    def element(at: Indices) -> Stmt:
        def more(total: PrimExpr, k: Indices) -> PrimExpr:
            x, y = (op.cast_to(of(at, k[0]), out.dtype) for of in (a, b))
            return op.add(total, op.multiply(x, y))

        return accumulated(
            zero(out.dtype), (inner,), more, lambda total: store(at, total)
        )

    return nest(out.shape, element)


@register_template("nn.dense")
def _dense(
    _attrs: Any, sources: Sequence[Source], out: Result, store: Store, _target: Target
) -> Stmt:
    data, weight = sources
    return _products(
        out,
        weight.shape[1],
        lambda at, k: data.at([*at[:-1], k]),
        lambda at, k: weight.at([at[-1], k]),
        store,
    )


@register_template("nn.matmul")
def _matmul(
    attrs: MatmulAttrs,
    sources: Sequence[Source],
    out: Result,
    store: Store,
    _target: Target,
) -> Stmt:
    a, b = sources

    def first(at: Indices, k: PrimExpr) -> PrimExpr:
        if attrs.transpose_a:
            return a.at([*at[:-2], k, at[-2]])
        return a.at([*at[:-1], k])

    def second(at: Indices, k: PrimExpr) -> PrimExpr:
        return b.at([at[-1], k] if attrs.transpose_b else [k, at[-1]])

    inner = b.shape[1] if attrs.transpose_b else b.shape[0]
    return _products(out, inner, first, second, store)


@register_template("nn.batch_matmul")
def _batch_matmul(
    attrs: BatchMatmulAttrs,
    sources: Sequence[Source],
    out: Result,
    store: Store,
    _target: Target,
) -> Stmt:
    a, b = sources

    def batch(of: Source, at: Indices) -> PrimExpr:
        return at[0] if of.shape[0] != 1 else op.const(0, "int32")

    def first(at: Indices, k: PrimExpr) -> PrimExpr:
        rest = [k, at[1]] if attrs.transpose_a else [at[1], k]
        return a.at([batch(a, at), *rest])

    def second(at: Indices, k: PrimExpr) -> PrimExpr:
        rest = [at[2], k] if attrs.transpose_b else [k, at[2]]
        return b.at([batch(b, at), *rest])

    inner = b.shape[2] if attrs.transpose_b else b.shape[1]
    return _products(out, inner, first, second, store)
