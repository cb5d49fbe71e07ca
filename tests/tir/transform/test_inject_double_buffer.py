"""InjectDoubleBuffer: memory of two halves, filled for the round that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import InjectDoubleBuffer
from parpass.transform import PassContext


def program(count: Any, *, begin: int = 0) -> tir.PrimFunc:
    """Return `C[i] = sum of A[4 * i : 4 * i + 4]`, through memory of its own."""
    ib = tir.ir_builder.create()
    a, c = ib.pointer("int32", name="A"), ib.pointer("int32", name="C")
    with ib.for_range(begin, count, name="i") as i:
        own = ib.allocate("int32", 4, name="B")
        with ib.new_scope():
            ib.scope_attr(own.asobject(), "double_buffer_scope", 1)
            with ib.for_range(0, 4, name="j") as j:
                own[j] = a[i * 4 + j]
        with ib.for_range(0, 4, name="k") as k:
            c[i] = c[i] + own[k]
    return tir.PrimFunc([a, c], ib.get())


def rewritten(func: tir.PrimFunc, split: int) -> Any:
    with PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": split}}):
        return InjectDoubleBuffer()(IRModule({"main": func}))["main"]


def run(func: tir.PrimFunc) -> list[int]:
    c = np.zeros(7, "int32")
    evaluate(func, [np.arange(28, dtype="int32"), c])
    return c.tolist()


@pytest.mark.parametrize("count", [1, 2, 5, 7])
@pytest.mark.parametrize("split", [0, 1, 2, 4])
def test_the_program_computes_what_it_did(count: int, split: int):
    func = program(count)
    after = rewritten(func, split)
    assert function_faults(after) == []
    assert run(after) == run(func)


def test_a_loop_may_begin_anywhere_that_is_not_split():
    func = program(4, begin=1)
    assert run(rewritten(func, 0)) == run(func)
