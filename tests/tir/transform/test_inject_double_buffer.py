"""InjectDoubleBuffer: memory of two halves, filled for the round that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass import IRModule, tir
from parpass.errors import IRError
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


def test_the_memory_is_doubled_and_outside_of_the_loop():
    after = rewritten(program(6), 2)
    assert [int(one) for one in after.body.extents] == [2, 4]
    first, loop, *left = after.body.body.seq
    assert first.loop_var.name == "j"
    assert (loop.loop_var.name, int(loop.extent)) == ("i.outer", 2)
    assert len(left) == 4


def test_a_loop_may_begin_anywhere_that_is_not_split():
    func = program(4, begin=1)
    assert run(rewritten(func, 0)) == run(func)


def test_programs_without_marks_stay_the_same_object():
    func = tir.PrimFunc([], tir.Evaluate(0))
    assert rewritten(func, 1) is func


@pytest.mark.parametrize(
    ("split", "begin", "message"),
    [(3, 0, "It is better to split with multiple of 2"), (2, 1, "to begin at 0")],
)
def test_what_cannot_be_split_is_refused(split: int, begin: int, message: str):
    with pytest.raises(IRError, match=message):
        rewritten(program(5, begin=begin), split)


def test_a_mark_outside_of_loops_is_refused():
    own = tir.decl_buffer((4,), "int32", "B")
    marked = tir.AttrStmt(own.data, "double_buffer_scope", 1, own.vstore([0], 1))
    body = tir.Allocate(own.data, "int32", (4,), None, marked)
    with pytest.raises(IRError, match="Double buffer scope must be inside a loop"):
        rewritten(tir.PrimFunc([], body), 1)


@pytest.mark.parametrize("reads", [False, True])
def test_an_access_before_the_mark_is_refused(reads: bool):
    own = tir.decl_buffer((4,), "int32", "B")
    out = tir.decl_buffer((4,), "int32", "C")
    before = out.vstore([0], own.vload([0])) if reads else own.vstore([0], 1)
    marked = tir.AttrStmt(own.data, "double_buffer_scope", 1, own.vstore([0], 1))
    loop = tir.For(tir.Var("i"), 0, 4, 0, tir.SeqStmt([before, marked]))
    body = tir.Allocate(own.data, "int32", (4,), None, loop)
    with pytest.raises(IRError, match="expected 'B' to be accessed in and behind"):
        rewritten(tir.PrimFunc((out,), body), 1)
