"""Normalisation over neighbouring channels: a vector is pixels of a row.

A power takes as long as a hundred sums, so that all of its lanes are computed at once
is what counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parpass.relay.backend.lowering.rule_registry import (
    OpCall,
    Store,
    register_template,
)
from parpass.relay.backend.lowering.templates.accumulators import Accumulators, loaded
from parpass.relay.backend.lowering.templates.flat_loops import (
    INDEX,
    bound_all,
    flat,
    in_chunks,
    index,
    is_flat,
    nested,
    suits_vectors,
)
from parpass.relay.op.nn.norm import LRNAttrs
from parpass.target.vector_registers import VectorRegisters
from parpass.tir.expr import PrimExpr, Var
from parpass.tir.op import add, const, div, maximum, minimum, multiply, power, subtract
from parpass.tir.stmt import For, ForKind, LetStmt, Stmt, stmt_seq


@register_template("nn.lrn", level=20)
def local_response_norm(call: OpCall[LRNAttrs], store: Store) -> Stmt | None:
    """Normalise over an axis that is not the last one."""
    attrs, out = call.attrs, call.out
    (data,) = call.sources
    rank = len(data.shape)
    axis = attrs.axis % rank
    if axis == rank - 1 or not is_flat(data) or not suits_vectors(call):
        return None
    lanes = VectorRegisters.of(call.target).lanes(out.dtype)
    sums = Accumulators(1, lanes, out.dtype)
    bias, alpha, beta = (
        const(value, out.dtype)
        for value in (attrs.bias, attrs.alpha / attrs.size, attrs.beta)
    )
    buffer = data.buffer
    assert buffer is not None
    apart = index(math.prod(data.shape[axis + 1 :]))  # of neighbours

    def chunk(place: Sequence[PrimExpr], column: PrimExpr, count: int) -> Stmt:
        """Return what normalises some pixels of a row."""
        half, none = index(attrs.size // 2), index(0)
        first = maximum(subtract(place[axis], half), none)
        behind = minimum(add(add(place[axis], half), index(1)), index(data.shape[axis]))
        around = (*place[:axis], none, *place[axis + 1 :])
        begin = flat((*around, column), data.shape)

        def squares(names: list[PrimExpr]) -> Stmt:
            begun, low, some = names
            near = Var("near", INDEX)
            at = add(begun, multiply(near, apart))
            read = loaded(out.dtype, buffer.data, at, lanes, count=count)
            value = Var("value", read.dtype)
            product = LetStmt(value, read, sums.add_product(0, value, value))
            return For(near, low, some, ForKind.SERIAL, product)

        def normalised(lane: PrimExpr, total: PrimExpr) -> Stmt:
            base = add(bias, multiply(alpha, total))
            indices = (*place, add(column, lane))
            return store(indices, div(data.at(indices), power(base, beta)))

        ends = (begin, first, subtract(behind, first))
        return stmt_seq(
            sums.cleared(1),
            bound_all("end", ends, squares),
            sums.each(0, normalised, count),
        )

    def row(place: tuple[PrimExpr, ...]) -> Stmt:
        return in_chunks(
            *("column", data.shape[-1], lanes),
            lambda column, count: chunk(place, column, count),
        )

    names = [f"i{at}" for at in range(rank - 1)]
    return sums.within(nested(names, data.shape[:-1], row))
