"""convert_ssa: what is bound twice becomes two variables, with all that uses them."""

from __future__ import annotations

from typing import Any

from parpass import tir
from parpass.tir.analysis import verify_ssa
from parpass.tir.transform.ssa import convert_ssa


def test_a_statement_that_is_there_twice_has_variables_of_its_own_each_time():
    i, own = tir.Var("i"), tir.decl_buffer((4,), "int32", "own")
    stored = tir.BufferStore(own, tir.BufferLoad(own, [i]) + i, [i])
    loop = tir.For(i, 0, 4, 0, stored)
    once = tir.Allocate(own.data, "int32", (4,), None, loop)
    found: Any = convert_ssa(tir.SeqStmt([once, once]))
    first, second = found.seq
    assert first is once
    assert verify_ssa(found)
    buffer = second.body.body.buffer
    assert buffer is second.body.body.value.a.buffer
    assert buffer.data is second.buffer_var


def test_expressions_that_bind_are_renamed_in_each_further_statement():
    v, target = tir.Var("v"), tir.decl_buffer((4,), "int32", "A")
    shared = tir.Let(v, tir.const(3), v + 1)
    store = target.vstore([0], tir.Add(shared, shared))
    found: Any = convert_ssa(tir.SeqStmt([store, target.vstore([1], shared)]))
    assert verify_ssa(found)
    first, second = found.seq
    assert first is store
    assert second.value.var is not v


def test_a_program_that_binds_once_stays_the_same_object():
    i, target = tir.Var("i"), tir.decl_buffer((4,), "int32", "A")
    loop = tir.For(i, 0, 4, 0, target.vstore([i], i))
    assert convert_ssa(loop) is loop


def test_statements_that_bind_nothing_may_stand_at_any_number_of_places():
    same: tir.Stmt = tir.decl_buffer((4,), "int32", "A").vstore([0], tir.const(1))
    for _ in range(60):
        same = tir.IfThenElse(tir.Var("c", "bool"), same, same)
    assert convert_ssa(same) is same
