"""VectorizeLoop: what becomes a vector, what a loop, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from parpass import IRModule, tir
from parpass.errors import IRError
from parpass.tir.analysis import function_faults
from parpass.tir.transform import VectorizeLoop
from tests.support.loop_programs import vectorized_funcs
from tests.support.loop_values import assert_same_values

A = tir.decl_buffer((16,), "int32", "A")
B = tir.decl_buffer((16,), "int32", "B")


def vectorized(body: Callable[[tir.Var], tir.Stmt], count: Any = 4) -> Any:
    i = tir.Var("i")
    loop = tir.For(i, 0, count, tir.ForKind.VECTORIZED, body(i))
    return tir.PrimFunc((A, B), loop)


def rewritten(func: tir.PrimFunc) -> Any:
    after = VectorizeLoop()(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    return after


def test_loads_and_stores_become_those_of_vectors():
    func = vectorized(lambda i: B.vstore([i * 2], A.vload([i + 1]) * 3))
    after = rewritten(func)
    assert isinstance(after.body.index, tir.Ramp)
    assert int(after.body.index.stride) == 2
    assert after.body.value.dtype == "int32x4"
    assert_same_values(func, after)


def test_a_condition_that_differs_between_rounds_is_left_in_a_loop():
    func = vectorized(
        lambda i: tir.IfThenElse(A.vload([i]) > 0, B.vstore([i], 1), B.vstore([i], 2))
    )
    after = rewritten(func)
    assert after.body.kind == tir.ForKind.SERIAL
    assert_same_values(func, after)


def test_elements_of_buffers_are_accessed_round_by_round():
    func = vectorized(lambda i: tir.BufferStore(B, tir.BufferLoad(A, [i]) + 1, [i]))
    after = rewritten(func)
    assert after.body.kind == tir.ForKind.SERIAL
    assert_same_values(func, after)


def test_a_loop_is_put_around_a_vector_that_it_needs_lane_by_lane():
    v = tir.Var("v")
    func = vectorized(
        lambda i: tir.LetStmt(
            v, A.vload([i]), tir.IfThenElse(v > 0, B.vstore([i], v), B.vstore([i], 9))
        )
    )
    after = rewritten(func)
    assert isinstance(after.body, tir.For)
    assert isinstance(after.body.body, tir.LetStmt)
    assert_same_values(func, after)


def test_a_loop_that_one_statement_needs_is_put_around_what_that_mentions():
    v, w = tir.Var("v"), tir.Var("w")
    func = vectorized(
        lambda i: tir.LetStmt(
            v,
            A.vload([i]),
            tir.SeqStmt(
                [
                    tir.IfThenElse(v > 0, B.vstore([i], v)),
                    tir.LetStmt(w, i * 2, B.vstore([i + 8], w)),
                ]
            ),
        )
    )
    assert_same_values(func, rewritten(func))


def test_each_round_has_memory_of_its_own():
    own = tir.decl_buffer((2,), "int32", "own")
    func = vectorized(
        lambda i: tir.Allocate(
            own.data,
            "int32",
            (2,),
            None,
            tir.SeqStmt(
                [
                    own.vstore([0], A.vload([i])),
                    own.vstore([1], i * 3),
                    B.vstore([i], own.vload([0]) + own.vload([1])),
                ]
            ),
        )
    )
    after = rewritten(func)
    assert [int(one) for one in after.body.extents] == [2, 4]
    assert isinstance(after.body.body[0], tir.Store)
    assert_same_values(func, after)


def test_what_acts_is_run_for_each_round():
    func = vectorized(lambda i: tir.Evaluate(tir.call_extern("int32", "act", 1)))
    assert isinstance(rewritten(func).body, tir.For)


def test_ramps_that_follow_each_other_become_one():
    func = vectorized(
        lambda i: B.vstore([i * 4], tir.Broadcast(A.vload([0]), 4)), count=3
    )
    after = rewritten(func)
    assert after.body.index.dtype == "int32x12"
    assert_same_values(func, after)


@pytest.mark.parametrize("count", [0, 1])
def test_loops_of_few_rounds_need_no_vectors(count: int):
    func = vectorized(lambda i: B.vstore([i], A.vload([i])), count)
    assert_same_values(func, rewritten(func))


def test_a_loop_of_an_unknown_number_of_rounds_is_refused():
    func = vectorized(lambda i: B.vstore([i], 1), tir.Var("n"))
    with pytest.raises(IRError, match="Failed to vectorize loop with extent"):
        rewritten(func)


def test_a_while_loop_in_it_is_refused():
    func = vectorized(lambda i: tir.While(A.vload([0]) < 1, A.vstore([0], i)))
    with pytest.raises(IRError, match="A while loop inside a vectorized loop not"):
        rewritten(func)


@pytest.mark.slow
@given(func=vectorized_funcs())
@settings(deadline=None, max_examples=30)
def test_vectorized_programs_do_what_they_did(func: tir.PrimFunc):
    assert_same_values(func, rewritten(func))
