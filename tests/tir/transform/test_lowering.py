"""Passes on the way to machine code: divisions, places in memory, checks of bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import (
    FlattenBuffer,
    InstrumentBoundCheckers,
    LowerIntrin,
    PrimFuncPass,
    StorageFlatten,
)
from parpass.transform import Sequential

DIVIDENDS = [*range(-9, 10), 127, -127]


def rewritten(a_pass: Any, func: tir.PrimFunc) -> Any:
    return a_pass(IRModule({"main": func}))["main"]


def kinds(func: tir.PrimFunc) -> set[str]:
    found: set[str] = set()

    def visit(node: Any) -> None:
        found.add(type(node).__name__)

    tir.stmt_functor.post_order_visit(func.body, visit)
    return found


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("divisor", [-7, -2, -1, 1, 3, 8, None])
def test_divisions_that_round_down_are_computed_by_others(
    dtype: str, divisor: int | None
):
    if dtype == "uint8" and (divisor or 1) < 0:
        divisor = 5
    x, y = tir.Var("x", dtype), tir.Var("y", dtype)
    b = y if divisor is None else tir.const(divisor, dtype)
    out = tir.decl_buffer((2,), dtype, "out")
    stores = [
        tir.BufferStore(out, tir.FloorDiv(x + y - y, b), [0]),
        tir.BufferStore(out, tir.FloorMod(x, b), [1]),
    ]
    func = tir.PrimFunc((out, x, y), tir.SeqStmt(stores))
    lowered = rewritten(LowerIntrin(), func)
    assert not kinds(lowered) & {"FloorDiv", "FloorMod"}
    for dividend in DIVIDENDS:
        for other in (-4, 3) if divisor is None and dtype != "uint8" else (7,):
            args = [abs(dividend) if dtype == "uint8" else dividend, other]
            before, after = np.zeros((2, 2), dtype)
            evaluate(func, [before, *args])
            evaluate(lowered, [after, *args])
            assert after.tolist() == before.tolist()


def test_divisions_of_vectors_and_of_floats_are_lowered_too():
    a, f = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((2,), "float32", "F")
    body = tir.SeqStmt(
        [
            tir.Store(
                a.data,
                tir.FloorMod(tir.Ramp(-5, 3, 4), tir.Broadcast(3, 4)),
                tir.Ramp(0, 1, 4),
            ),
            f.vstore([0], tir.FloorDiv(f.vload([1]), tir.const(0.75, "float32"))),
        ]
    )
    lowered = rewritten(LowerIntrin(), tir.PrimFunc((a, f), body))
    assert not kinds(lowered) & {"FloorDiv", "FloorMod"}
    ints, floats = np.zeros(4, "int32"), np.array([0, -2], "float32")
    evaluate(lowered, [ints, floats])
    assert ints.tolist() == [1, 1, 1, 1]
    assert floats.tolist() == [-3, -2]


@pytest.mark.parametrize("a_pass", [FlattenBuffer(), StorageFlatten()])
def test_elements_become_places_in_memory(a_pass: PrimFuncPass):
    a, b = tir.decl_buffer((4, 8), "bool", "A"), tir.decl_buffer((4, 8), "bool", "B")
    i, j = tir.Var("i"), tir.Var("j")
    stored = tir.BufferStore(b, tir.Not(tir.BufferLoad(a, [i, j])), [i, j])
    body = tir.For(i, 0, 4, 0, tir.For(j, 0, 8, 0, stored))
    func = rewritten(a_pass, tir.PrimFunc((a, b), body))
    assert not kinds(func) & {"BufferLoad", "BufferStore"}
    given = np.arange(32).reshape(4, 8) % 3 == 0
    found = np.zeros((4, 8), bool)
    evaluate(func, [given, found])
    assert (found == ~given).all()


def test_a_region_that_is_realized_becomes_memory():
    own, out = tir.decl_buffer((9,), "int32", "own"), tir.decl_buffer((1,), "int32")
    body = tir.BufferRealize(
        own,
        [tir.Range.from_min_extent(5, 2)],
        tir.const_true(),
        tir.SeqStmt(
            [
                tir.BufferStore(own, 3, [6]),
                tir.BufferStore(out, tir.BufferLoad(own, [6]) * 2, [0]),
            ]
        ),
    )
    func = rewritten(FlattenBuffer(), tir.PrimFunc((out,), body))
    assert [int(one) for one in func.body.extents] == [2]
    found = np.zeros(1, "int32")
    evaluate(func, [found])
    assert found.tolist() == [6]


CHECKED = Sequential(
    [StorageFlatten(create_bound_attribute=True), InstrumentBoundCheckers()]
)


@pytest.mark.parametrize(("first", "fails"), [(0, False), (3, True), (-1, True)])
def test_accesses_out_of_bounds_become_assertions_that_fail(first: int, fails: bool):
    a, b = tir.decl_buffer((8,), "int32", "A"), tir.decl_buffer((8,), "int32", "B")
    i, begin = tir.Var("i"), tir.Var("begin")
    stored = tir.BufferStore(b, tir.BufferLoad(a, [i + begin]), [i])
    func = tir.PrimFunc((a, b, begin), tir.For(i, 0, 6, 0, stored))
    args = [np.zeros(8, "int32"), np.zeros(8, "int32"), first]
    checked = rewritten(CHECKED, func)
    if not fails:
        evaluate(checked, args)
        return
    with pytest.raises(EvaluationError, match="OUT OF THE BOUNDS"):
        evaluate(checked, args)


def test_the_first_and_the_last_lane_of_a_ramp_are_checked():
    own = tir.decl_buffer((8,), "int32", "own")
    i = tir.Var("i")
    stored = tir.Store(own.data, tir.Broadcast(1, 4), tir.Ramp(i, 2, 4))
    body = tir.Allocate(own.data, "int32", (8,), None, stored)
    checked = rewritten(InstrumentBoundCheckers(), tir.PrimFunc((i,), body))
    evaluate(checked, [1])
    for begin in (-1, 2):
        with pytest.raises(EvaluationError, match="OUT OF THE BOUNDS"):
            evaluate(checked, [begin])


@pytest.mark.parametrize(("place", "fails"), [(7, False), (8, True)])
def test_what_is_loaded_for_a_name_is_checked(place: int, fails: bool):
    a, i, x = tir.decl_buffer((8,), "int32", "A"), tir.Var("i"), tir.Var("x")
    stored = tir.BufferStore(a, x, [0])
    func = tir.PrimFunc((a, i), tir.LetStmt(x, tir.BufferLoad(a, [i]), stored))
    checked = rewritten(CHECKED, func)
    args: list[Any] = [np.arange(8, dtype="int32"), place]
    if not fails:
        evaluate(checked, args)
        assert args[0][0] == 7
        return
    with pytest.raises(EvaluationError, match="OUT OF THE BOUNDS"):
        evaluate(checked, args)


def fails(body: tir.Stmt, *params: Any, args: Any) -> bool:
    """Return whether a checked function says that an access is out of bounds."""
    checked = rewritten(CHECKED, tir.PrimFunc(params, body))
    try:
        evaluate(checked, list(args))
    except EvaluationError as error:
        assert "OUT OF THE BOUNDS" in str(error)  # noqa: PT017 -- else it is another one
        return True
    return False


A, B = tir.decl_buffer((8,), "int32", "A"), tir.decl_buffer((8,), "int32", "B")
N = tir.Var("n")
READ = tir.BufferLoad(A, [N])
NOT_BEFORE = {
    "if_then_else": tir.if_then_else(N >= 0, READ, 0),
    "its other side": tir.if_then_else(N < 0, 0, READ),
    "and": tir.all(N >= 0, READ == 5).astype("int32"),
    "or": tir.any(N < 0, READ == 5).astype("int32"),
}


@pytest.mark.parametrize("guard", NOT_BEFORE)
def test_a_load_is_checked_on_the_condition_that_it_is_evaluated(guard: str):
    body = tir.BufferStore(B, NOT_BEFORE[guard], [0])
    found = [
        fails(body, A, B, N, args=[np.zeros(8, "int32"), np.zeros(8, "int32"), n])
        for n in (-1, 0, 7, 8)
    ]
    assert found == [False, False, False, True]


def test_the_index_of_a_load_is_checked_before_the_load():
    body = tir.BufferStore(B, tir.BufferLoad(A, [READ]), [0])
    given = np.array([7, 8, 0, 0, 0, 0, 0, 0], "int32")
    found = [fails(body, A, B, N, args=[given, given.copy(), n]) for n in (0, 1, 99)]
    assert found == [False, True, True]


def test_what_a_condition_and_an_extent_load_is_checked():
    stored = tir.BufferStore(B, 1, [0])
    for body in (
        tir.IfThenElse(READ > 0, stored),
        tir.For(tir.Var("i"), 0, READ, 0, stored),
        tir.Evaluate(tir.sin(READ.astype("float32"))),
    ):
        args = [np.zeros(8, "int32"), np.zeros(8, "int32")]
        assert [fails(body, A, B, N, args=[*args, n]) for n in (7, 8)] == [False, True]


def loaded(index: Any, predicate: Any = None) -> tir.Stmt:
    value = tir.Load("int32x4", A.data, index, predicate)
    return tir.Store(B.data, value, tir.Ramp(0, 1, 4))


FOUR = tir.Ramp(0, 1, 4)
LANES = {
    "neighbours": (loaded(tir.Ramp(N, 1, 4)), 4),
    "of which three are read": (
        loaded(tir.Ramp(N, 1, 4), tir.LT(FOUR, tir.Broadcast(3, 4))),
        5,
    ),
    "of which some are read": (
        loaded(tir.Ramp(N, 1, 4), tir.LT(FOUR, tir.Broadcast(8 - N, 4))),
        99,
    ),
    "any": (loaded(tir.Ramp(0, 1, 4) * tir.Broadcast(N, 4)), 2),
}


@pytest.mark.parametrize("which", LANES)
def test_each_lane_that_is_accessed_is_checked(which: str):
    body, last = LANES[which]
    args = [np.zeros(8, "int32"), np.zeros(8, "int32")]
    assert not fails(body, A, B, N, args=[*args, last])
    if last < 99:
        assert fails(body, A, B, N, args=[*args, last + 1])
    assert fails(body, A, B, N, args=[*args, -1])
