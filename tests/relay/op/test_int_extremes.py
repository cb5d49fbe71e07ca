"""Integers of all bits: what operators give is what Python's ints give, wrapped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.relay import op
from parpass.relay.expr import Expr, const
from parpass.relay.op import image, nn
from tests.support.profiles import examples
from tests.support.relay.op.calls import value
from tests.support.relay.op.rules_of_lowering import by_machine

pytestmark = pytest.mark.hunt  # properties are inside of tests

DTYPES = ["int64", "uint64", "int32", "uint8", "int8"]
Row = list[int]


def wrapped(number: int, dtype: str) -> int:
    bits, signed = np.dtype(dtype).itemsize * 8, dtype.startswith("int")
    number %= 1 << bits
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def numbers(dtype: str) -> st.SearchStrategy[int]:
    """Return ints of a dtype, often its least and its greatest and their neighbours."""
    info = np.iinfo(dtype)
    least, greatest = int(info.min), int(info.max)
    edges = [least, least + 1, greatest - 1, greatest, greatest // 2 + 1, 0, 1]
    edges += [edge for edge in (2**53 + 1, -(2**53) - 1) if least <= edge <= greatest]
    return st.sampled_from(edges) | st.integers(least, greatest)


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, Row, Row]:
    dtype = draw(st.sampled_from(DTYPES))
    pairs = draw(
        st.lists(st.tuples(numbers(dtype), numbers(dtype)), min_size=1, max_size=5)
    )
    return dtype, [one for one, _ in pairs], [other for _, other in pairs]


def towards_zero(one: int, other: int) -> int:
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def same(one: Any) -> Any:
    return one


UNARY: dict[str, Callable[[int], int]] = {
    "abs": abs,
    "negative": lambda one: -one,
    "sign": lambda one: (one > 0) - (one < 0),
    "bitwise_not": lambda one: ~one,
    **dict.fromkeys(["floor", "ceil", "trunc", "round", "copy"], same),
}
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda one, other: one + other,
    "subtract": lambda one, other: one - other,
    "multiply": lambda one, other: one * other,
    "maximum": max,
    "minimum": min,
    "bitwise_and": lambda one, other: one & other,
    "bitwise_or": lambda one, other: one | other,
    "bitwise_xor": lambda one, other: one ^ other,
    "equal": lambda one, other: one == other,
    "less": lambda one, other: one < other,
    "greater_equal": lambda one, other: one >= other,
}
QUOTIENTS: dict[str, Callable[[int, int], int]] = {
    "divide": towards_zero,
    "trunc_divide": towards_zero,
    "floor_divide": lambda one, other: one // other,
    "mod": lambda one, other: one - towards_zero(one, other) * other,
    "trunc_mod": lambda one, other: one - towards_zero(one, other) * other,
    "floor_mod": lambda one, other: one % other,
}
REDUCTIONS: dict[str, Callable[[Row], int]] = {
    "sum": sum,
    "prod": math.prod,
    "max": max,
    "min": min,
    "mean": lambda row: towards_zero(sum(row), len(row)),
    "argmax": lambda row: row.index(max(row)),
    "argmin": lambda row: row.index(min(row)),
}
ROWS: dict[str, tuple[Callable[[Expr], Any], Callable[[Row], Row]]] = {
    "sort": (op.sort, sorted),
    "sort down": (
        lambda data: op.sort(data, is_ascend=False),
        lambda row: sorted(row, reverse=True),
    ),
    "argsort": (op.argsort, lambda row: sorted(range(len(row)), key=row.__getitem__)),
    "topk": (
        lambda data: op.topk(data, 1, ret_type="values"),
        lambda row: [max(row)],
    ),
    "cumsum": (op.cumsum, lambda row: [sum(row[: n + 1]) for n in range(len(row))]),
    "cumprod": (
        op.cumprod,
        lambda row: [math.prod(row[: n + 1]) for n in range(len(row))],
    ),
    "relu": (nn.relu, lambda row: [max(one, 0) for one in row]),
    "reverse": (lambda data: op.reverse(data, 0), lambda row: row[::-1]),
    "pad": (lambda data: nn.pad(data, ((1, 0),)), lambda row: [0, *row]),
    "max_pool1d": (
        lambda data: nn.max_pool1d(op.reshape(data, (1, 1, -1)), 1),
        same,
    ),
    "resize1d": (
        lambda data: image.resize1d(
            op.reshape(data, (1, 1, -1)), 5, method="nearest_neighbor"
        ),
        lambda row: [row[int((n + 0.5) * len(row) / 5)] for n in range(5)],
    ),
    "dense": (
        lambda data: nn.dense(
            op.reshape(data, (1, -1)), op.reshape(op.copy(data), (1, -1))
        ),
        lambda row: [sum(one * one for one in row)],
    ),
}


def array(row: Sequence[int], dtype: str) -> Any:
    return const(np.array(row, dtype))


def agrees(found: Any, wanted: Sequence[int]) -> None:
    dtype = found.dtype.name
    assert found.reshape(-1).tolist() == [
        one if dtype == "bool" else wrapped(one, dtype) for one in wanted
    ]


@pytest.mark.parametrize("name", UNARY)
def test_of_one(name: str) -> None:
    @examples(0.5)
    @given(rows())
    def holds(drawn: tuple[str, Row, Row]) -> None:
        dtype, row, _ = drawn
        found = value(getattr(op, name)(array(row, dtype)))
        agrees(found, [UNARY[name](one) for one in row])

    holds()


@pytest.mark.parametrize("name", [*BINARY, *QUOTIENTS])
def test_of_two(name: str) -> None:
    @examples(0.5)
    @given(rows())
    def holds(drawn: tuple[str, Row, Row]) -> None:
        dtype, row, others = drawn
        if name in QUOTIENTS:
            others = [other or 1 for other in others]
        meaning = (BINARY | QUOTIENTS)[name]
        found = value(getattr(op, name)(array(row, dtype), array(others, dtype)))
        agrees(found, [*map(meaning, row, others)])

    holds()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_of_all(name: str) -> None:
    @examples(0.75)
    @given(rows())
    def holds(drawn: tuple[str, Row, Row]) -> None:
        dtype, row, _ = drawn
        agrees(value(getattr(op, name)(array(row, dtype))), [REDUCTIONS[name](row)])

    holds()


@pytest.mark.parametrize("name", ROWS)
def test_of_rows(name: str) -> None:
    build, meaning = ROWS[name]

    @examples(0.5)
    @given(rows())
    def holds(drawn: tuple[str, Row, Row]) -> None:
        dtype, row, _ = drawn
        agrees(value(build(array(row, dtype))), meaning(row))

    holds()


@examples(1.25)
@given(rows(), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_clip_limits_by_what_the_dtype_has(
    drawn: tuple[str, Row, Row], one: float, other: float
) -> None:
    dtype, row, near = drawn
    for low, high in (
        sorted([one, other]),
        sorted(map(float, (near[0], near[-1]))),
        (-math.inf, math.inf),
    ):
        least, greatest = (limit_of(limit, dtype) for limit in (low, high))
        found = value(op.clip(array(row, dtype), low, high))
        assert found.dtype == dtype
        agrees(found, [min(max(one, least), greatest) for one in row])


def limit_of(limit: float, dtype: str) -> int:
    """Return a limit towards zero, within the dtype."""
    info = np.iinfo(dtype)
    if math.isinf(limit):
        return int(info.max if limit > 0 else info.min)
    return min(max(int(limit), int(info.min)), int(info.max))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [True, False])
def test_a_diagonal_may_be_far_from_a_matrix(dtype: str, upper: bool) -> None:
    data = np.ones((2, 3), "float32")
    info = np.iinfo(dtype)
    for k in (int(info.max), int(info.min) if dtype.startswith("int") else 0):
        call = op.trilu(const(data), const(np.array(k, dtype)), upper)
        column, row = np.arange(3)[None], np.arange(2)[:, None]
        near = max(-9, min(k, 9))
        kept = column >= row + near if upper else column <= row + near
        np.testing.assert_array_equal(value(call), data * kept)
        np.testing.assert_array_equal(by_machine(call)[0], data * kept)


@pytest.mark.parametrize("indices", [[5], [-3], []])
def test_nothing_is_taken_around_an_axis_of_no_length(indices: Row) -> None:
    data, picked = np.zeros((0, 0), "int32"), np.array(indices, "int64")
    call = op.take(const(data), const(picked), axis=0, mode="wrap")
    assert value(call).shape == (len(indices), 0)
