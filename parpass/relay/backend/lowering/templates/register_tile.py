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
def best_tile(rows: int, columns: int, registers: int, per_vector: int = 1) -> Tile:
    """Return the tile by which all results take the fewest steps.

    A step of a tile reads each of its vectors and scalars once, and has a product for
    each pair. Two of either are done at once. What the rows of a tile leave over is a
    tile of its own.

    Args:
        rows: How many rows there are.
        columns: How many vectors there are; the tile's divide them.
        registers: How many registers the target has.
        per_vector: How many of them a vector takes.
    """
    found = [
        (_steps(rows, columns, Tile(some, wide), per_vector), -some * wide, some)
        for wide in range(1, columns + 1)
        if columns % wide == 0
        for some in range(1, rows + 1)
        if (some * wide + wide + 1) * per_vector < registers or some * wide == 1
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
