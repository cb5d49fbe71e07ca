"""StorageRewrite: memory that is not in use at one time becomes one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, cast

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.operators.op_table import Op
from parpass.tir.arith import Analyzer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.op import add, const, maximum, multiply
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Allocate, AttrStmt, Evaluate, For, Stmt, Store
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.tir.transform.storage.linear_accesses import linear_accesses
from parpass.tir.transform.storage.sharing_plan import SharedMemory, SharingPlan
from parpass.tir.transform.storage.storage_scope import StorageScope, stored_bits
from parpass.tir.transform.storage.vector_memory import vectorized
from parpass.transform import PassContext, PassInfo, register_pass

_ALIGNMENT = 32  # of what is in one tagged memory, in bits
_INT32_MAX = 2**31 - 1


@register_pass("tir.transform.StorageRewrite")
class StorageRewrite(PrimFuncPass):
    """Have memory at the beginning, and use it again when it is not needed any more.

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
        """Return the function with less memory."""
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
