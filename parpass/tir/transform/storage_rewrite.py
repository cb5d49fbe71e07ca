"""Memory that is accessed by vectors of one length alone is memory of such vectors.

TVM's `PointerValueTypeRewrite`, as its StorageRewrite asks for it: of allocations, and
without other indices.

StorageRewrite: memory that is not in use at one time becomes one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node, breadth_first
from parpass.ir.op_table import Op
from parpass.ir.types import PointerType, PrimType
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import stored_as
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Load, Ramp, Var, constant_int, is_true
from parpass.tir.function import PrimFunc
from parpass.tir.op import add, const, indexdiv, maximum, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Allocate, AttrStmt, Evaluate, For, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.linear_accesses import (
    StorageScope,
    linear_accesses,
    stored_bits,
)
from parpass.tir.transform.ssa import convert_ssa
from parpass.tir.transform.storage_plan import SharedMemory, SharingPlan
from parpass.transform import PassContext, PassInfo, register_pass


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
    """Return the lanes of an access to a whole vector in memory; else 1."""
    if not (isinstance(index, Ramp) and is_true(predicate)):
        return 1
    if constant_int(index.stride) != 1:
        return 1
    return index.lanes if _divides(index.lanes, index.base, analyzer) else 1


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


_ALIGNMENT = 32  # of what is in one tagged memory, in bits
_INT32_MAX = 2**31 - 1


@register_pass("tir.transform.StorageRewrite")
class StorageRewrite(PrimFuncPass):
    """Move allocations to the beginning, and reuse memory that is not needed any more.

    ::

        for i in range(0, n):
            allocate X[8]
            allocate Y[8]
            for j in range(0, 8): X[j] = A[i * 8 + j]
            for j in range(0, 8): Y[j] = X[j] * X[j]
            for j in range(0, 8): B[i * 8 + j] = Y[j]

    becomes::

        allocate X[8]
        for i in range(0, n):
            for j in range(0, 8): X[j] = A[i * 8 + j]
            for j in range(0, 8): X[j] = X[j] * X[j]
            for j in range(0, 8): B[i * 8 + j] = X[j]

    A statement is computed in the place of what it is the last one to read, if each
    element depends on the one of its own index alone, and is written once. Memory of a
    parallel loop is in its body. Memory of one tag, `local.cache`, is one allocation,
    of which all are parts. What is accessed by vectors of one length alone becomes
    memory of such vectors.

    Elements are to be accessed by `Load` and `Store` (see `FlattenBuffer`); where they
    are not, and where a size is found inside of a loop only, memory stays where it is.
    What nothing accesses goes. Sizes are taken not to be negative where the memory is
    not used, and registered limits of tagged memory, which TVM asks for, not to exist.
    """

    pass_info = PassInfo(0, "tir.StorageRewrite")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with less memory.

        Raises:
            SizeLimitError: It has statements at too many places.
        """
        if not any(isinstance(one, Allocate) for one in breadth_first(func.body)):
            return func
        body = convert_ssa(func.body)
        accesses = linear_accesses(body)
        if not accesses.allocations:
            return func
        analyzer = Analyzer()
        plan = SharingPlan(accesses, analyzer)
        attached = _attached(plan, analyzer)
        planned = set(accesses.allocations)
        body = StorageRewriter(plan, planned, attached).rewritten(body)
        return func.with_body(vectorized(body, analyzer))


Attached = dict[Stmt | None, list[Allocate]]  # what is allocated where


def _attached(plan: SharingPlan, analyzer: Analyzer) -> Attached:
    """Return the new allocations by where they are, with no body yet."""
    groups: dict[Stmt | None, list[SharedMemory]] = defaultdict(list)
    for memory in plan.order:
        groups[memory.parallel].append(memory)
    found: Attached = {}
    for place, group in groups.items():
        parts: dict[SharedMemory, list[SharedMemory]] = {}
        tagged: dict[StorageScope, SharedMemory] = {}
        for memory in group:
            whole = memory
            if memory.scope.is_tagged and memory.bits:
                whole = tagged.setdefault(memory.scope, memory)
            parts.setdefault(whole, [])
            if whole is not memory:
                parts[whole].append(memory)
        found[place] = [
            _of_parts(first, rest) if rest else _of_one(first, analyzer)
            for first, rest in parts.items()
        ]
    return found


