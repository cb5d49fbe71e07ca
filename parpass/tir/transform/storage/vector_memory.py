"""Memory that is accessed by vectors of one length alone is memory of such vectors.

TVM's `PointerValueTypeRewrite`, as its StorageRewrite asks for it: of allocations, and
without other indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import structs

from parpass.ir.node import Node, breadth_first
from parpass.ir.operators.op_table import Op
from parpass.ir.types.prim_ty import PointerType, PrimType
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import stored_as
from parpass.tir.data_type import data_type
from parpass.tir.expr import Broadcast, Call, Load, Ramp, Var
from parpass.tir.op import const, indexdiv
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import Allocate, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtExprMutator


def vectorized(body: Stmt, analyzer: Analyzer) -> Stmt:
    """Return a program in which memory is of vectors where that can be."""
    nodes = breadth_first(body)
    lanes = _lanes(nodes, analyzer)
    wider = {
        var: Var(var.name, cast("str", _pointer(node, lanes[var])), var.span)
        for var, node in _allocations(nodes).items()
        if lanes.get(var, 0) > 1 and _divides(lanes[var], node.extents[-1], analyzer)
    }
    return cast("Stmt", _Widening(wider, lanes).visit(body)) if wider else body


def _allocations(nodes: list[Node]) -> dict[Var, Allocate]:
    return {
        node.buffer_var: node
        for node in nodes
        if isinstance(node, Allocate) and data_type(node.dtype).lanes == 1
    }


def _lanes(nodes: list[Node], analyzer: Analyzer) -> dict[Var, int]:
    """Return how many lanes each access of memory has; 0 where not all are alike."""
    allocated = _allocations(nodes)
    found: dict[Var, int] = {}
    for node in nodes:
        for var, dtype, index, predicate in _accesses(node):
            if var not in allocated:
                continue
            lanes = _whole_vector(index, predicate, analyzer)
            is_same = stored_as(data_type(dtype).element) == stored_as(
                allocated[var].dtype
            )
            found[var] = lanes if is_same and found.get(var, lanes) == lanes else 0
    return found


def _accesses(node: Any) -> Iterator[tuple[Any, str, PrimExpr, PrimExpr | None]]:
    """Yield which pointer a node accesses, as which dtype, where and whether."""
    if isinstance(node, Load):
        yield node.buffer_var, node.dtype, node.index, node.predicate
    elif isinstance(node, Store):
        yield node.buffer_var, node.value.dtype, node.index, node.predicate
    elif isinstance(node, Call) and node.op is Op.get("tir.tvm_access_ptr"):
        kind, data, offset = node.args[:3]
        yield data, kind.dtype, offset, None


def _whole_vector(
    index: PrimExpr, predicate: PrimExpr | None, analyzer: Analyzer
) -> int:
    """Return the lanes of an access to a vector among vectors; 1 of another one."""
    if isinstance(predicate, Broadcast):
        predicate = predicate.value
    is_whole = isinstance(predicate, IntImm) and predicate.value == 1
    if not (is_whole and isinstance(index, Ramp) and _is_one(index.stride)):
        return 1
    return index.lanes if _divides(index.lanes, index.base, analyzer) else 1


def _is_one(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 1


def _divides(lanes: int, expr: PrimExpr, analyzer: Analyzer) -> bool:
    found = analyzer.modular_set(expr)
    return found.coeff % lanes == 0 and found.base % lanes == 0


def _pointer(node: Allocate, lanes: int) -> PointerType:
    old = cast("PointerType", node.buffer_var.type_annotation)
    dtype = data_type(stored_as(node.dtype)).with_lanes(lanes)
    return PointerType(PrimType(dtype), old.storage_scope)


class _Widening(StmtExprMutator):
    """Gives pointers their new types."""

    def __init__(self, new: dict[Var, Var], lanes: dict[Var, int]) -> None:
        super().__init__()
        self._new, self._lanes = new, lanes

    def visit_var_(self, op: Var) -> Node:
        return self._new.get(op, op)

    def visit_allocate_(self, op: Allocate) -> Any:
        body = yield from self.visit_child(op.body)
        var = self._new.get(op.buffer_var)
        if var is None:
            return op if body is op.body else structs.replace(op, body=body)
        lanes = self._lanes[op.buffer_var]
        *rest, last = op.extents
        extents = (*rest, indexdiv(last, const(lanes, last.dtype)))
        dtype = data_type(stored_as(op.dtype)).with_lanes(lanes)
        return Allocate(
            *(var, dtype, extents, op.condition, body, op.annotations, op.span)
        )
