"""The text of a loop program is read as the program that it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from parpass import IRModule, relay, tir
from parpass.errors import SizeLimitError
from parpass.ir.structural import assert_structural_equal
from tests.support.profiles import examples
from tests.support.tir.programs import prim_funcs, vectorized_funcs
from tests.tir.text.loop_texts import any_prim_funcs


def again(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return what the text of a function is read as."""
    mod = IRModule({"main": func, "tir.exp": func})
    text = mod.astext()
    found = relay.parse(text)
    assert found.text(show_meta_data=True) == text
    return found["main"]


@given(any_prim_funcs())
@examples(2)
def test_all_that_can_be_written_is_read_as_it_was(func: tir.PrimFunc):
    assert_structural_equal(again(func), func, map_free_vars=True)


@given(prim_funcs() | vectorized_funcs())
@examples(1)
def test_generated_programs_are_read_as_they_were(func: Any):
    assert_structural_equal(again(func), func)


DEPTH = 3_000


def nested(kind: str) -> tir.Stmt:
    """Return statements in each other."""
    body: tir.Stmt = tir.Evaluate(0)
    for _ in range(DEPTH):
        match kind:
            case "for":
                body = tir.For(tir.Var("i"), 0, 2, tir.ForKind.SERIAL, body)
            case "let":
                body = tir.LetStmt(tir.Var("v"), 1, body)
            case "if":
                body = tir.IfThenElse(tir.Var("b", "bool"), body, tir.Evaluate(1))
            case _:
                body = tir.SeqStmt([tir.Evaluate(1), body])
    return body


@pytest.mark.parametrize("kind", ["for", "let", "if", "seq"])
@pytest.mark.slow
def test_deep_statements_are_read(kind: str):
    func = tir.PrimFunc((), nested(kind))
    text = IRModule({"main": func}).astext()
    assert relay.parse(text).text(show_meta_data=True) == text


@pytest.mark.slow
def test_deep_expressions_are_read():
    left = right = tir.Var("x")
    value: tir.PrimExpr = left
    for _ in range(DEPTH):
        left, right = tir.Add(left, value), tir.Max(tir.Cast("int32", value), right)
    func = tir.PrimFunc((value,), tir.Evaluate(tir.Sub(left, right)))
    assert_structural_equal(again(func), func)


def test_operators_bind_as_tightly_as_in_c():
    text = "@f = primfn(a: int32, b: int32) -> () { a + b*2 - 1/a < b && !(a == b); }"
    shown = str(relay.parse(text)["f"])
    assert "  ((((a + (b*2)) - (1 / a)) < b) && !(a == b));\n" in shown


def test_a_name_is_another_variable_where_it_is_bound_again():
    text = """@f = primfn(n: int32) -> () {
      for (i: int32, 0, n) { i; }
      for (i: int32, 0, n) { i; }
      for (n: int32, 0, 4) { n; }
    }"""
    first, second, third = relay.parse(text)["f"].body.seq
    assert first.loop_var is not second.loop_var
    assert third.body.value is third.loop_var


def test_a_variable_that_is_bound_twice_stays_one():
    i = tir.Var("i")
    loop = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(i))
    func = tir.PrimFunc((), tir.SeqStmt([loop, loop]))
    assert "vars = {i: int32}" in str(func)
    assert_structural_equal(again(func), func)


def test_the_text_of_a_function_alone_is_a_module_of_it():
    func = relay.parse("@f = primfn() -> () { 0; }")["f"]
    assert [*relay.parse(str(func)).functions_by_name] == ["main"]
    named = func.with_attr("global_symbol", "g")
    assert [*relay.parse(str(named)).functions_by_name] == ["g"]
    assert_structural_equal(relay.parse_expr(str(func)), func)


def test_nodes_have_the_places_of_their_text():
    mod = relay.parse("@f = primfn(n: int32) -> () {\n  n + (1*2);\n}\n", "f.tir")
    func = mod["f"]
    sums = func.body.value
    assert str(sums.span) == "f.tir:2:3"
    assert (sums.span.column, sums.span.end_column) == (3, 12)
    assert (sums.b.span.column, sums.b.span.end_column) == (8, 11)
    assert (func.span.line, func.span.end_line) == (1, 3)


def test_functions_of_both_kinds_call_each_other_in_one_text():
    text = """def @main(%x) {
  %x
}

@kernel = primfn(n: int32) -> () {
  @main(n, dtype=void);
}

def @other(%y) {
  @main(%y)
}
"""
    mod = relay.parse(text)
    assert mod.text(show_meta_data=True) == text
    assert mod["kernel"].body.value.op is mod.get_global_var("main")


def test_many_functions_are_read_piece_by_piece():
    one = "@f{} = primfn(n: int32) -> () {{\n  (n + 1);\n}}\n"
    text = "\n".join(one.format(at) for at in range(3000))
    mod = relay.parse(text)
    assert len(mod) == 3000
    assert mod["f2999"].body.span.line == 2 + 4 * 2999
    assert mod.text(show_meta_data=True) == text


def test_what_would_be_written_too_often_is_refused():
    shared: tir.PrimExpr = tir.Var("x")
    for _ in range(100):
        shared = tir.Add(shared, shared)
    with pytest.raises(SizeLimitError, match="save_json keeps shared"):
        str(shared)


PAGE = Path(__file__).parents[3] / "docs" / "loop-text.md"


def test_the_program_of_the_page_is_written_as_it_stands_there():
    page = PAGE.read_text(encoding="utf-8")
    text = page.split("```\n")[1]
    mod = relay.parse(text)
    assert mod.text(show_meta_data=True) == text
    assert relay.astext(mod["kernel"]) in text


def test_buffers_stand_after_those_that_are_read_in_their_shapes():
    sizes = tir.decl_buffer((), "int32", "sizes")
    buffer = tir.decl_buffer((tir.BufferLoad(sizes, []),), "int32", "A")
    func = tir.PrimFunc((buffer,), tir.Evaluate(0))
    assert_structural_equal(again(func), func, map_free_vars=True)


def test_free_variables_of_what_stands_alone_have_their_types_where_they_are_first():
    a, b = tir.Var("a", "int32"), tir.SizeVar("b", "int64")
    assert str(a + 1 + a) == "((a: int32 + 1) + a)"
    assert str(tir.Evaluate(b)) == "b: SizeVar(int64);"
    assert str(tir.Let(a, 1, a)) == "(let a: int32 = 1 in a)"
