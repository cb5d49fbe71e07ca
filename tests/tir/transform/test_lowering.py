"""Passes on the way to machine code, by what they compute: divisions, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import InstrumentBoundCheckers, LowerIntrin, StorageFlatten
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