def _of_one(memory: SharedMemory, analyzer: Analyzer) -> Allocate:
    """Return the allocation of memory that is as large as what needs most of it."""
    first = memory.allocations[0]
    memory.var = first.buffer_var
    if memory.bits:
        return _allocate(first, -(-memory.bits // stored_bits(first.dtype)))
    size: PrimExpr | None = None
    for node in memory.allocations:
        count: PrimExpr = const(1)
        for extent in node.extents:
            count = multiply(count, extent)
        size = count if size is None else maximum(size, count)
    return _allocate(first, analyzer.simplify(size))


def _of_parts(first: SharedMemory, rest: list[SharedMemory]) -> Allocate:
    """Return the allocation of memory of one tag; say where in it each part is."""
    node, end = first.allocations[0], first.bits
    first.var = node.buffer_var
    for part in rest:
        widths = [stored_bits(one.dtype) for one in part.allocations]
        part.offset = _rounded(end, max(_ALIGNMENT, *widths))
        part.var, end = first.var, part.offset + part.bits
    bits = stored_bits(node.dtype)
    return _allocate(node, -(-_rounded(end, _ALIGNMENT) // bits))


def _allocate(node: Allocate, size: PrimExpr | int) -> Allocate:
    if isinstance(size, int):
        dtype = node.extents[0].dtype if node.extents else "int32"
        size = const(size, "int64" if size > _INT32_MAX else dtype)
    return structs.replace(node, extents=(size,), body=Evaluate(0))


def _rounded(bits: int, to: int) -> int:
    return -(-bits // to) * to


class StorageRewriter(StmtExprMutator):
    """Puts accesses and allocations where a plan has them."""

    def __init__(
        self, plan: SharingPlan, planned: Collection[Var], attached: Attached
    ) -> None:
        super().__init__()
        self._memory, self._planned = plan.memory, planned
        self._attached = attached

    def rewritten(self, body: Stmt) -> Stmt:
        """Return a function's body, with its memory."""
        return self._with_memory(None, cast("Stmt", self.visit(body)))

    def visit_var_(self, op: Var) -> Node:
        """Return the pointer to the memory."""
        memory = self._memory.get(op)
        return op if memory is None or memory.var is None else memory.var

    def visit_load_(self, op: Load) -> Node:
        """Load from the part of the memory."""
        return self._moved(op, op.dtype)

    def visit_store_(self, op: Store) -> Node:
        """Store to the part of the memory."""
        return self._moved(op, op.value.dtype)

    def _moved(self, op: Load | Store, dtype: str) -> Node:
        new: Any = self.visit_default(op)
        memory = self._memory.get(op.buffer_var)
        if memory is None or not memory.offset:
            return new
        first = memory.offset // stored_bits(data_type(dtype).element)
        return structs.replace(new, index=add(const(first, new.index.dtype), new.index))

    def visit_call_(self, op: Call) -> Node:
        """Point to the part of the memory."""
        new: Any = self.visit_default(op)
        if op.op is not Op.get("tir.tvm_access_ptr"):
            return new
        memory = self._memory.get(cast("Var", op.args[1]))
        if memory is None or not memory.offset:
            return new
        first = memory.offset // stored_bits(op.args[0].dtype)
        kind, data, offset, *rest = new.args
        offset = add(const(first, offset.dtype), offset)
        return structs.replace(new, args=(kind, data, offset, *rest))

    def visit_allocate_(self, op: Allocate) -> Any:
        """Return the body, if the memory is somewhere else."""
        if op.buffer_var in self._planned:
            return (yield from self.visit_child(op.body))
        return (yield from self.visit_children(op))

    def visit_for_(self, op: For) -> Any:
        """Allocate what each round has for itself."""
        return self._with_inner(op, (yield from self.visit_children(op)))

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Do so for threads; forget attributes of memory that is gone."""
        if op.node in self._planned and op.node not in self._memory:
            return (yield from self.visit_child(op.body))
        return self._with_inner(op, (yield from self.visit_children(op)))

    def _with_inner(self, op: Stmt, new: Any) -> Stmt:
        if op not in self._attached:
            return new
        return structs.replace(new, body=self._with_memory(op, new.body))

    def _with_memory(self, place: Stmt | None, body: Stmt) -> Stmt:
        for node in reversed(self._attached.get(place, [])):
            body = structs.replace(node, body=body)
        return body
