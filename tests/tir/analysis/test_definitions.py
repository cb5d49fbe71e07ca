"""Faults of variables and buffers are found."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from parpass import tir
from parpass.tir.analysis import (
    expr_deep_equal,
    function_faults,
    undefined_vars,
    verify_ssa,
)
from tests.support.drawn import PRIM_FUNCS
from tests.support.profiles import examples

I: tir.Var = tir.Var("i")  # noqa: E741
X = tir.Var("x")
A = tir.decl_buffer((8,), "int32", "A")


def store(value: Any) -> tir.Stmt:
    return tir.BufferStore(A, value, (0,))


def func(body: tir.Stmt) -> tir.PrimFunc:
    handle = tir.Var("a", "handle")
    return tir.PrimFunc((handle, X), body, None, {handle: A})


@examples(0.75)
@given(PRIM_FUNCS)
def test_generated_functions_have_no_faults(generated: Any):
    assert function_faults(generated) == []
    assert verify_ssa(generated)


def test_an_expression_may_bind_a_variable_again_to_the_same_value():
    let = tir.Let(I, 1, I + 1)
    alike, other = tir.Let(I, 1, I * 2), tir.Let(I, 2, I + 1)
    assert verify_ssa(func(store(tir.Add(let, let))))
    assert verify_ssa(func(store(tir.Add(let, alike))))
    assert not verify_ssa(func(store(tir.Add(let, other))))
    assert not verify_ssa(func(store(tir.Let(I, 1, let))))
    loop = tir.For(I, 0, 8, 0, store(0))
    assert not verify_ssa(func(tir.SeqStmt([loop, store(let)])))


def test_variables_that_nobody_binds_are_named_in_order():
    free = [tir.Var(name) for name in "abc"]
    inner = tir.For(I, 0, free[0], 0, store(I + free[1] + X))
    assert undefined_vars(func(tir.SeqStmt([inner, store(free[2])]))) == free


def test_a_variable_is_bound_once():
    loop = tir.For(I, 0, 8, 0, store(I))
    assert function_faults(func(loop)) == []
    twice = func(tir.SeqStmt((loop, tir.For(I, 0, 4, 0, store(I)))))
    assert function_faults(twice) == ["variable 'i' is bound more than once"]
    assert not verify_ssa(twice)


def test_a_variable_is_used_in_its_scope():
    after = func(tir.SeqStmt((tir.For(I, 0, 8, 0, store(I)), store(I))))
    assert function_faults(after) == ["variable 'i' is used outside of its scope"]
    own = func(tir.LetStmt(I, I + 1, store(I)))
    assert "variable 'i' is used before it is bound" in function_faults(own)


def test_what_nobody_declares_is_named():
    free = func(store(I))
    assert function_faults(free) == ["variable 'i' is used, but declared nowhere"]
    assert verify_ssa(free)
    other = tir.PrimFunc((), store(1))
    assert function_faults(other) == ["buffer 'A' is used, but declared nowhere"]


def test_allocated_and_realized_buffers_are_declared():
    allocated = tir.Allocate(A.data, "int32", (8,), None, store(1))
    assert function_faults(tir.PrimFunc((), allocated)) == []
    bounds = (tir.Range(0, 8),)
    realized = tir.BufferRealize(A, bounds, tir.const(True), store(1))
    assert function_faults(tir.PrimFunc((), realized)) == []


def test_deep_programs_are_checked():
    body: tir.Stmt = store(X)
    for at in range(3_000):
        body = tir.For(tir.Var(f"i{at}"), 0, 2, 0, body)
    assert function_faults(func(body)) == []


def test_expressions_are_equal_if_they_compute_the_same():
    assert expr_deep_equal(X + 1, X + 1)
    assert not expr_deep_equal(X + 1, I + 1)


def test_an_axis_of_threads_is_bound_where_it_is_launched_also_again():
    axis = tir.IterVar((0, 8), "tx", tir.IterVar.ThreadIndex, "threadIdx.x")
    launched = tir.AttrStmt(axis, "thread_extent", 8, store(axis.var))
    inside = tir.AttrStmt(axis, "thread_extent", 8, launched)
    assert function_faults(func(tir.SeqStmt((launched, inside)))) == []
    [fault] = function_faults(func(tir.SeqStmt((launched, store(axis.var)))))
    assert fault == "variable 'tx' is used outside of its scope"


def test_a_loop_over_threads_binds_its_axis_too():
    axis = tir.IterVar(tir.Range(0, 8), tir.Var("t"), tir.IterVar.ThreadIndex, "t")
    body = store(I + axis.var)
    assert function_faults(func(tir.For(I, 0, 8, 4, body, axis))) == []
    outside = tir.SeqStmt([tir.For(I, 0, 8, 4, body, axis), store(axis.var)])
    assert function_faults(func(outside)) == [
        "variable 't' is used outside of its scope"
    ]


def test_operands_that_are_shared_are_looked_at_once():
    total: tir.PrimExpr = X
    for _ in range(60):
        total = tir.Let(tir.Var("v"), total, tir.Add(total, total))
    assert function_faults(func(store(total))) == []
    assert undefined_vars(store(total)) == [X]


def test_a_statement_that_stands_at_many_places_binds_again_once():
    same: tir.Stmt = tir.For(I, 0, 8, 0, store(I))
    for _ in range(60):
        same = tir.SeqStmt([same, same])
    assert function_faults(func(same)) == ["variable 'i' is bound more than once"]
