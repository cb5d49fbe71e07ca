"""UnrollLoop: which loops are unrolled, under TVM's options, and into what."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import IRModule, tir, transform
from parpass.errors import ConfigValueError, IRError
from parpass.ir.structure.structural import assert_structural_equal
from parpass.tir.analysis import verify_ssa
from parpass.tir.transform import UnrollLoop
from tests.support.loop_values import assert_same_values

A = tir.decl_buffer((64,), "int32", "A")
OUTER, INNER = tir.Var("i"), tir.Var("j")


def store(index: Any, value: Any = 1) -> tir.Stmt:
    return tir.BufferStore(A, value, [index])


def loop(var: tir.Var, extent: Any, body: tir.Stmt, kind: str = "SERIAL") -> tir.For:
    return tir.For(var, 0, extent, tir.ForKind[kind], body)


def unrolled(body: tir.Stmt, **options: Any) -> Any:
    func = tir.PrimFunc((A,), body)
    with transform.PassContext(config={"tir.UnrollLoop": options}):
        after = UnrollLoop()(IRModule({"main": func}))["main"]
    assert verify_ssa(after)
    assert_same_values(func, after)
    return after.body


def test_a_loop_that_is_marked_becomes_its_rounds():
    found = unrolled(loop(OUTER, 3, store(OUTER, OUTER * 2), "UNROLLED"))
    expected = tir.SeqStmt([store(at, tir.Mul(tir.const(at), 2)) for at in range(3)])
    assert_structural_equal(found, expected)


def test_the_example_of_tvms_document_runs():
    body = loop(OUTER, 4, loop(INNER, 2, store(OUTER * 2 + INNER)))
    mod = IRModule({"main": tir.PrimFunc((A,), body)})
    with transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}):
        after: Any = UnrollLoop()(mod)["main"].body
        assert (
            transform.PassContext.current().config["tir.UnrollLoop"].auto_max_step == 10
        )
    assert len(after.seq) == 8


@pytest.mark.parametrize(("most", "count"), [(7, 1), (8, 8)])
def test_short_loops_are_unrolled_by_the_number_of_their_steps(most: int, count: int):
    found = unrolled(loop(OUTER, 8, store(OUTER)), auto_max_step=most)
    assert len(tir.stmt_list(found)) == count


def test_loops_are_unrolled_by_the_number_of_their_rounds():
    body = loop(OUTER, 2, loop(INNER, 5, store(OUTER * 5 + INNER)))
    assert isinstance(unrolled(body, auto_max_extent=4), tir.For)
    found = unrolled(loop(OUTER, 4, store(OUTER)), auto_max_extent=4)
    assert len(found.seq) == 4


def test_loops_around_others_that_stay_are_not_unrolled_by_themselves():
    inner = loop(INNER, 9, store(INNER))
    found = unrolled(loop(OUTER, 2, inner), auto_max_step=4)
    assert found.loop_var is OUTER


def test_no_deeper_than_asked_for_in_unrolled_loops():
    body: tir.Stmt = store(0)
    for at in range(4):
        body = loop(tir.Var(f"k{at}"), 2, body)
    found = unrolled(body, auto_max_step=100, auto_max_depth=1)
    assert isinstance(found, tir.For)


def test_without_explicit_unroll_loops_are_marked():
    found = unrolled(
        loop(OUTER, 4, store(OUTER)), auto_max_step=8, explicit_unroll=False
    )
    assert found.kind == tir.ForKind.UNROLLED


def test_pragmas_say_it_for_a_statement():
    marked = tir.AttrStmt(
        0, "pragma_auto_unroll_max_step", 16, loop(OUTER, 4, store(OUTER))
    )
    found = unrolled(tir.SeqStmt([marked, loop(INNER, 4, store(INNER))]))
    assert len(found[0].seq) == 4
    assert isinstance(found[1], tir.For)


def test_trivial_loops_go_with_what_is_in_them_in_one_go():
    body: tir.Stmt = store(tir.Var("unused") * 0)
    names = [tir.Var(f"k{at}") for at in range(5)]
    body = store(names[-1] + names[0])
    for name, outer in zip(names[::-1], [*names[-2::-1], None], strict=True):
        begin = 1 if outer is None else outer + 1
        body = tir.For(name, begin, 1, tir.ForKind.SERIAL, body)
    found = unrolled(body, auto_max_extent=1)
    assert isinstance(found, tir.BufferStore)


def test_the_number_of_rounds_may_have_to_be_found():
    n = tir.Var("n")
    func = tir.PrimFunc((A, n), loop(OUTER, n + 3 - n, store(OUTER), "UNROLLED"))
    after: Any = UnrollLoop()(IRModule({"main": func}))["main"]
    assert len(after.body.seq) == 3


def test_a_marked_loop_of_an_unknown_number_of_rounds_is_refused():
    func = tir.PrimFunc((A,), loop(OUTER, tir.Var("n"), store(OUTER), "UNROLLED"))
    with pytest.raises(IRError, match="Cannot unroll non-constant loop"):
        UnrollLoop()(IRModule({"main": func}))


def test_an_option_that_there_is_not_is_refused():
    with pytest.raises(ConfigValueError, match="auto_max_step"):
        transform.PassContext(config={"tir.UnrollLoop": {"auto_max_stop": 1}})


def test_a_function_without_such_loops_stays_the_same_object():
    func = tir.PrimFunc((A,), loop(OUTER, 4, store(OUTER)))
    mod = IRModule({"main": func})
    assert UnrollLoop()(mod)["main"] is func
