"""The builder makes statements in the order in which they run."""

from __future__ import annotations

import pytest

from parpass import structural_equal, tir
from parpass.tir import ir_builder


def test_loops_conditions_and_stores_are_nested_as_they_are_written():
    ib = ir_builder.create()
    n = tir.Var("n", "int32")
    a = ib.allocate("float32", n, name="A")
    with ib.for_range(0, n) as i:
        with ib.if_scope((i % 2) == 0):
            a[i] = a[i] + 1
        with ib.else_scope():
            a[0] = a[i] + 2.0
    stmt = ib.get()
    assert isinstance(stmt, tir.Allocate)
    loop = stmt.body
    assert isinstance(loop, tir.For)
    assert loop.loop_var.name == "i"
    assert loop.extent is n
    choice = loop.body
    assert isinstance(choice, tir.IfThenElse)
    assert isinstance(choice.condition, tir.EQ)
    assert isinstance(choice.then_case, tir.Store)
    assert isinstance(choice.else_case, tir.Store)


def test_a_let_and_an_attribute_are_for_all_that_follows():
    ib = ir_builder.create()
    x = ib.pointer("int32")
    x[0] = 1
    y = ib.let("y", x[0] + 1)
    ib.scope_attr("all", "key", 1)
    x[1] = y
    x[2] = y
    stmt = ib.get()
    assert isinstance(stmt, tir.SeqStmt)
    assert [type(one) for one in stmt.seq] == [tir.Store, tir.LetStmt]
    let = stmt.seq[1]
    assert isinstance(let, tir.LetStmt)
    assert isinstance(let.body, tir.AttrStmt)
    assert len(tir.stmt_list(let.body.body)) == 2


def test_several_indices_are_one_place_in_memory():
    ib = ir_builder.create()
    a = ib.allocate("int32", (4, 8))
    i, j = tir.Var("i"), tir.Var("j")
    assert structural_equal(a[i, j].index, j + i * 8)
    buffer = tir.decl_buffer((4, 8), "int32")
    assert structural_equal(ib.buffer_ptr(buffer)[i, j].index, j + i * 8)
    assert isinstance(ib.allocate("float32x4", 4)[i].index, tir.Ramp)
    with pytest.raises(TypeError, match="expected 2 indices for 'buf', got 1"):
        _ = a[(i,)]


def test_a_while_loop_runs_while_its_condition_holds():
    ib = ir_builder.create()
    count = ib.allocate("int32", (1,), name="count")
    with ib.while_loop(count[0] < 10):
        count[0] += 1
    stmt = ib.get()
    assert isinstance(stmt, tir.Allocate)
    assert isinstance(stmt.body, tir.While)


def test_names_of_loops_are_those_of_tvm():
    ib = ir_builder.create()
    names: list[str] = []
    for kind in ("serial", "parallel", "vectorize", "unroll", "serial"):
        with ib.for_range(0, 4, kind=kind) as i:
            names.append(i.name)
    assert names == ["i", "j", "k", "i_0", "i_1"]
    kinds = [one.kind for one in tir.stmt_list(ib.get()) if isinstance(one, tir.For)]
    assert kinds == [0, 1, 2, 3, 0]


def test_what_cannot_stand_there_is_refused():
    ib = ir_builder.create()
    x = ib.pointer("int32")
    with pytest.raises(RuntimeError, match="else_scope can only follow an if_scope"):
        ib.else_scope()
    with pytest.raises(ValueError, match="data type does not match content type"):
        x[0] = 1.5
    with pytest.raises(ValueError, match="Unknown kind"):
        ib.for_range(0, 4, kind="fast")
    scope = ib.new_scope()
    scope.__enter__()
    with pytest.raises(RuntimeError, match="inside construction scope"):
        ib.get()
    scope.__exit__(None, None, None)
    assert isinstance(ib.get(), tir.Evaluate)


def test_an_error_leaves_the_scope_without_its_loop():
    ib = ir_builder.create()
    with pytest.raises(KeyError, match="stop"), ib.for_range(0, 4):
        raise KeyError("stop")
    assert isinstance(ib.get(), tir.Evaluate)
