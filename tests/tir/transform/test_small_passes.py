"""RemoveNoOp, RewriteUnsafeSelect, HoistIfThenElse, Simplify: before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.ir.structure.structural import assert_structural_equal
from parpass.tir.analysis import verify_ssa
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import (
    HoistIfThenElse,
    RemoveNoOp,
    RewriteUnsafeSelect,
    Simplify,
)
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import Pass, PassContext

A = tir.decl_buffer((8,), "int32", "A")
OUTER, MIDDLE, INNER, N = (tir.Var(name) for name in "ijkn")
NOTHING = tir.Evaluate(0)
ACTS = tir.call_extern("int32", "act")


def body_after(a_pass: Pass, body: tir.Stmt) -> Any:
    func = tir.PrimFunc((A, N), body)
    return a_pass(IRModule({"main": func}))["main"].body


def loop(var: tir.Var, body: tir.Stmt, extent: Any = 4) -> tir.Stmt:
    return tir.For(var, 0, extent, tir.ForKind.SERIAL, body)


def store(value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(A, value, [0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tir.Evaluate(tir.BufferLoad(A, [0])), NOTHING),
        (tir.Evaluate(ACTS), tir.Evaluate(ACTS)),
        (loop(OUTER, NOTHING), NOTHING),
        (loop(OUTER, store(), 0), NOTHING),
        (loop(OUTER, NOTHING, ACTS), tir.Evaluate(ACTS)),
        (tir.IfThenElse(N < 1, NOTHING, NOTHING), NOTHING),
        (tir.IfThenElse(N < 1, store(), NOTHING), tir.IfThenElse(N < 1, store())),
        (
            tir.IfThenElse(N < 1, NOTHING, store()),
            tir.IfThenElse(N < 1, NOTHING, store()),
        ),
        (tir.LetStmt(OUTER, ACTS, NOTHING), tir.Evaluate(ACTS)),
        (tir.Allocate(A.data, "int32", (8,), None, NOTHING), NOTHING),
        (tir.AttrStmt(0, "pragma_debug_skip_region", 1, store()), NOTHING),
        (tir.SeqStmt([NOTHING, tir.SeqStmt([store(), NOTHING])]), store()),
        (tir.SeqStmt([NOTHING, NOTHING]), NOTHING),
    ],
)
def test_what_does_nothing_goes(before: tir.Stmt, after: tir.Stmt):
    assert_structural_equal(body_after(RemoveNoOp(), before), after)


def test_what_does_something_stays_the_same_object():
    body = tir.SeqStmt([store(1), loop(OUTER, store(2))])
    assert body_after(RemoveNoOp(), body) is body


def test_a_load_is_guarded_where_it_may_be_out_of_bounds():
    load = tir.BufferLoad(A, [N - 1])
    func = tir.PrimFunc((A, N), store(tir.Select(N >= 1, load, tir.const(7))))
    with pytest.raises(EvaluationError, match="got -1"):
        evaluate(func, [np.zeros(8, "int32"), 0])
    after: Any = RewriteUnsafeSelect()(IRModule({"main": func}))["main"]
    array = np.zeros(8, "int32")
    evaluate(after, [array, 0])
    assert array[0] == 7


def test_selections_of_what_is_safe_stay():
    body = store(tir.Select(N >= 1, N - 1, tir.truncdiv(N, 3)))
    assert body_after(RewriteUnsafeSelect(), body) is body
    lanes = tir.Select(
        tir.Ramp(0, 1, 4) < tir.Broadcast(2, 4),
        tir.Load("int32x4", A.data, tir.Ramp(0, 1, 4)),
        tir.Broadcast(0, 4),
    )
    body = tir.Store(A.data, lanes, tir.Ramp(4, 1, 4))
    assert body_after(RewriteUnsafeSelect(), body) is body


def test_a_selection_is_safe_whose_sides_are_selections():
    load = tir.BufferLoad(A, [0])
    inner = tir.Select(N > 2, load, tir.const(1))
    after = body_after(RewriteUnsafeSelect(), store(tir.Select(N > 1, inner, inner)))
    assert isinstance(after.value, tir.Select)
    assert after.value.true_value.op.name == "tir.if_then_else"


def test_a_condition_leaves_all_loops_that_it_does_not_depend_on():
    body = loop(
        OUTER, loop(MIDDLE, loop(INNER, tir.IfThenElse(OUTER < N, store(1), store(2))))
    )
    after = body_after(HoistIfThenElse(), body)
    assert verify_ssa(after)
    assert isinstance(after.body, tir.IfThenElse)
    nest = loop(MIDDLE, loop(INNER, store(1))), loop(MIDDLE, loop(INNER, store(2)))
    expected = loop(OUTER, tir.IfThenElse(OUTER < N, nest[0], nest[1]))
    assert_structural_equal(after, convert_ssa(expected))


def test_conditions_in_conditions_leave_one_after_the_other():
    inner = tir.IfThenElse(OUTER > 1, tir.IfThenElse(MIDDLE > 1, store()))
    after = body_after(HoistIfThenElse(), loop(OUTER, loop(MIDDLE, loop(INNER, inner))))
    within = loop(MIDDLE, tir.IfThenElse(MIDDLE > 1, loop(INNER, store())))
    assert_structural_equal(after, loop(OUTER, tir.IfThenElse(OUTER > 1, within)))


@pytest.mark.parametrize(
    "condition",
    [
        OUTER > 2,  # differs between rounds
        tir.BufferLoad(A, [0]) < 3,  # which the loop writes
        tir.truncdiv(tir.const(6), N) > 1,  # which fails where the loop has no rounds
        tir.const(4) < tir.call_extern("int32", "act"),
    ],
)
def test_a_condition_stays_that_may_not_be_moved(condition: tir.PrimExpr):
    body = loop(OUTER, tir.IfThenElse(condition, store()))
    assert body_after(HoistIfThenElse(), body) is body


def test_a_condition_beside_other_statements_stays():
    body = loop(OUTER, tir.SeqStmt([tir.IfThenElse(N > 1, store()), store(2)]))
    assert body_after(HoistIfThenElse(), body) is body


@pytest.mark.parametrize("across", [False, True])
def test_what_attributes_define_is_left_unless_asked_for(across: bool):
    axis = tir.IterVar((0, 4), "tx", 1, "threadIdx.x")
    nest = loop(OUTER, tir.IfThenElse(axis.var < N, store()))
    body = tir.AttrStmt(axis, "thread_extent", 4, nest)
    config = {"tir.HoistIfThenElse": {"support_block_scope_hosting": across}}
    with PassContext(config=config):
        after = body_after(HoistIfThenElse(), body)
        basic = body_after(HoistIfThenElse("basic"), body)
    assert isinstance(after.body, tir.IfThenElse) is across
    assert basic is body


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (loop(OUTER, store(tir.floordiv(OUTER * 4, 4))), loop(OUTER, store(OUTER))),
        (loop(OUTER, tir.IfThenElse(OUTER < 4, store())), loop(OUTER, store())),
        (loop(OUTER, tir.IfThenElse(OUTER < 0, store())), loop(OUTER, NOTHING)),
        (loop(OUTER, store(), N + 3 - N), loop(OUTER, store(), 3)),
        (A.vstore([N + 1], A.vload([tir.Add(tir.const(1), N)])), NOTHING),
    ],
)
def test_what_is_known_where_it_stands_is_made_use_of(before: Any, after: Any):
    assert_structural_equal(body_after(Simplify(), before), after)
