"""NarrowDataType: the bits that variables and indices need, and the rewrite."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from msgspec import structs

from parpass.ir.node import Node, children, reflection
from parpass.ir.op_table import Op
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import BufferLoad
from parpass.tir.data_type import data_type, int_range
from parpass.tir.expr import Broadcast, Call, Cast, Load, Ramp, Select, Var
from parpass.tir.iteration import IterVar, Range
from parpass.tir.op import (
    bitwise_and,
    cast_to,
    const,
    if_then_else,
    match_types,
    right_shift,
)
from parpass.tir.op.builders import OF_NUMBERS
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import AttrStmt, BufferStore, For, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtExprMutator, StmtVisitor
from parpass.tir.transform.ssa import convert_ssa

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
        """Record the bits that each part of an expression needs, by it and its users.

        Parts that are known to need as many are not visited again.
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


_CALLED: Mapping[str, Callable[..., PrimExpr]] = {
    "tir.if_then_else": if_then_else,
    "tir.shift_right": right_shift,
    "tir.bitwise_and": bitwise_and,
}


def narrowed(body: Stmt, target_bits: int) -> Stmt:
    """Return a statement with narrower indices; itself if there are none."""
    stmt = convert_ssa(body)  # where a variable is bound twice it has two ranges
    needed = BitsNeeded(target_bits)
    needed.visit(stmt)
    new = DataTypeRewriter(needed).visit_stmt(stmt)
    return body if new is stmt else new


class DataTypeRewriter(StmtExprMutator):
    """Narrows variables everywhere, and constants and casts in indices.

    Args:
        needed: What may be narrower.
    """

    def __init__(self, needed: BitsNeeded) -> None:
        super().__init__()
        self._needed = needed
        self._variables: dict[Var, Var] = {}
        self._in_index = False
        self._of_indices: dict[Node, Node] = {}  # what was visited in one

    def visit_default(self, expr: Node) -> Node:
        """Cast what was narrowed back; in arithmetic, to the wider of two dtypes."""
        fields = reflection(type(expr))
        old = fields.children(expr)
        new = [self.memo_map[child] for child in old]
        if all(one is other for one, other in zip(old, new, strict=True)):
            return expr
        found = _matched(expr, new)
        if found is not None:
            return found
        return fields.rebuild(expr, [*map(_restored, old, new)])

    def visit_var_(self, op: Var) -> Node:
        """Narrow a variable."""
        if op not in self._variables:
            dtype = self._needed.variable_dtype(op)
            narrowed = dtype != op.dtype
            self._variables[op] = structs.replace(op, dtype=dtype) if narrowed else op
        return self._variables[op]

    def visit_iter_var_(self, op: IterVar) -> Node:
        """Give an axis its variable, narrowed."""
        var = self.memo_map[op.var]
        return op if var is op.var else structs.replace(op, var=var)

    def visit_for_(self, op: For) -> Any:
        """Give a loop bounds of its variable's dtype."""
        var = yield from self.visit_child(op.loop_var)
        first = yield from self.visit_child(op.min)
        extent = yield from self.visit_child(op.extent)
        body = yield from self.visit_child(op.body)
        old, new = (op.loop_var, op.min, op.extent, op.body), (var, first, extent, body)
        if all(one is other for one, other in zip(old, new, strict=True)):
            return op
        first, extent = cast_to(first, var.dtype), cast_to(extent, var.dtype)
        return structs.replace(op, loop_var=var, min=first, extent=extent, body=body)

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Give an axis of threads an extent of its variable's dtype."""
        node: Any = op.node
        if node is not None:
            node = yield from self.visit_child(node)
        value = yield from self.visit_child(op.value)
        body = yield from self.visit_child(op.body)
        if node is op.node and value is op.value and body is op.body:
            return op
        dtype = op.value.dtype
        if isinstance(node, IterVar) and op.thread_axis is not None:
            dtype = node.var.dtype
        value = cast_to(value, dtype)
        return structs.replace(op, node=node, value=value, body=body)

    # -- indices

    def _index(self, expr: Any) -> Generator[Any, Any, Any]:
        """Return an index, which may be narrower than it was."""
        if self._in_index:
            return (yield expr)
        outside, self.memo_map = self.memo_map, self._of_indices
        self._in_index = True
        new = yield expr
        self._in_index = False
        self.memo_map = outside
        return new

    def visit_int_imm_(self, op: IntImm) -> Node:
        """Narrow a constant in an index."""
        return cast_to(op, self._needed.dtype_of(op)) if self._in_index else op

    def visit_cast_(self, op: Cast) -> Node:
        """Narrow what is cast in an index."""
        value: Any = self.memo_map[op.value]
        dtype = self._needed.dtype_of(op) if self._in_index else op.dtype
        if value is op.value and dtype == op.dtype:
            return op
        return cast_to(value, dtype)

    def visit_load_(self, op: Load) -> Any:
        """Narrow the index."""
        index = yield from self._index(op.index)
        predicate = yield from self.visit_child(op.predicate)
        if index is op.index and predicate is op.predicate:
            return op
        return structs.replace(op, index=index, predicate=predicate)

    def visit_buffer_load_(self, op: BufferLoad) -> Any:
        """Narrow the indices."""
        indices = yield from self._indices(op)
        return op if indices is op.indices else structs.replace(op, indices=indices)

    def _indices(self, op: Any) -> Generator[Any, Any, Any]:
        new: list[Any] = []
        for one in op.indices:
            index = yield from self._index(one)
            new.append(index)
        same = all(one is other for one, other in zip(new, op.indices, strict=True))
        return op.indices if same else tuple(new)

    def visit_store_(self, op: Store) -> Any:
        """Narrow the index, and keep the dtype of the value."""
        index = yield from self._index(op.index)
        value = _restored(op.value, (yield from self.visit_child(op.value)))
        predicate = yield from self.visit_child(op.predicate)
        if index is op.index and value is op.value and predicate is op.predicate:
            return op
        return structs.replace(op, index=index, value=value, predicate=predicate)

    def visit_buffer_store_(self, op: BufferStore) -> Any:
        """Narrow the indices, and keep the dtype of the value."""
        indices = yield from self._indices(op)
        value = _restored(op.value, (yield from self.visit_child(op.value)))
        if indices is op.indices and value is op.value:
            return op
        return structs.replace(op, indices=indices, value=value)


def _restored(old: Any, new: Any) -> Any:
    """Return what was rewritten in the dtype that it had."""
    if isinstance(old, PrimExpr) and isinstance(new, PrimExpr):
        return cast_to(new, old.dtype)
    return new


def _matched(expr: Node, new: list[Any]) -> PrimExpr | None:
    """Return arithmetic on operands of other dtypes; None for what is none."""
    if isinstance(expr, Call):
        name = expr.op.name if isinstance(expr.op, Op) else ""
        return _CALLED[name](*new[1:]) if name in _CALLED else None
    if isinstance(expr, Select):
        return Select(new[0], *match_types(new[1], new[2]))
    if isinstance(expr, Ramp):
        base, stride = match_types(*new)
        return Ramp(base, stride, expr.lanes)
    if isinstance(expr, Broadcast):
        return Broadcast(new[0], expr.lanes)
    # It brings its operands to one dtype, so that the value may be narrower, too.
    build = OF_NUMBERS.get(type(expr))
    return None if build is None else build(*new)
