"""Lowering rule of `scatter_elements`: the data is copied, and then written to."""

from __future__ import annotations

from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.index_maps import counted
from parpass.relay.backend.lowering.loops import nest
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Store,
    register_template,
)
from parpass.relay.op.declaration.type_relations import normal_axis
from parpass.relay.op.transform.scatter import ScatterElementsAttrs
from parpass.tir.stmt import Stmt, stmt_seq


@register_template("scatter_elements")
def _scatter_elements(call: OpCall[ScatterElementsAttrs], store: Store) -> Stmt:
    data, picked, updates = call.sources
    if call.attrs.reduction != "update":
        raise NoRuleError(f"elements combined by '{call.attrs.reduction}'")
    axis = normal_axis(call.attrs.axis, len(data.shape))

    def copy(indices: Indices) -> Stmt:
        return store(indices, data.at(indices))

    def write(indices: Indices) -> Stmt:
        place = counted(picked.at(indices), data.shape[axis])
        at = [*indices[:axis], place, *indices[axis + 1 :]]
        return store(at, updates.at(indices))

    return stmt_seq(
        elementwise_nest(data.shape, copy, call.target), nest(picked.shape, write)
    )
