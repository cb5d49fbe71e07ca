"""InstrumentBoundCheckers: what is out of bounds fails, and all else is as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import EvaluationError
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import InstrumentBoundCheckers, StorageFlatten
from parpass.transform import Sequential


def rewritten(a_pass: Any, func: tir.PrimFunc) -> Any:
    return a_pass(IRModule({"main": func}))["main"]


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
