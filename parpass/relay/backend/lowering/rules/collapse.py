"""Sums over what broadcasting repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.relay.backend.lowering.loops import accumulated, nest, zero
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    Store,
    register_template,
)
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt


@register_template("collapse_sum_like", "collapse_sum_to")
def _collapsed(
    _attrs: Any, sources: Sequence[Source], out: Result, store: Store, _target: Target
) -> Stmt:
    data, more = sources[0], len(sources[0].shape) - len(out.shape)
    shape = (*[1] * more, *out.shape)
    summed = [at for at, dim in enumerate(shape) if dim == 1 != data.shape[at]]

    def element(indices: Indices) -> Stmt:
        def added(total: PrimExpr, k: Indices) -> PrimExpr:
            inner = dict(zip(summed, k, strict=True))
            places = [
                inner[at] if at in inner else _kept(indices, at - more)
                for at in range(len(shape))
            ]
            return op.add(total, data.at(places))

        over = [data.shape[at] for at in summed]
        return accumulated(
            zero(out.dtype), over, added, lambda total: store(indices, total)
        )

    return nest(out.shape, element)


def _kept(indices: Indices, at: int) -> PrimExpr:
    return indices[at] if at >= 0 else op.const(0, "int32")
