"""LoopPartition: the parts of loops, and that they do what the loops do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import IRModule, tir
from parpass.ir.node import post_order
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import LoopPartition
from parpass.tir.transform.partition_finder import is_likely
from parpass.transform import PassContext
from tests.support.profiles import examples

A = tir.decl_buffer((512,), "int32", "A")
X = tir.Var("i")
N, M = tir.SizeVar("n"), tir.SizeVar("m")
ANY = tir.Var("x")  # of which no sign is known
CONSTANT = {"partition_const_loop": True}


def body_after(body: tir.Stmt, **option: bool) -> Any:
    func = tir.PrimFunc((A, N, M, ANY), body)
    with PassContext(config={"tir.LoopPartition": option}):
        return LoopPartition()(IRModule({"main": func}))["main"].body


def loop(var: tir.Var, extent: Any, body: tir.Stmt) -> tir.For:
    return tir.For(var, 0, extent, tir.ForKind.SERIAL, body)


def store(index: Any, value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(A, value, [index])


def guarded(condition: Any, body: tir.Stmt) -> tir.Stmt:
    return tir.IfThenElse(tir.likely(condition), body)


def test_what_is_under_a_mark_stays_the_same_object():
    kept = loop(X, N, store(X))
    assert body_after(guarded(ANY < 3, kept)).then_case is kept


@pytest.mark.slow
def test_a_nest_of_many_loops_has_a_bounded_number_of_parts():
    variables = [tir.Var(f"i{at}") for at in range(8)]
    body = store(0)
    for var in variables:
        body = loop(var, 5, guarded(var < 3, body))
    after = body_after(body, **CONSTANT)
    assert 500 < len(post_order(after)) < 30_000


Draw = st.DrawFn


@st.composite
def partitionable(draw: Draw) -> Any:
    """Return a function of nested loops with conditions marked as likely."""
    scale, size = tir.Var("scale"), tir.SizeVar("size")
    variables: list[Any] = []

    def sums() -> tir.PrimExpr:
        found: Any = tir.const(draw(st.integers(-3, 9)))
        for var in draw(
            st.lists(st.sampled_from([*variables, scale, size]), max_size=3)
        ):
            found += var * draw(st.sampled_from((-2, -1, 1, 2, 3)))
        return found

    def condition() -> tir.PrimExpr:
        kinds = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)
        one = draw(st.sampled_from(kinds))(sums(), sums())
        if draw(st.integers(0, 3)):
            return tir.likely(one)
        join = draw(st.sampled_from((tir.And, tir.Or)))
        return tir.likely(join(one, tir.Not(draw(st.sampled_from(kinds))(sums(), 2))))

    def statement(depth: int) -> tir.Stmt:
        if depth == 0:
            index = tir.floormod(sums(), 512)
            return store(index, tir.BufferLoad(A, [index]) * 3 + sums() % 7)
        kind = draw(st.sampled_from(("for", "for", "if", "if", "seq")))
        if kind == "seq":
            return tir.SeqStmt([statement(depth - 1), statement(depth - 1)])
        if kind == "if":
            other = statement(0) if draw(st.booleans()) else None
            return tir.IfThenElse(condition(), statement(depth - 1), other)
        var, extent = tir.Var(f"i{len(variables)}"), draw(st.integers(0, 6))
        count = draw(
            st.sampled_from((tir.const(extent), size + extent, scale + extent))
        )
        low = draw(st.sampled_from((tir.const(0), tir.const(2), scale)))
        variables.append(var)
        body = statement(depth - 1)
        variables.pop()
        return tir.For(var, low, count, tir.ForKind.SERIAL, body)

    handle = tir.Var("a", "handle")
    return tir.PrimFunc((handle, scale, size), statement(4), None, {handle: A})


@pytest.mark.slow
@given(func=partitionable(), constants=st.booleans())
@examples(1.25)
def test_the_parts_do_what_the_loops_do(func: Any, constants: bool):
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": constants}}):
        after: Any = LoopPartition()(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    for scale, size in ((0, 1), (-3, 5), (2, 0)):
        expected, got = (np.arange(512, dtype="int32") for _ in range(2))
        evaluate(func, [expected, scale, size])
        evaluate(after, [got, scale, size])
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_loops_whose_bounds_grow_do_not_take_the_time_of_a_square():
    mark, total = tir.Var("m"), tir.Var("i0")
    loops = [(total, tir.const(4))]
    for at in range(1, 3_000):  # for which a square took minutes
        var = tir.Var(f"i{at}")
        loops.append((var, total + 1))
        total = total + var
    body: Any = tir.IfThenElse(tir.likely(total < mark), tir.Evaluate(mark))
    for var, extent in reversed(loops):
        body = tir.For(var, 0, extent, tir.ForKind.SERIAL, body)
    func = tir.PrimFunc([mark], body)
    with PassContext(config={"tir.LoopPartition": CONSTANT}):
        after: Any = LoopPartition()(IRModule({"main": func}))["main"]
    assert not any(map(is_likely, post_order(after)))
