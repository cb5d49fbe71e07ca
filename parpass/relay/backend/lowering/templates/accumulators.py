"""Vector accumulators that stay in registers, and the size of a register tile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parpass.relay.backend.lowering.templates.flat_loops import (
    Memory,
    bound,
    bound_all,
    index,
    looped,
    ramp,
    vector,
)
from parpass.tir.data_type import data_type
from parpass.tir.expr import Broadcast, Call, Load, PrimExpr, Shuffle, Var
from parpass.tir.op import add, const, less, multiply
from parpass.tir.stmt import ForKind, Stmt, Store, stmt_seq

_WIDEST = 8  # vectors of the second factor that are read at once
_LATENCY = 8  # products under way at once: two ports, four cycles each


class Tile(NamedTuple):
    """Results that are computed at once.

    Attributes:
        rows: How many scalars, such as pixels, each is multiplied with.
        columns: How many vectors there are.
    """

    rows: int
    columns: int


@functools.lru_cache(maxsize=1024)
def best_tile(
    rows: int,
    columns: int,
    registers: int,
    per_vector: int = 1,
    *,
    last_is_shorter: bool = False,
    phases: int = 1,
) -> Tile:
    """Return the tile by which all results take the fewest steps.

    A step of a tile reads each of its vectors and scalars once, and has a product for
    each pair. Two of either are done at once. What the rows of a tile leave over is a
    tile of its own, and so are vectors of which the last one is shorter than others.

    The code of each tile is written out, result by result, and LLVM takes as long as
    that is. So all tiles together have no more results than there are registers: that
    halves the text of many convolutions, and takes at most a twentieth more steps.

    Args:
        rows: How many rows there are.
        columns: How many vectors there are; the tile's divide them.
        registers: How many registers the target has.
        per_vector: How many of them a vector takes.
        last_is_shorter: Whether the last vector has fewer lanes than the others.
        phases: How many results there are for each pair, one after the other.
    """

    def written(some: int, wide: int) -> int:
        kinds = 2 if last_is_shorter and wide < columns else 1
        return (some + rows % some) * wide * kinds * per_vector * phases

    found = [
        (
            _steps(rows, columns, Tile(some, wide), per_vector, phases),
            -some * wide,
            some,
        )
        for wide in range(1, columns + 1)
        if columns % wide == 0
        for some in range(1, rows + 1)
        if some * wide == 1
        or (
            (some * wide * phases + wide + 1) * per_vector < registers
            and written(some, wide) <= registers
        )
    ]
    _, size, some = min(found)
    return Tile(some, -size // some)


def lanes_tile(rows: int, columns: int, registers: int) -> Tile:
    """Return the tile with the fewest reads for a product, where lanes are summed up.

    Args:
        rows: How many vectors of the first factor there are.
        columns: How many there are of the second one.
        registers: How many registers the target has.
    """
    found = [
        (-high * wide / (high + wide), -wide, high)
        for high in range(1, min(rows, registers) + 1)
        for wide in range(1, min(columns, _WIDEST) + 1)
        if high * wide + wide + 1 < registers
    ]
    _, wide, high = min(found)
    return Tile(high, -wide)


def _steps(rows: int, columns: int, tile: Tile, per_vector: int, phases: int) -> float:
    whole, rest = divmod(rows, tile.rows)
    parts = whole * _step(tile.rows, tile.columns, per_vector, phases)
    if rest:  # more code
        parts += _step(rest, tile.columns, per_vector, phases) + 0.5
    return parts * (columns // tile.columns)


def _step(rows: int, columns: int, per_vector: int, phases: int) -> float:
    products = rows * columns * per_vector
    # A scalar that is used once is read by the product itself.
    reads = rows + columns * per_vector
    return max(products * phases, reads * phases, _LATENCY) + 1


class Accumulators:
    """Sums of vectors, which are registers in machine code.

    They are memory here, at places that are constants: LLVM makes values of it.

    Args:
        count: How many vectors there are.
        lanes: The lanes of each.
        dtype: That of a lane.
    """

    def __init__(self, count: int, lanes: int, dtype: str) -> None:
        self.count, self.lanes, self.dtype = count, lanes, dtype
        self._memory = Memory("sums", dtype, (count * lanes,))

    def __getitem__(self, at: int) -> Load:
        return self._memory.load(index(at * self.lanes), self.lanes)

    def set(self, at: int, value: PrimExpr) -> Store:
        """Return what gives one a value."""
        return self._memory.store(index(at * self.lanes), value)

    def cleared(self, count: int, value: float = 0) -> Stmt:
        """Return what gives the first ones a constant."""
        start = repeated(const(value, self.dtype), self.lanes)
        return stmt_seq(*(self.set(at, start) for at in range(count)))

    def add_product(self, at: int, a: PrimExpr, b: PrimExpr) -> Store:
        """Return what adds a product of two vectors to one, rounded once or twice.

        Of vectors of twice as many lanes two products, of neighbours, go to a lane.
        """
        total = self[at]
        if data_type(a.dtype).lanes > self.lanes:
            return self.set(at, add(total, Call(total.dtype, "dot_pairs", (a, b))))
        if not data_type(self.dtype).is_floating:
            return self.set(at, add(total, multiply(a, b)))
        return self.set(at, Call(total.dtype, "fma", (a, b, total)))

    def add_outer_product(
        self, scalars: Sequence[PrimExpr], vectors: Sequence[PrimExpr], begin: int = 0
    ) -> Stmt:
        """Return what adds the product of each of the first and each vector to a sum.

        The sums of one of the first, a scalar or a vector, are next to each other.

        Args:
            scalars: The first factors.
            vectors: The second ones.
            begin: The first of these sums.
        """

        def products(names: list[PrimExpr]) -> Stmt:
            return stmt_seq(*(of_one(*one, names) for one in enumerate(scalars)))

        def of_one(row: int, scalar: PrimExpr, names: list[PrimExpr]) -> Stmt:
            first = begin + row * len(vectors)
            return bound(
                "scalar",
                repeated(scalar, self.lanes),
                lambda value: stmt_seq(
                    *(
                        self.add_product(first + at, value, name)
                        for at, name in enumerate(names)
                    )
                ),
            )

        return bound_all("vector", vectors, products)

    def add_lanes(self, begin: int, count: int) -> Stmt:
        """Return what adds up the lanes of some neighbours, by themselves.

        The totals are the first lanes of these sums, one after the other. Two vectors
        become one in each step, which has half as many lanes of each sum.

        Args:
            begin: The first of these sums.
            count: How many there are.
        """

        def added(vectors: Sequence[PrimExpr], each: int) -> Stmt:
            if each == 1:
                pairs = enumerate(vectors, begin)
                return stmt_seq(*(self.set(at, one) for at, one in pairs))
            found: list[PrimExpr] = []
            for at in range(0, len(vectors), 2):
                pair = vectors[at : at + 2]
                lanes = range(len(pair) * self.lanes)
                halves = (
                    [lane for lane in lanes if lane % each // (each // 2) == half]
                    for half in (0, 1)
                )
                # What there is no second one for has its own lanes in that place.
                low, high = (
                    Shuffle((*pair,), (*map(index, (half * 2)[: self.lanes]),))
                    for half in halves
                )
                found.append(add(low, high))
            return bound_all("added", found, lambda names: added(names, each // 2))

        return added([self[begin + at] for at in range(count)], self.lanes)

    def interleave(self, places: Sequence[int]) -> Stmt:
        """Return what puts the lanes of some by turns, a lane of each.

        The first of them has the first lanes then.
        """
        numbers = [
            which * self.lanes + lane
            for lane in range(self.lanes)
            for which in range(len(places))
        ]

        def mixed(names: list[PrimExpr]) -> Stmt:
            chunks = [
                numbers[at * self.lanes : (at + 1) * self.lanes]
                for at in range(len(places))
            ]
            return stmt_seq(
                *(
                    self.set(place, Shuffle((*names,), (*map(index, chunk),)))
                    for place, chunk in zip(places, chunks, strict=True)
                )
            )

        return bound_all("mixed", [self[at] for at in places], mixed)

    def each(
        self, at: int, body: Callable[[PrimExpr, PrimExpr], Stmt], count: int = 0
    ) -> Stmt:
        """Return what is done with the lanes of one, as a loop to be vectorized.

        Args:
            at: Which one.
            body: Given a lane's number and its value.
            count: How many lanes; 0 for all.
        """
        first = index(at * self.lanes)
        return looped(
            "lane",
            count or self.lanes,
            lambda lane: body(lane, self._memory.load(add(first, lane))),
            ForKind.VECTORIZED,
        )

    def within(self, body: Stmt) -> Stmt:
        """Return a statement that has these accumulators."""
        return self._memory.within(body)


def repeated(value: PrimExpr, lanes: int) -> PrimExpr:
    """Return a vector of one value; what is one already, or of one lane, is left."""
    is_one = lanes > 1 and data_type(value.dtype).lanes == 1
    return Broadcast(value, lanes) if is_one else value


def loaded(
    dtype: str,
    data: Var,
    at: PrimExpr,
    lanes: int,
    stride: int = 1,
    count: int | None = None,
) -> Load:
    """Return a vector of memory, of which the lanes from `count` on are 0.

    Args:
        dtype: That of a lane.
        data: The memory.
        at: Where the first lane is.
        lanes: How many there are.
        stride: How far lanes are from each other.
        count: How many of them are read; None for all.
    """
    of_all = ramp(at, lanes, stride)
    if count is None or count == lanes:
        return Load(vector(dtype, lanes), data, of_all)
    numbers = ramp(index(0), lanes)
    is_read = less(numbers, repeated(index(count), lanes))
    return Load(vector(dtype, lanes), data, of_all, is_read)
