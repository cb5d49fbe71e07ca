"""Loops and flat memory accesses of templates, with indices of 64 bits.

An index of 32 bits may wrap around, so LLVM must not hoist `i + 1` out of it into the
address; with 64 bits it may. `suits_vectors` selects the operands that templates take:
floats that are contiguous in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from parpass.ir.types import PointerType, PrimType
from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.loops import allocated, scratch
from parpass.relay.backend.lowering.rule_registry import Indices, OpCall, Source
from parpass.relay.backend.lowering.sources import loaded as loaded_from
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, IntImm, Load, PrimExpr, Ramp, Var
from parpass.tir.op import add, const, multiply
from parpass.tir.stmt import (
    Allocate,
    BufferStore,
    For,
    ForKind,
    LetStmt,
    Stmt,
    Store,
    stmt_seq,
)

INDEX = "int64"


def index(value: int) -> IntImm:
    """Return a constant index."""
    return IntImm(INDEX, value)


def looped(
    name: str,
    extent: int | PrimExpr,
    body: Callable[[PrimExpr], Stmt],
    kind: ForKind = ForKind.SERIAL,
) -> Stmt:
    """Return a loop over 0 to below `extent`; of one round, that round alone."""
    if isinstance(extent, int) and extent == 1:
        return body(index(0))
    var = Var(name, INDEX)
    end = index(extent) if isinstance(extent, int) else extent
    return For(var, index(0), end, kind, body(var))


def nested(
    names: Iterable[str],
    extents: Iterable[int | PrimExpr],
    body: Callable[[tuple[PrimExpr, ...]], Stmt],
) -> Stmt:
    """Return loops in each other, the first one outermost."""
    pairs = list(zip(names, extents, strict=True))

    def inside(depth: int, outer: tuple[PrimExpr, ...]) -> Stmt:
        if depth == len(pairs):
            return body(outer)
        return looped(*pairs[depth], lambda at: inside(depth + 1, (*outer, at)))

    return inside(0, ())


def in_chunks(
    name: str, extent: int, size: int, body: Callable[[PrimExpr, int], Stmt]
) -> Stmt:
    """Return a loop over chunks, and the rest behind it as a chunk of its own.

    Args:
        name: The loop's name.
        extent: How many there are.
        size: How many are a chunk.
        body: Given where a chunk begins, and how many it has.
    """
    whole, rest = divmod(extent, size)
    parts: list[Stmt] = []
    if whole:
        parts.append(looped(name, whole, lambda at: body(multiply(at, size), size)))
    if rest:
        parts.append(body(index(whole * size), rest))
    return stmt_seq(*parts)


def vectorized(
    name: str, extent: int, lanes: int, body: Callable[[PrimExpr], Stmt]
) -> Stmt:
    """Return a loop whose rounds run `lanes` at once, and a shorter vector behind."""
    return in_chunks(
        name,
        extent,
        lanes,
        lambda begin, count: looped(
            name,
            count,
            lambda lane: body(add(begin, lane)),
            ForKind.VECTORIZED,
        ),
    )


def flat(indices: Iterable[PrimExpr], shape: Iterable[int]) -> PrimExpr:
    """Return the number of an element in memory, by its indices."""
    found: PrimExpr = index(0)
    for at, length in zip(indices, shape, strict=True):
        found = add(multiply(found, index(length)), at)
    return found


def ramp(base: PrimExpr, lanes: int, stride: int = 1) -> PrimExpr:
    """Return the indices of elements in equal steps; of one, its index."""
    return base if lanes == 1 else Ramp(base, const(stride, base.dtype), lanes)


def vector(dtype: str, lanes: int) -> str:
    """Return the dtype of so many lanes."""
    return data_type(dtype).with_lanes(lanes)


def bound(name: str, value: PrimExpr, body: Callable[[Var], Stmt]) -> Stmt:
    """Return a statement in which a value has a name, so it is computed once."""
    var = Var(name, value.dtype)
    return LetStmt(var, value, body(var))


def bound_all(
    name: str,
    values: Sequence[PrimExpr],
    body: Callable[[list[PrimExpr]], Stmt],
) -> Stmt:
    """Return a statement in which values have names."""
    names: list[PrimExpr] = [Var(name, value.dtype) for value in values]
    stmt = body(names)
    for var, value in zip(reversed(names), reversed(values), strict=True):
        assert isinstance(var, Var)
        stmt = LetStmt(var, value, stmt)
    return stmt


class Memory:
    """Memory that a kernel has for itself.

    Args:
        name: For readers.
        dtype: That of the elements.
        shape: The length of each dimension.
    """

    def __init__(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        self.data = Var(name, PointerType(PrimType(dtype)))  # type: ignore[arg-type]
        self.dtype = dtype
        self.shape = shape

    def load(self, at: PrimExpr, lanes: int = 1) -> Load:
        """Return neighbours, from an element on."""
        return Load(vector(self.dtype, lanes), self.data, ramp(at, lanes))

    def store(self, at: PrimExpr, value: PrimExpr) -> Store:
        """Return what puts a value at an element, a vector at neighbours."""
        lanes = data_type(value.dtype).lanes
        return Store(self.data, value, ramp(at, lanes))

    def within(self, body: Stmt) -> Stmt:
        """Return a statement that has this memory."""
        extents = [index(length) for length in self.shape]
        return Allocate(self.data, self.dtype, extents, None, body)  # type: ignore[arg-type]


def suits_vectors(call: OpCall[Any]) -> bool:
    """Return whether all is float32, or all float64, and nothing is empty."""
    return _is_all_of(call, {"float32", "float64"})


def suits_products(call: OpCall[Any]) -> bool:
    """Return whether it `suits_vectors`, or all is int32, as in quantized networks."""
    return _is_all_of(call, {"float32", "float64", "int32"})


def _is_all_of(call: OpCall[Any], known: set[str]) -> bool:
    tensors = (call.out, *call.sources)
    dtypes = {one.dtype for one in tensors}
    lengths = [dim for one in tensors for dim in one.shape]
    return len(dtypes) == 1 and dtypes <= known and all(lengths)


def is_flat(source: Source) -> bool:
    """Return whether an operand is in memory as it is, element after element."""
    buffer = source.buffer
    if buffer is None or buffer.strides or buffer.dtype != source.dtype:
        return False
    return getattr(buffer.elem_offset, "value", None) == 0


def in_memory(
    call: OpCall[Any],
    body: Callable[[OpCall[Any]], Stmt],
    wanted: Container[int] | None = None,
) -> Stmt:
    """Return a statement with the operands of a call in memory, element after element.

    An operand that is computed before the call is computed once, not wherever it is
    read.

    Args:
        call: The call.
        body: What is done with the call of operands in memory.
        wanted: Which operands are to be there, by number; None for all.
    """
    sources: list[Source] = []
    parts: list[Stmt] = []
    buffers: list[Buffer] = []
    for at, source in enumerate(call.sources):
        if is_flat(source) or (wanted is not None and at not in wanted):
            sources.append(source)
            continue
        buffer = scratch(source.shape, source.dtype, f"operand{at}")

        def one(
            indices: Indices, source: Source = source, buffer: Buffer = buffer
        ) -> Stmt:
            return BufferStore(buffer, source.at(indices), indices)

        parts.append(elementwise_nest(source.shape, one, call.target))
        sources.append(loaded_from(buffer))
        buffers.append(buffer)
    stmt = stmt_seq(*parts, body(call._replace(sources=sources)))
    for buffer in reversed(buffers):
        stmt = allocated(buffer, stmt)
    return stmt
