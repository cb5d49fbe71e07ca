"""Matrices: sums of products by an equation, and diagonals."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.backend.lowering.loops import accumulated, nest, zero
from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.transform.matrix import (
    EinsumAttrs,
    MatrixSetDiagAttrs,
    einsum_terms,
)
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt


@register_template("einsum")
def _einsum(
    attrs: EinsumAttrs,
    sources: Sequence[Source],
    out: Result,
    store: Store,
    _target: Target,
) -> Stmt:
    """Return loops over the result, and within them over the letters it has not."""
    terms, output = einsum_terms(attrs.equation)
    named = [
        _letters(term, one.shape) for term, one in zip(terms, sources, strict=True)
    ]
    lengths = dict[str, int]()
    for letters, one in zip(named, sources, strict=True):
        for letter, dim in zip(letters, one.shape, strict=True):
            lengths[letter] = dim if dim != 1 else lengths.get(letter, 1)
    kept = _letters(output, out.shape)
    summed = [letter for letter in lengths if letter not in kept]
    if any(letter.isdigit() for letter in summed):
        raise NoRuleError(f"the equation {attrs.equation!r}")

    def element(indices: Indices) -> Stmt:
        def more(total: PrimExpr, k: Indices) -> PrimExpr:
            at = dict(zip([*kept, *summed], [*indices, *k], strict=True))
            found: PrimExpr = op.const(1, out.dtype)
            for letters, one in zip(named, sources, strict=True):
                pairs = zip(letters, one.shape, strict=True)
                places = [at[n] if dim != 1 else _first(at[n]) for n, dim in pairs]
                found = op.multiply(found, op.cast_to(one.at(places), out.dtype))
            return op.add(total, found)

        over = [lengths[letter] for letter in summed]
        return accumulated(
            zero(out.dtype), over, more, lambda total: store(indices, total)
        )

    return nest(out.shape, element)


def _letters(term: str, shape: Sequence[int]) -> list[str]:
    """Return a name for each dimension: its letter, or how far it is from the last."""
    before, dots, behind = term.partition(".")
    many = len(shape) - len(before) - len(behind) if dots else 0
    return [*before, *(str(at) for at in range(many, 0, -1)), *behind]


def _first(index: PrimExpr) -> PrimExpr:
    return op.const(0, index.dtype)


@register_injective("matrix_set_diag")
def _matrix_set_diag(
    attrs: MatrixSetDiagAttrs,
    sources: Sequence[Source],
    _out: Result,
    indices: Indices,
) -> PrimExpr:
    data, diagonal = sources
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
