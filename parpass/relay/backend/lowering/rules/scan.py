"""Sums and products of the elements so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.relay.backend.lowering.loops import allocated, nest, scratch
from parpass.relay.backend.lowering.places import unflat
from parpass.relay.backend.lowering.template import (
    Indices,
    Result,
    Source,
    Store,
    register_template,
)
from parpass.relay.op.declaration.relations import normal_axis
from parpass.relay.op.transform.scan import ScanopAttrs
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.buffer import BufferLoad
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq


def _register(name: str, first: int, step: Callable[[Any, Any], PrimExpr]) -> None:
    @register_template(name)
    def template(
        attrs: ScanopAttrs,
        sources: Sequence[Source],
        out: Result,
        store: Store,
        _target: Target,
    ) -> Stmt:
        (data,) = sources
        axis = 0 if attrs.axis is None else normal_axis(attrs.axis, len(out.shape))
        outer = [1 if at == axis else dim for at, dim in enumerate(out.shape)]

        def row(which: Indices) -> Stmt:
            known = scratch((1,), out.dtype, "sofar")
            so_far = BufferLoad(known, [0])

            def one(k: Indices) -> Stmt:
                place = [*which[:axis], k[0], *which[axis + 1 :]]
                old = unflat(k[0], data.shape) if attrs.axis is None else place
                more = op.cast_to(data.at(old), out.dtype)
                joined = BufferStore(known, step(so_far, more), [0])
                stored = store(place, so_far)
                parts = (stored, joined) if attrs.exclusive else (joined, stored)
                return stmt_seq(*parts)

            begin = BufferStore(known, op.const(first, out.dtype), [0])
            steps = nest((out.shape[axis],), one, "k")
            return allocated(known, stmt_seq(begin, steps))

        return nest(outer, row)


_register("cumsum", 0, op.add)
_register("cumprod", 1, op.multiply)
