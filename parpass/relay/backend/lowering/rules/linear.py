"""Lowering rules of matrix products, bias, einsum and diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.relay.backend.lowering.reduction_loops import reductions
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Source,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.declaration.type_relations import normal_axis
from parpass.relay.op.nn.linear import BatchMatmulAttrs, BiasAddAttrs, MatmulAttrs
from parpass.relay.op.transform.matrix import (
    EinsumAttrs,
    MatrixSetDiagAttrs,
    einsum_terms,
)
from parpass.tir import op
from parpass.tir.expr import PrimExpr, Select
from parpass.tir.stmt import Stmt

Factor = Callable[[Indices, PrimExpr], PrimExpr]


@register_injective("nn.bias_add")
def _bias_add(call: OpCall[BiasAddAttrs], indices: Indices) -> PrimExpr:
    data, bias = call.sources
    axis = normal_axis(call.attrs.axis, len(call.out.shape))
    return op.add(data.at(indices), bias.at([indices[axis]]))


def _products(
    call: OpCall[Any], inner: int, a: Factor, b: Factor, store: Store
) -> Stmt:
    """Return loops over the result, and within them sums of products.

    Args:
        call: The call.
        inner: How many products a sum has.
        a: Gives the first factor, by indices of the result and of the sum.
        b: Gives the second one.
        store: Takes the sums.
    """
    out = call.out

    def product(at: Indices, k: Indices) -> PrimExpr:
        x, y = (op.cast_to(of(at, k[0]), out.dtype) for of in (a, b))
        return op.multiply(x, y)

    return reductions(out, (inner,), product, store, call.target)


@register_template("nn.dense")
def _dense(call: OpCall[Any], store: Store) -> Stmt:
    data, weight = call.sources
    return _products(
        call,
        weight.shape[1],
        lambda at, k: data.at([*at[:-1], k]),
        lambda at, k: weight.at([at[-1], k]),
        store,
    )


@register_template("nn.matmul")
def _matmul(call: OpCall[MatmulAttrs], store: Store) -> Stmt:
    a, b = call.sources

    def first(at: Indices, k: PrimExpr) -> PrimExpr:
        if call.attrs.transpose_a:
            return a.at([*at[:-2], k, at[-2]])
        return a.at([*at[:-1], k])

    def second(at: Indices, k: PrimExpr) -> PrimExpr:
        return b.at([at[-1], k] if call.attrs.transpose_b else [k, at[-1]])

    inner = b.shape[1] if call.attrs.transpose_b else b.shape[0]
    return _products(call, inner, first, second, store)


@register_template("nn.batch_matmul")
def _batch_matmul(call: OpCall[BatchMatmulAttrs], store: Store) -> Stmt:
    a, b = call.sources

    def batch(of: Source, at: Indices) -> PrimExpr:
        return at[0] if of.shape[0] != 1 else op.const(0, "int32")

    def first(at: Indices, k: PrimExpr) -> PrimExpr:
        rest = [k, at[1]] if call.attrs.transpose_a else [at[1], k]
        return a.at([batch(a, at), *rest])

    def second(at: Indices, k: PrimExpr) -> PrimExpr:
        rest = [at[2], k] if call.attrs.transpose_b else [k, at[2]]
        return b.at([batch(b, at), *rest])

    inner = b.shape[2] if call.attrs.transpose_b else b.shape[1]
    return _products(call, inner, first, second, store)


@register_template("einsum")
def _einsum(call: OpCall[EinsumAttrs], store: Store) -> Stmt:
    """Return loops over the result, and within them over the letters it has not."""
    out = call.out
    terms, output = einsum_terms(call.attrs.equation)
    named = [
        _letters(term, one.shape) for term, one in zip(terms, call.sources, strict=True)
    ]
    lengths = dict[str, int]()
    for letters, one in zip(named, call.sources, strict=True):
        for letter, dim in zip(letters, one.shape, strict=True):
            lengths[letter] = dim if dim != 1 else lengths.get(letter, 1)
    kept = _letters(output, out.shape)
    summed = [letter for letter in lengths if letter not in kept]
    if any(letter.isdigit() for letter in summed):
        raise NoRuleError(f"the equation {call.attrs.equation!r}")

    def product(indices: Indices, k: Indices) -> PrimExpr:
        at = dict(zip([*kept, *summed], [*indices, *k], strict=True))
        found: PrimExpr = op.const(1, out.dtype)
        for letters, one in zip(named, call.sources, strict=True):
            pairs = zip(letters, one.shape, strict=True)
            places = [at[n] if dim != 1 else _first(at[n]) for n, dim in pairs]
            found = op.multiply(found, op.cast_to(one.at(places), out.dtype))
        return found

    over = [lengths[letter] for letter in summed]
    return reductions(out, over, product, store, call.target)


def _letters(term: str, shape: Sequence[int]) -> list[str]:
    """Return a name for each dimension: its letter, or how far it is from the last."""
    before, dots, behind = term.partition(".")
    many = len(shape) - len(before) - len(behind) if dots else 0
    return [*before, *(str(at) for at in range(many, 0, -1)), *behind]


def _first(index: PrimExpr) -> PrimExpr:
    return op.const(0, index.dtype)


@register_injective("matrix_set_diag")
def _matrix_set_diag(call: OpCall[MatrixSetDiagAttrs], indices: Indices) -> PrimExpr:
    attrs = call.attrs
    data, diagonal = call.sources
    rows, columns = data.shape[-2:]
    *batch, row, column = indices
    k = op.subtract(column, row)
    below, above = op.minimum(k, 0), op.maximum(k, 0)
    place = op.add(row, below)
    length = op.minimum(op.add(below, rows), op.subtract(columns, above))
    to_right = Select(
        k > 0,
        op.const(attrs.super_diag_right_align),
        op.const(attrs.sub_diag_right_align),
    )
    skipped = op.subtract(diagonal.shape[-1], length)
    place = op.add(place, Select(to_right, skipped, _first(skipped)))
    which = [] if attrs.k1 == attrs.k2 else [op.subtract(attrs.k2, k)]
    return op.if_then_else(
        op.all(k >= attrs.k1, k <= attrs.k2),
        diagonal.at([*batch, *which, place]),
        data.at(indices),
    )
