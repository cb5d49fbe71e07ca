"""Passes take as many steps for each loop, however long the bounds of loops grow."""

from __future__ import annotations

import cProfile
from typing import Any

import pytest

from parpass import tir
from parpass.ir.module import IRModule


def nest(size: int) -> IRModule:
    """Return loops within each other, each as long as all variables around it."""
    total: Any = tir.Var("m", "int64")
    loops: list[tuple[tir.Var, Any]] = []
    for at in range(size):
        var = tir.Var(f"i{at}", "int64")
        loops.append((var, total))
        total = total + var
    body: Any = tir.Evaluate(total)
    for var, extent in reversed(loops):
        body = tir.For(var, 0, extent, tir.ForKind.SERIAL, body)
    return IRModule({"main": tir.PrimFunc([loops[0][1]], body)})


def calls_of(a_pass: Any, mod: IRModule) -> int:
    """Return how many functions are called while a pass runs."""
    profile = cProfile.Profile()
    profile.runcall(a_pass, mod)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.slow
@pytest.mark.parametrize(
    "a_pass",
    [tir.transform.Simplify(), tir.transform.UnrollLoop()],
    ids=lambda one: one.info.name,
)
def test_twice_the_loops_take_twice_the_steps(a_pass: Any):
    a_pass(nest(80))  # rules are compiled when they are first needed
    few, many = (calls_of(a_pass, nest(size)) for size in (128, 256))
    assert many < 2.5 * few
