"""What the generated calls of operators are made of: shapes, axes, and tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parpass.relay import op
from parpass.relay.expr import Constant, Expr, TupleWrapper, const
from tests.support.relay.op.calls import bools, floats, ints

Built = Expr | TupleWrapper
Maker = Callable[[st.DrawFn], Built]

SIDES = st.integers(1, 4)


def shape(draw: st.DrawFn, low: int = 0, high: int = 4) -> tuple[int, ...]:
    """Return a shape of `low` to `high` dimensions."""
    return tuple(draw(st.lists(SIDES, min_size=low, max_size=high)))


def axis(draw: st.DrawFn, rank: int) -> int:
    """Return an axis, counted from the front or the end."""
    return draw(st.integers(-rank, rank - 1))


def optional_axis(draw: st.DrawFn, rank: int) -> int | None:
    """Return an axis or None."""
    return draw(st.none() | st.integers(-rank, rank - 1)) if rank else None


def number(draw: st.DrawFn, low: int, high: int) -> int:
    """Return an int from `low` to `high`."""
    return draw(st.integers(low, high))


def flag(draw: st.DrawFn) -> bool:
    """Return whether."""
    return draw(st.booleans())


def choice(draw: st.DrawFn, *values: Any) -> Any:
    """Return one of some values."""
    return draw(st.sampled_from(values))


def broadcastable(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Return shapes that broadcast."""
    whole = shape(draw)
    shapes: list[tuple[int, ...]] = []
    for _ in range(count):
        start = number(draw, 0, len(whole))
        shapes.append(tuple(1 if flag(draw) else dim for dim in whole[start:]))
    return shapes


def unary(name: str) -> Maker:
    """Return the maker of calls on one tensor of floats."""
    return lambda draw: getattr(op, name)(
        floats(*shape(draw), dtype=choice(draw, "float32", "float64"))
    )


def numeric(name: str) -> Maker:
    """Return the maker of calls on one tensor of floats or ints."""

    def make(draw: st.DrawFn) -> Built:
        if flag(draw):
            return getattr(op, name)(ints(*shape(draw)))
        return unary(name)(draw)

    return make


def binary(name: str) -> Maker:
    """Return the maker of calls on two tensors of floats or ints that broadcast."""

    def make(draw: st.DrawFn) -> Built:
        lhs, rhs = broadcastable(draw, 2)
        if flag(draw) and name != "power":
            return getattr(op, name)(ints(*lhs), ints(*rhs, low=1))
        return getattr(op, name)(floats(*lhs), floats(*rhs, seed=1))

    return make


def integral(name: str) -> Maker:
    """Return the maker of calls on two tensors of ints that broadcast."""

    def make(draw: st.DrawFn) -> Built:
        lhs, rhs = broadcastable(draw, 2)
        return getattr(op, name)(ints(*lhs, low=0), ints(*rhs, low=0))

    return make


def logical(name: str) -> Maker:
    """Return the maker of calls on two tensors of bools that broadcast."""

    def make(draw: st.DrawFn) -> Built:
        lhs, rhs = broadcastable(draw, 2)
        return getattr(op, name)(bools(*lhs), bools(*rhs))

    return make


def reduction(name: str, of: Callable[..., Constant] = floats) -> Maker:
    """Return the maker of reductions."""

    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw)
        places = range(len(dims))
        axes = (
            draw(st.none() | st.lists(st.sampled_from(places), unique=True))
            if dims
            else None
        )
        return getattr(op, name)(of(*dims), axes, flag(draw), flag(draw))

    return make


def scan(name: str) -> Maker:
    """Return the maker of scans."""

    def make(draw: st.DrawFn) -> Built:
        dims = shape(draw, 1)
        dtype = choice(draw, None, "float64")
        at = optional_axis(draw, len(dims))
        return getattr(op, name)(floats(*dims), at, dtype, flag(draw))

    return make


def indices(*dims: int, below: int) -> Constant:
    """Return indices from 0 up to `below`."""
    return ints(*dims, low=0, high=below)


def vector(values: list[int] | tuple[int, ...]) -> Constant:
    """Return a vector of these ints."""
    return const(np.array(values, "int32"))
