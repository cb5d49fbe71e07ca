"""The region of a buffer that a statement touches."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import tir
from parpass.ir.structure.structural import assert_structural_equal
from parpass.tir.arith import domain_touched

M = tir.Var("m")
I0, I1 = tir.Var("i"), tir.Var("j")
A, B = (tir.decl_buffer((100, M), "int32", name) for name in "AB")
LOADED = tir.BufferLoad(B, [I0 - 1, I1 + 1]) + tir.BufferLoad(A, [I0 - 1, I1 - 1])
INNER = tir.For(I1, 0, M, 0, tir.BufferStore(A, LOADED, [I0, I1]))
NEST = tir.For(I0, 0, 100, 0, INNER)


@pytest.mark.parametrize(
    ("buffer", "loads", "stores", "expected"),
    [
        (A, True, False, [(-1, 100), (-1, M)]),
        (A, False, True, [(0, 100), (0, M)]),
        (A, True, True, [(-1, 101), (-1, M + 1)]),
        (B, True, True, [(-1, 100), (1, M)]),
        (B, False, True, []),
    ],
)
def test_the_region_is_the_least_box(
    buffer: tir.Buffer, loads: bool, stores: bool, expected: list[Any]
):
    found: Any = domain_touched(NEST, buffer, loads, stores)
    assert len(found) == len(expected)
    for one, (low, extent) in zip(found, expected, strict=True):
        assert_structural_equal(one, tir.Range.from_min_extent(low, extent))


def test_a_let_and_an_axis_of_threads_have_sets_of_values():
    line = tir.decl_buffer((100,), "int32", "line")
    thread = tir.IterVar((0, 4), "tx", 1, "threadIdx.x")
    store = tir.BufferStore(line, 1, [I0])
    body = tir.LetStmt(I0, thread.var * 8 + 3, store)
    (found,) = domain_touched(
        tir.AttrStmt(thread, "thread_extent", 4, body), line, True, True
    )
    assert_structural_equal(found, tir.Range.from_min_extent(3, 25))


def test_an_index_that_may_be_anything_has_no_range():
    line = tir.decl_buffer((100,), "int32", "line")
    store = tir.BufferStore(line, 1, [tir.BufferLoad(line, [0])])
    assert domain_touched(store, line, False, True) == [None]
