"""The input of a convolution as flat memory, with its padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parpass.relay.backend.lowering.template import Indices, Source
from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    flat,
    index,
    looped,
    vectorized,
)
from parpass.relay.backend.lowering.templates.flat_operands import is_flat
from parpass.tir.expr import Var
from parpass.tir.op import add, const
from parpass.tir.prim_expr import PrimExpr
from parpass.tir.stmt import Stmt, stmt_seq


class FlatInput(NamedTuple):
    """Channels of one image in memory.

    Attributes:
        data: Where they are.
        dtype: That of the elements.
        shape: Blocks of channels, height, width, and the channels of a block.
        begin: Where they begin.
    """

    data: Var
    dtype: str
    shape: tuple[int, int, int, int]
    begin: PrimExpr

    def place(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the place of an element."""
        return add(self.begin, flat(indices, self.shape))


def in_blocks(source: Source) -> Source:
    """Return images in NCHW as images in blocks of one channel."""
    if len(source.shape) == 5:
        return source

    def at(indices: Indices) -> PrimExpr:
        return source.at(indices[:-1])

    return source._replace(shape=(*source.shape, 1), at=at)


def with_input(
    source: Source,
    image: PrimExpr,
    padding: tuple[tuple[int, int], tuple[int, int]] | None,
    lanes: int,
    body: Callable[[FlatInput], Stmt],
) -> Stmt:
    """Return a statement that has the channels of one image in memory.

    What is padded, or computed from something else, is copied to memory of its own.

    Args:
        source: The images: blocks of channels, height, width, channels of a block.
        image: Which image.
        padding: How many zeros are before and behind height and width; negative where
            the ends of an image are not looked at. None to leave the image as it is.
        lanes: How many elements are copied at once.
        body: What is to be done with them.
    """
    blocks, height, width, block = source.shape[1:]
    if padding is None and is_flat(source):
        assert source.buffer is not None
        shape = (blocks, height, width, block)
        begin = flat((image, *[index(0)] * 4), source.shape)
        return body(FlatInput(source.buffer.data, source.dtype, shape, begin))
    (top, bottom), (left, right) = padding or ((0, 0), (0, 0))
    shape = (blocks, top + height + bottom, left + width + right, block)
    memory = Memory("padded", source.dtype, shape)
    found = FlatInput(memory.data, source.dtype, shape, index(0))
    rows = _Rows(source, image, found, memory, lanes, (left, right))
    seen = min(height, height + bottom)
    copied = looped(
        "copied.channel",
        blocks,
        lambda channel: stmt_seq(
            *rows.zeros(channel, 0, top),
            looped("copied.row", seen, lambda row: rows.copied(channel, row, top)),
            *rows.zeros(channel, top + seen, max(bottom, 0)),
        ),
    )
    return memory.within(stmt_seq(copied, body(found)))


class _Rows(NamedTuple):
    source: Source
    image: PrimExpr
    into: FlatInput
    memory: Memory
    lanes: int
    sides: tuple[int, int]

    def zeros(self, channel: PrimExpr, first: int, count: int) -> list[Stmt]:
        """Return what makes rows zero."""
        begin = self.into.place((channel, index(first), index(0), index(0)))
        return self._zeros(begin, count * self.into.shape[2] * self.into.shape[3])

    def _zeros(self, begin: PrimExpr, count: int) -> list[Stmt]:
        if count <= 0:
            return []
        zero = const(0, self.into.dtype)
        store = self.memory.store
        return [
            vectorized(
                "zero", count, self.lanes, lambda at: store(add(begin, at), zero)
            )
        ]

    def copied(self, channel: PrimExpr, row: PrimExpr, top: int) -> Stmt:
        """Return what copies a row, with zeros at its sides."""
        block = self.into.shape[3]
        left, right = self.sides
        seen = self.source.shape[3] + min(right, 0)
        begin = self.into.place((channel, add(row, index(top)), index(0), index(0)))
        from_left = add(begin, index(left * block))
        behind = add(begin, index((left + seen) * block))

        def one(at: PrimExpr, lane: PrimExpr) -> Stmt:
            place = add(from_left, flat((at, lane), (seen, block)))
            indices = (self.image, channel, row, at, lane)
            return self.memory.store(place, self.source.at(indices))

        if block == 1:
            copy = vectorized("column", seen, self.lanes, lambda at: one(at, index(0)))
        else:
            copy = looped(
                "column",
                seen,
                lambda at: vectorized("lane", block, self.lanes, lambda c: one(at, c)),
            )
        return stmt_seq(
            *self._zeros(begin, left * block), copy, *self._zeros(behind, right * block)
        )
