"""NarrowDataType: what fits is narrower, and all else keeps its dtype and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import IRModule, structural_equal, tir
from parpass.errors import IRTypeError
from parpass.ir.structure.structural import assert_structural_equal
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import NarrowDataType

SIZE = 256
FLAT = tir.decl_buffer((SIZE,), "int64", "flat")
N = tir.SizeVar("n", "int64")
X, Y = (tir.Var(name, "int64") for name in "xy")


def long(value: int) -> Any:
    return tir.const(value, "int64")


def narrowed(body: tir.Stmt, bits: int = 32) -> Any:
    func = tir.PrimFunc((FLAT, N), body)
    return NarrowDataType(bits)(IRModule({"main": func}))["main"].body


def loop(var: tir.Var, extent: Any, body: tir.Stmt) -> tir.Stmt:
    return tir.For(var, long(0), extent, 0, body)


def store(index: Any, value: Any = 1) -> tir.Stmt:
    return tir.Store(FLAT.data, tir.const(value, "int64"), index)


def test_variables_bounds_and_constants_of_an_index_are_narrower():
    x = tir.Var("x", "int32")
    after = narrowed(loop(X, long(100), store(X * long(4) + long(2))))
    assert_structural_equal(after, tir.For(x, 0, 100, 0, store(x * 4 + 2)))


@pytest.mark.parametrize(
    ("extent", "index", "bits", "dtype"),
    [
        (long(2**31), X, 32, "int64"),  # which a loop of int32 could not count
        (long(2**31 - 1), X, 32, "int32"),
        (long(2**20), X * long(2**12), 32, "int64"),
        (N, X, 32, "int64"),
        (long(100), X * N, 32, "int64"),
        (long(100), tir.floormod(X * long(2**30), long(7)), 32, "int64"),
        (long(100), X, 8, "int8"),
        (long(128), X, 8, "int64"),
        (long(100), X, 64, "int64"),
    ],
)
def test_a_variable_is_narrowed_where_all_fits_that_it_is_in(
    extent: Any, index: Any, bits: int, dtype: str
):
    before = loop(X, extent, store(index))
    after = narrowed(before, bits)
    assert after.loop_var.dtype == after.extent.dtype == dtype
    assert structural_equal(after, before) is (dtype == "int64")


def test_a_variable_beside_what_does_not_fit_stays_wide():
    body = tir.Store(FLAT.data, tir.Load("int64", FLAT.data, X) + X, X)
    loops = loop(X, long(8), body)
    assert narrowed(loops) is loops


def test_values_keep_their_dtype():
    body = tir.Store(FLAT.data, X * long(2), X)
    after = narrowed(loop(X, long(8), body)).body
    assert (after.value.dtype, after.index.dtype) == ("int64", "int32")
    call = tir.Evaluate(tir.call_extern("int32", "f", X, long(3) > X))
    args = narrowed(loop(X, long(8), call)).body.value.args
    assert [one.dtype for one in args[1:]] == ["int64", "bool"]


def test_the_value_that_is_loaded_says_nothing_of_its_index():
    inner = tir.Load("int64", FLAT.data, X + long(1))
    after = narrowed(loop(X, long(8), store(inner)))
    assert after.body.index.index.dtype == "int32"
    assert after.body.index.dtype == "int64"


def test_an_axis_of_threads_is_narrower():
    axis = tir.IterVar(None, X, 1, "threadIdx.x")
    after = narrowed(tir.AttrStmt(axis, "thread_extent", long(32), store(X)))
    assert (
        after.node.var.dtype == after.value.dtype == after.body.index.dtype == "int32"
    )
    assert after.body.index is after.node.var


def test_a_loop_is_as_wide_as_its_extent_where_indices_do_not_fit():
    x = tir.Var("x", "int32")
    loops = tir.For(x, 0, long(2**16), 0, store(x * long(2**16)))
    assert narrowed(loops).loop_var.dtype == "int64"
    near = tir.For(x, 0, long(2**16), 0, store(x))
    assert narrowed(near).loop_var.dtype == "int32"


def test_the_bits_are_those_of_a_dtype():
    with pytest.raises(IRTypeError, match="for target_bits, got 12"):
        NarrowDataType(12)


@st.composite
def long_programs(draw: st.DrawFn) -> Any:
    """Return a function whose loops, indices and values are of int64."""
    factors = (-1, 1, 2, 3, 50, 300)
    variables = [X, Y]

    def index() -> Any:
        found = long(draw(st.integers(0, 300)))
        for var in draw(st.lists(st.sampled_from([*variables, N]), max_size=3)):
            found += var * long(draw(st.sampled_from(factors)))
        if draw(st.booleans()):
            other = draw(st.sampled_from(variables))
            found = draw(
                st.sampled_from(
                    (
                        tir.Select(other < found, found, other),
                        tir.max(found, other),
                        tir.if_then_else(other > N, found, other + 1),
                        tir.floordiv(found, long(3)) - other,
                        tir.Cast("int64", tir.Cast("int32", other)) + found,
                    )
                )
            )
        return tir.floormod(found, long(SIZE))

    value = tir.Load("int64", FLAT.data, index()) * 3 + index() + X
    body: tir.Stmt = tir.Store(FLAT.data, value, index())
    if draw(st.booleans()):
        body = tir.IfThenElse(index() < X * long(9), body)
    for var in variables:
        low, extent = (draw(st.integers(0, 6)) for _ in range(2))
        count = draw(st.sampled_from((long(extent), N + extent)))
        body = tir.For(var, long(low), count, 0, body)
    handle = tir.Var("flat", "handle")
    return tir.PrimFunc((handle, N), body, None, {handle: FLAT})


@pytest.mark.slow
@given(func=long_programs(), bits=st.sampled_from((8, 16, 32)))
@settings(deadline=None, max_examples=25, database=None)
def test_narrow_programs_do_the_same(func: Any, bits: int):
    a_pass = NarrowDataType(bits)
    after: Any = a_pass(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    expected, got = (np.arange(SIZE) % 17 for _ in range(2))
    evaluate(func, [expected, 2])
    evaluate(after, [got, 2])
    np.testing.assert_array_equal(got, expected)
    assert structural_equal(a_pass(IRModule({"main": after}))["main"], after)
