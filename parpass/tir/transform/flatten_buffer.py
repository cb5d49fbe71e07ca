"""FlattenBuffer, StorageFlatten: elements by their place in memory, not by indices."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, BufferLoad, Cast, IntImm, PrimExpr, decl_buffer
from parpass.tir.expr.buffer import stored_as
from parpass.tir.function import PrimFunc
from parpass.tir.op import multiply, subtract
from parpass.tir.pointer import vload, vstore
from parpass.tir.stmt import Allocate, AttrStmt, BufferRealize, BufferStore, Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass


@register_pass("tir.transform.FlattenBuffer")
class FlattenBuffer(PrimFuncPass):
    """Lower multi-dimensional buffer accesses to loads and stores of flat memory.

    ::

        B[i, j] = A[i, j] + 1      # of shape (4, 8)

    becomes::

        B[i * 8 + j] = A[i * 8 + j] + 1

    Realized buffers become allocated memory. Bools are stored as bytes.
    """

    pass_info = PassInfo(0, "tir.FlattenBuffer")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without accesses by indices."""
        return func.with_body(flattened(func.body))


@register_pass("tir.transform.StorageFlatten")
class StorageFlatten(PrimFuncPass):
    """Flatten buffers like FlattenBuffer, and record the size of their memory.

    The recorded size is what `InstrumentBoundCheckers` checks against.

    ::

        B[i, j] = A[i, j] + 1      # of shape (4, 8)

    becomes, with `create_bound_attribute`::

        attr buffer_bound(A) = 32:
            attr buffer_bound(B) = 32:
                B[i * 8 + j] = A[i * 8 + j] + 1

    Args:
        cache_line_size: The bytes fetched at once; unused, since there are no
            prefetches here.
        create_bound_attribute: Whether to record the size of the parameters' memory.
    """

    pass_info = PassInfo(0, "tir.StorageFlatten")
    cacheable = True

    def __init__(
        self,
        cache_line_size: int = 64,
        create_bound_attribute: bool = False,
    ) -> None:
        self.cache_line_size = cache_line_size
        self.create_bound_attribute = create_bound_attribute

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without accesses by indices."""
        body = flattened(func.body)
        if self.create_bound_attribute:
            for buffer in reversed(list(func.buffer_map.values())):
                body = AttrStmt(buffer.data, "buffer_bound", _elements(buffer), body)
        return func.with_body(body)


def flattened(body: Stmt) -> Stmt:
    """Return a statement without accesses by indices."""
    new = BufferFlattener().visit(body)
    assert isinstance(new, Stmt)
    return new


class BufferFlattener(StmtExprMutator):
    """Rewrites accesses of buffers."""

    def __init__(self) -> None:
        super().__init__()
        # For what is realized: the memory it gets, and where its region begins.
        self._regions: dict[Buffer, tuple[Buffer, tuple[PrimExpr, ...]]] = {}

    def visit_buffer_load_(self, op: BufferLoad) -> Node:
        """Load from the element's place."""
        buffer, indices = self._place(op)
        if op.dtype == "bool":
            return Cast("bool", vload(_bytes(buffer), indices, "int8"))
        return vload(buffer, indices, op.dtype)

    def visit_buffer_store_(self, op: BufferStore) -> Node:
        """Store in the element's place."""
        buffer, indices = self._place(op)
        value: Any = self.visit(op.value)
        if value.dtype == "bool":
            buffer, value = _bytes(buffer), Cast("int8", value)
        return structs.replace(vstore(buffer, indices, value), span=op.span)

    def visit_buffer_realize_(self, op: BufferRealize) -> Any:
        """Allocate the memory of a region."""
        buffer, extents = op.buffer, tuple(one.extent for one in op.bounds)
        region = decl_buffer(extents, buffer.dtype, buffer.name, buffer.data)
        self._regions[buffer] = region, tuple(one.min for one in op.bounds)
        condition = yield from self.visit_child(op.condition)
        body = yield from self.visit_child(op.body)
        dtype = stored_as(buffer.dtype)
        of_one = extents or (IntImm("int32", 1),)
        return Allocate(buffer.data, dtype, of_one, condition, body, None, op.span)

    def _place(self, op: Any) -> tuple[Buffer, list[Any]]:
        indices: list[Any] = [self.visit(one) for one in op.indices]
        buffer, begin = self._regions.get(op.buffer, (op.buffer, ()))
        for at, first in enumerate(begin):
            indices[at] = subtract(indices[at], first)
        return buffer, indices


def _bytes(buffer: Buffer) -> Buffer:
    """Return a buffer of bools as one of the bytes that they are."""
    return Buffer(
        buffer.data,
        "int8",
        buffer.shape,
        buffer.strides,
        buffer.elem_offset,
        buffer.name,
    )


def _elements(buffer: Buffer) -> PrimExpr:
    lanes = data_type(buffer.dtype).lanes
    found: PrimExpr = IntImm(buffer.index_dtype, lanes)
    for dim in buffer.shape:
        found = multiply(found, dim)
    return found
