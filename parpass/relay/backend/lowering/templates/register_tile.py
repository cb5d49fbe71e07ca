"""How many results are computed at once: as many as the registers of a target hold."""

from __future__ import annotations

import functools
from typing import NamedTuple

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
    """

    def written(some: int, wide: int) -> int:
        kinds = 2 if last_is_shorter and wide < columns else 1
        return (some + rows % some) * wide * kinds * per_vector

    found = [
        (_steps(rows, columns, Tile(some, wide), per_vector), -some * wide, some)
        for wide in range(1, columns + 1)
        if columns % wide == 0
        for some in range(1, rows + 1)
        if some * wide == 1
        or (
            (some * wide + wide + 1) * per_vector < registers
            and written(some, wide) <= registers
        )
    ]
    _, size, some = min(found)
    return Tile(some, -size // some)


def _steps(rows: int, columns: int, tile: Tile, per_vector: int) -> float:
    whole, rest = divmod(rows, tile.rows)
    parts = whole * _step(tile.rows, tile.columns, per_vector)
    if rest:
        parts += _step(rest, tile.columns, per_vector) + 0.5  # more code
    return parts * (columns // tile.columns)


def _step(rows: int, columns: int, per_vector: int) -> float:
    products = rows * columns * per_vector
    # A scalar that is used once is read by the product itself.
    reads = rows + columns * per_vector
    return max(products, reads, _LATENCY) + 1
