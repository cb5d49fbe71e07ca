"""How many bits the variables of loops, and what indices are made of, need."""

from __future__ import annotations

from typing import Any

from parpass.ir.node import Node, children
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import BufferLoad
from parpass.tir.data_type import data_type, int_range
from parpass.tir.expr import Load, Var
from parpass.tir.iteration import Range
from parpass.tir.op import const
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import AttrStmt, For, Stmt
from parpass.tir.stmt_expr_functor import StmtVisitor

WIDEST = 64


class BitsNeeded(StmtVisitor):
    """Finds whether expressions, and all that they are part of, fit in some bits.

    Args:
        target_bits: How many.
    """

    def __init__(self, target_bits: int) -> None:
        super().__init__()
        self._target = target_bits
        self._values = int_range(f"int{target_bits}")
        self._analyzer = Analyzer()
        self._bits: dict[Node, int] = {}
        self._seen: dict[Node, int] = {}  # the same, by what is known of variables now
        self._extents: dict[Var, int] = {}  # of variables, the bits of their extents

    def dtype_of(self, expr: PrimExpr) -> str:
        """Return the dtype that a part of an index may have; it is never wider."""
        kind = data_type(expr.dtype)
        if kind.code != "int":
            return expr.dtype
        bits = min(kind.bits, self._bits.get(expr, self._target))
        return kind._replace(bits=bits).with_lanes(kind.lanes)

    def variable_dtype(self, var: Var) -> str:
        """Return the dtype that a variable of a loop may have, up to the extent's."""
        if var not in self._extents:
            return var.dtype
        bits = min(self._extents[var], self._bits[var])
        return data_type(var.dtype)._replace(bits=bits).element

    def visit_default(self, expr: Node) -> None:
        """Look at the expressions of a statement."""
        for child in children(expr):
            if not isinstance(child, Stmt):
                self._look(child)

    def visit_for_(self, op: For) -> Any:
        """Know the range of the variable, which has to fit."""
        self._bind(op.loop_var, op.min, op.extent)
        self.visit_default(op)
        yield from self.visit_children(op)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Know the range of an axis of threads."""
        axis = op.thread_axis
        if axis is not None:
            self._bind(axis.var, const(0, op.value.dtype), op.value)
        self._look(op.value)
        yield from self.visit_children(op)

    def _bind(self, var: Var, first: PrimExpr, extent: PrimExpr) -> None:
        rounds = Range.from_min_extent(first, extent)
        if var in self._extents:
            self._seen = {}
        self._analyzer.bind(var, rounds, allow_override=True)
        self._extents[var] = data_type(extent.dtype).bits
        self._bits[var] = max(map(self._own, (var, first, extent)))

    def _look(self, root: Node) -> None:
        """Give each part of an expression what it and all that it is in need.

        Parts that were seen to need as much are not gone into again.
        """
        bits, seen, target = self._bits, self._seen, self._target
        waiting = [(root, target)]
        while waiting:
            node, around = waiting.pop()
            found = max(around, self._own(node))
            if seen.get(node, 0) >= found:
                continue
            seen[node] = found
            bits[node] = max(bits.get(node, target), found)
            # What is loaded says nothing of where it is.
            within = target if isinstance(node, Load | BufferLoad) else found
            waiting += [(child, within) for child in children(node)]

    def _own(self, node: Node) -> int:
        """Return the bits that an expression needs by itself."""
        if not isinstance(node, PrimExpr):
            return self._target
        kind = data_type(node.dtype)
        if kind.code != "int" or kind.bits <= self._target:
            return self._target
        bound = self._analyzer.const_int_bound(node)
        fits = bound.min_value in self._values and bound.max_value in self._values
        return self._target if fits else WIDEST
