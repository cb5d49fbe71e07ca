"""NarrowDataType: what fits is narrower, and all else keeps its dtype and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import IRModule, structural_equal, tir
from parpass.errors import IRTypeError
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import NarrowDataType
from tests.support.profiles import examples

SIZE = 256
FLAT = tir.decl_buffer((SIZE,), "int64", "flat")
N = tir.SizeVar("n", "int64")
X, Y = (tir.Var(name, "int64") for name in "xy")


def long(value: int) -> Any:
    return tir.const(value, "int64")


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
@examples(1.25)
def test_narrow_programs_do_the_same(func: Any, bits: int):
    a_pass = NarrowDataType(bits)
    after: Any = a_pass(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    expected, got = (np.arange(SIZE) % 17 for _ in range(2))
    evaluate(func, [expected, 2])
    evaluate(after, [got, 2])
    np.testing.assert_array_equal(got, expected)
    assert structural_equal(a_pass(IRModule({"main": after}))["main"], after)
