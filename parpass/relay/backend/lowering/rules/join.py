"""Operators that join tensors, or split one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    Store,
    register_injective,
    register_template,
)
from parpass.relay.op.declaration.relations import normal_axis
from parpass.relay.op.transform.join import ConcatenateAttrs, SplitAttrs, StackAttrs
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Evaluate, Stmt, stmt_seq


def _shifted(indices: Indices, axis: int, by: int) -> list[PrimExpr]:
    found = list(indices)
    found[axis] = op.add(found[axis], by)
    return found


def _starts(sources: Sequence[Source], axis: int) -> list[int]:
    return [0, *accumulate(one.shape[axis] for one in sources)]


@register_injective("concatenate")
def _concatenate(
    attrs: ConcatenateAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    axis = normal_axis(attrs.axis, len(out.shape))
    places = [
        (start, one)
        for start, one in zip(_starts(sources, axis), sources, strict=False)
        if one.shape[axis]
    ]
    if not places:
        return op.const(0, out.dtype)
    start, last = places[-1]
    found = last.at(_shifted(indices, axis, -start))
    for (start, one), (end, _) in zip(places[-2::-1], places[:0:-1], strict=True):
        element = one.at(_shifted(indices, axis, -start))
        found = op.if_then_else(indices[axis] < end, element, found)
    return found


@register_template("concatenate")
def _joined(
    attrs: ConcatenateAttrs,
    sources: Sequence[Source],
    out: Result,
    store: Store,
    target: Target,
) -> Stmt:
    """Return loops for each tensor, where no element needs to know which it is of."""
    axis = normal_axis(attrs.axis, len(out.shape))

    def copied(start: int, one: Source) -> Stmt:
        return elementwise_nest(
            one.shape, lambda at: store(_shifted(at, axis, start), one.at(at)), target
        )

    starts = _starts(sources, axis)
    parts = [copied(*each) for each in zip(starts, sources, strict=False)]
    return stmt_seq(*parts) if parts else Evaluate(0)


@register_injective("stack")
def _stack(
    attrs: StackAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    axis = normal_axis(attrs.axis, len(out.shape))
    rest = [*indices[:axis], *indices[axis + 1 :]]
    found = sources[-1].at(rest)
    for at in range(len(sources) - 2, -1, -1):
        is_this = op.equal(indices[axis], at)
        found = op.if_then_else(is_this, sources[at].at(rest), found)
    return found


@register_injective("split")
def _split(
    attrs: SplitAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    (data,) = sources
    axis = normal_axis(attrs.axis, len(data.shape))
    where = attrs.indices_or_sections
    if isinstance(where, int):
        start = data.shape[axis] // where * out.field
    else:
        start = (0, *where)[out.field]
    return data.at(_shifted(indices, axis, start))
