"""`create_prim_func`: the loops that compute tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from parpass.errors import ArgumentError, IRTypeError
from parpass.te.operation import ComputeOp, PlaceholderOp
from parpass.tir.expr import (
    Buffer,
    BufferLoad,
    PrimExpr,
    ProducerLoad,
    Reduce,
    Tensor,
    Var,
    decl_buffer,
    is_true,
)
from parpass.tir.expr_functor import ExprMutator, ExprVisitor
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import (
    Allocate,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    stmt_seq,
)
from parpass.tir.stmt_functor import substitute

_Results = dict[tuple[Any, int], Buffer]


def create_prim_func(ops: Sequence[Tensor]) -> PrimFunc:
    """Return the function that computes tensors, with a loop for each dimension.

    The function allocates memory for intermediate tensors.

    Args:
        ops: The parameters: input tensors and requested results, in any order.

    Raises:
        ArgumentError: A tensor is needed, but neither passed in nor computed.
        IRTypeError: A reduction is part of a larger expression.
    """
    buffers: _Results = {}
    for tensor in ops:
        buffers[tensor.op, tensor.value_index] = _buffer(tensor)
    given = dict(buffers)
    stages = list(_in_order([tensor.op for tensor in ops], given))
    between: list[Buffer] = []
    for op in stages:
        for index in range(op.num_outputs):
            if (op, index) not in buffers:
                buffers[op, index] = _buffer(op.output(index))
                between.append(buffers[op, index])
    body = stmt_seq(*(_stage(op, buffers) for op in stages))
    for buffer in reversed(between):
        body = Allocate(buffer.data, buffer.dtype, buffer.shape, None, body)
    params = [Var(buffer.name, "handle") for buffer in given.values()]
    return PrimFunc(
        params,
        body,
        buffer_map=dict(zip(params, given.values(), strict=True)),
        attrs={"global_symbol": "main", "tir.noalias": True},
    )


def _buffer(tensor: Tensor) -> Buffer:
    return decl_buffer(tensor.shape, tensor.dtype, tensor.name.replace(".", "_"))


class _Loads(ExprVisitor):
    """Collects the operations whose tensors an expression reads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Any, None] = {}

    def visit_producer_load_(self, op: ProducerLoad) -> None:
        self.found[op.producer.op] = None


def _in_order(wanted: Sequence[Any], given: _Results) -> Iterator[ComputeOp]:
    """Give the operations that compute, each after those whose tensors it reads."""
    done: set[Any] = set()
    waiting = [*reversed(wanted)]
    while waiting:
        op = waiting[-1]
        if isinstance(op, PlaceholderOp) and (op, 0) not in given:
            raise ArgumentError(
                f"expected tensor '{op.name}', which is read, among the parameters of "
                "create_prim_func"
            )
        loads = _Loads()
        for expr in op.body if isinstance(op, ComputeOp) and op not in done else ():
            loads.visit(expr)
        needed = [one for one in loads.found if one not in done]
        if needed:
            waiting += needed
            continue
        waiting.pop()
        if op not in done and isinstance(op, ComputeOp):
            yield op
        done.add(op)


class _FromBuffers(ExprMutator):
    """Has an expression read buffers in the places of tensors."""

    def __init__(self, buffers: Mapping[tuple[Any, int], Buffer]) -> None:
        super().__init__()
        self._buffers = buffers

    def visit_producer_load_(self, op: ProducerLoad) -> PrimExpr:
        tensor = op.producer
        indices = [cast("PrimExpr", self.visit(index)) for index in op.indices]
        buffer = self._buffers[tensor.op, tensor.value_index]
        return BufferLoad(buffer, indices, op.span)

    def visit_reduce_(self, op: Reduce) -> PrimExpr:
        raise IRTypeError(
            "expected te.compute to compute only the reduction, got a reduction within "
            "an expression; compute it separately first"
        )


def _stage(op: ComputeOp, buffers: _Results) -> Stmt:
    """Return the loops that compute the tensors of one operation."""
    into = [buffers[op, index] for index in range(op.num_outputs)]
    at = [axis.var for axis in op.axis]
    read = _FromBuffers(buffers)
    first = op.body[0]
    if isinstance(first, Reduce):
        inner = _reduction(first, into, at, read)
    else:
        values = [cast("PrimExpr", read.visit(value)) for value in op.body]
        stores = zip(into, values, strict=True)
        inner = stmt_seq(*(BufferStore(buffer, value, at) for buffer, value in stores))
    for axis in reversed(op.axis):
        inner = _loop(axis, inner)
    return inner


def _reduction(
    reduce: Reduce, into: Sequence[Buffer], at: Sequence[Var], read: _FromBuffers
) -> Stmt:
    """Return the stores of the first values, and the loops that put others to them."""
    combiner = reduce.combiner
    if combiner is None:
        raise IRTypeError("expected a combiner, by which a reduction puts two together")
    start = reduce.init or combiner.identity_element
    begin = [
        BufferStore(buffer, cast("PrimExpr", read.visit(value)), at)
        for buffer, value in zip(into, start, strict=True)
    ]
    values: dict[Var, PrimExpr] = {}
    for buffer, ours, theirs, source in zip(
        into, combiner.lhs, combiner.rhs, reduce.source, strict=True
    ):
        values[ours] = BufferLoad(buffer, at)
        values[theirs] = cast("PrimExpr", read.visit(source))
    results = [substitute(one, values) for one in combiner.result]
    update = _stored(into, at, results)
    if not is_true(reduce.condition):
        update = IfThenElse(cast("PrimExpr", read.visit(reduce.condition)), update)
    for axis in reversed(reduce.axis):
        update = _loop(axis, update)
    return stmt_seq(*begin, update)


def _stored(
    into: Sequence[Buffer], at: Sequence[Var], results: Sequence[PrimExpr]
) -> Stmt:
    """Return the stores of results that may read what they write."""
    if len(results) == 1:
        return BufferStore(into[0], results[0], at)
    names = [Var(f"v_{buffer.name}", buffer.dtype) for buffer in into]
    stores = [
        BufferStore(buffer, name, at) for buffer, name in zip(into, names, strict=True)
    ]
    stmt = stmt_seq(*stores)
    for name, result in zip(reversed(names), reversed(results), strict=True):
        stmt = LetStmt(name, result, stmt)
    return stmt


def _loop(axis: Any, body: Stmt) -> Stmt:
    return For(axis.var, axis.dom.min, axis.dom.extent, ForKind.SERIAL, body)
