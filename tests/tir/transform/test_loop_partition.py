"""LoopPartition: the parts of loops, and that they do what the loops do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import IRModule, tir
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.tir.analysis import function_faults
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.transform import LoopPartition
from parpass.tir.transform.partition.partition_finder import is_likely
from parpass.transform import PassContext

A = tir.decl_buffer((512,), "int32", "A")
X, Y, Z = (tir.Var(name) for name in "ijk")
N, M = tir.SizeVar("n"), tir.SizeVar("m")
ANY = tir.Var("x")  # of which no sign is known
CONSTANT = {"partition_const_loop": True}


def body_after(body: tir.Stmt, **option: bool) -> Any:
    func = tir.PrimFunc((A, N, M, ANY), body)
    with PassContext(config={"tir.LoopPartition": option}):
        return LoopPartition()(IRModule({"main": func}))["main"].body


def loop(var: tir.Var, extent: Any, body: tir.Stmt, kind: int = 0) -> tir.For:
    return tir.For(var, 0, extent, kind, body)


def store(index: Any, value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(A, value, [index])


def guarded(condition: Any, body: tir.Stmt) -> tir.Stmt:
    return tir.IfThenElse(tir.likely(condition), body)


def truth(value: int) -> tir.IntImm:
    return tir.IntImm("bool", value)


def conditions(stmt: tir.Stmt) -> list[str]:
    return [
        type(node.condition).__name__
        for node in post_order(stmt)
        if isinstance(node, tir.IfThenElse)
    ]


def test_a_loop_is_cut_where_its_condition_ceases_to_hold():
    nest = loop(X, M + N, loop(Y, 4, guarded(X * 4 + Y < M * 4, store(X * 4 + Y))))
    first, last = body_after(nest).seq
    index = X * 4 + Y
    assert_structural_equal(
        first, loop(X, M, loop(Y, 4, tir.IfThenElse(truth(1), store(index))))
    )
    moved = (X + M) * 4 + Y
    expected = loop(X, N, loop(Y, 4, tir.IfThenElse(truth(0), store(moved))))
    assert_structural_equal(last, expected)


def test_what_is_not_known_to_be_within_the_loop_is_brought_within_it():
    cut = body_after(loop(X, N, guarded(X < M, store(X))))
    first, last = cut.seq
    assert_structural_equal(first.extent, tir.min(M, N))
    assert conditions(cut) == ["IntImm", "GT"]
    assert isinstance(last, tir.For)


@pytest.mark.parametrize("option", [{}, {"no_unroll_loop_with_extent_one": True}])
def test_a_part_of_one_round_is_no_loop_unless_wanted(option: dict[str, bool]):
    cut = body_after(loop(X, 10, guarded(tir.EQ(X, 5), store(X))), **CONSTANT, **option)
    before, at, behind = cut.seq
    assert (before.extent.value, behind.extent.value) == (5, 4)
    assert isinstance(at, tir.For) is bool(option)
    assert conditions(cut) == ["EQ", "IntImm", "EQ"]


def test_loops_of_constant_bounds_are_cut_if_wanted_or_hinted_at():
    nest = loop(X, 8, guarded(X < 5, store(X)))
    assert isinstance(body_after(nest), tir.For)
    assert len(body_after(nest, **CONSTANT).seq) == 2
    plain = loop(X, 8, tir.IfThenElse(X < 5, store(X)))
    hint = tir.AttrStmt(X, "pragma_loop_partition_hint", 1, plain)
    assert len(body_after(hint).seq) == 2


def test_marks_and_hints_go_and_all_else_stays_the_same_object():
    kept = loop(X, N, store(X))
    marked = tir.AttrStmt(Y, "pragma_loop_partition_hint", 1, guarded(ANY < 3, kept))
    after = body_after(marked)
    assert conditions(after) == ["LT"]
    assert after.then_case is kept
    assert body_after(kept) is kept


def test_conditions_that_are_joined_are_known_each_by_itself():
    both = tir.all(X < 5, ANY < 3)
    cut = body_after(loop(X, 8, guarded(both, store(X))), **CONSTANT)
    assert [one.extent.value for one in cut.seq] == [5, 3]
    first = cut.seq[0].body.condition
    assert isinstance(first.a, tir.IntImm)
    assert isinstance(first.b, tir.LT)


def let(value: Any, body: tir.Stmt) -> tir.Stmt:
    return tir.LetStmt(Z, value, body)


@pytest.mark.parametrize(
    "body",
    [
        loop(X, N, guarded(tir.BufferLoad(A, [0]) > X, store(0))),  # which it changes
        loop(X, tir.BufferLoad(A, [0]), guarded(X < M, store(0))),
        loop(X, N, guarded(tir.floordiv(M, ANY) > X, store(X))),  # by 0, perhaps
        loop(X, N, guarded(X * ANY < M, store(X))),
        loop(X, N, let(tir.BufferLoad(A, [X]), guarded(X < Z, store(X)))),
        loop(X, N, loop(Y, X, guarded(X + Y < M, store(X)))),
        loop(X, N, guarded(X < M, store(X)), tir.ForKind.VECTORIZED),
        loop(X, N, guarded(tir.EQ(tir.floormod(X, 2), 0), store(X))),
        loop(X, N, tir.IfThenElse(X < M, store(X))),
    ],
)
def test_a_loop_stays_whole_if_nothing_is_known(body: tir.Stmt):
    assert isinstance(body_after(body), tir.For)


def test_a_variable_of_a_let_counts_by_what_it_is():
    body = let(Y + 1, guarded(X + Z < N, store(X)))
    cut = body_after(loop(X, N, loop(Y, 3, body)))
    assert conditions(cut) == ["IntImm", "LT"]


@pytest.mark.slow
def test_a_nest_of_many_loops_has_a_bounded_number_of_parts():
    variables = [tir.Var(f"i{at}") for at in range(8)]
    body = store(0)
    for var in variables:
        body = loop(var, 5, guarded(var < 3, body))
    after = body_after(body, **CONSTANT)
    assert 500 < len(post_order(after)) < 30_000


Draw = st.DrawFn


@st.composite
def partitionable(draw: Draw) -> Any:
    """Return a function of nested loops with conditions marked as likely."""
    scale, size = tir.Var("scale"), tir.SizeVar("size")
    variables: list[Any] = []

    def sums() -> tir.PrimExpr:
        found: Any = tir.const(draw(st.integers(-3, 9)))
        for var in draw(
            st.lists(st.sampled_from([*variables, scale, size]), max_size=3)
        ):
            found += var * draw(st.sampled_from((-2, -1, 1, 2, 3)))
        return found

    def condition() -> tir.PrimExpr:
        kinds = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)
        one = draw(st.sampled_from(kinds))(sums(), sums())
        if draw(st.integers(0, 3)):
            return tir.likely(one)
        join = draw(st.sampled_from((tir.And, tir.Or)))
        return tir.likely(join(one, tir.Not(draw(st.sampled_from(kinds))(sums(), 2))))

    def statement(depth: int) -> tir.Stmt:
        if depth == 0:
            index = tir.floormod(sums(), 512)
            return store(index, tir.BufferLoad(A, [index]) * 3 + sums() % 7)
        kind = draw(st.sampled_from(("for", "for", "if", "if", "seq")))
        if kind == "seq":
            return tir.SeqStmt([statement(depth - 1), statement(depth - 1)])
        if kind == "if":
            other = statement(0) if draw(st.booleans()) else None
            return tir.IfThenElse(condition(), statement(depth - 1), other)
        var, extent = tir.Var(f"i{len(variables)}"), draw(st.integers(0, 6))
        count = draw(
            st.sampled_from((tir.const(extent), size + extent, scale + extent))
        )
        low = draw(st.sampled_from((tir.const(0), tir.const(2), scale)))
        variables.append(var)
        body = statement(depth - 1)
        variables.pop()
        return tir.For(var, low, count, tir.ForKind.SERIAL, body)

    handle = tir.Var("a", "handle")
    return tir.PrimFunc((handle, scale, size), statement(4), None, {handle: A})


@pytest.mark.slow
@given(func=partitionable(), constants=st.booleans())
@settings(deadline=None, max_examples=25, database=None)
def test_the_parts_do_what_the_loops_do(func: Any, constants: bool):
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": constants}}):
        after: Any = LoopPartition()(IRModule({"main": func}))["main"]
    assert function_faults(after) == []
    for scale, size in ((0, 1), (-3, 5), (2, 0)):
        expected, got = (np.arange(512, dtype="int32") for _ in range(2))
        evaluate(func, [expected, scale, size])
        evaluate(after, [got, scale, size])
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_loops_whose_bounds_grow_do_not_take_the_time_of_a_square():
    mark, total = tir.Var("m"), tir.Var("i0")
    loops = [(total, tir.const(4))]
    for at in range(1, 3_000):  # for which a square took minutes
        var = tir.Var(f"i{at}")
        loops.append((var, total + 1))
        total = total + var
    body: Any = tir.IfThenElse(tir.likely(total < mark), tir.Evaluate(mark))
    for var, extent in reversed(loops):
        body = tir.For(var, 0, extent, tir.ForKind.SERIAL, body)
    func = tir.PrimFunc([mark], body)
    with PassContext(config={"tir.LoopPartition": CONSTANT}):
        after: Any = LoopPartition()(IRModule({"main": func}))["main"]
    assert not any(map(is_likely, post_order(after)))
