"""Inference of matches, constructors and references."""

from __future__ import annotations

import pytest

from parpass.errors import DiagnosticError
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types import TensorType
from parpass.relay.adt import Clause, Match
from parpass.relay.expr import Function, Var, const
from parpass.relay.text.parser import parse
from parpass.relay.transform import InferType
from tests.support.relay.adts import CONS, LIST, A, head_or, with_lists

LISTS = "type List[A] { Cons(A, List[A]), Nil }\n"
INT = TensorType((), "int32")


def typed(text: str) -> IRModule:
    return InferType()(parse(LISTS + text))


def type_of(text: str) -> str:
    return str(typed(text)["f"].checked_type)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def @f() { Cons(1, Nil) }", "fn () -> List[int32]"),
        ("def @f() { Cons }", "fn () -> fn <A>(A, List[A]) -> List[A]"),
        ("def @f(%x: List[int32]) { match (%x) { Cons(%h, _) => %h + 1, Nil => 0 } }",
         "fn (List[int32]) -> int32"),
        ("def @f(%x) { match (%x) { Cons(%h, _) => %h, Nil => 0 } }",
         "fn (List[int32]) -> int32"),
        (("def @f(%x) { match (%x) { (%a, Cons(%b, %c)) => (%c, %a), "
         "(%a, _) => (Cons(2, Nil), 1f) } }"),
         "fn ((float32, List[int32])) -> (List[int32], float32)"),
        ("def @f[A](%x: List[A]) { match? (%x) { Cons(%h, Cons(_, %t)) => (%h, %t) } }",
         "fn <A>(List[A]) -> (A, List[A])"),
        ("def @f(%x: List[int32]) { match (%x) { %y => %y } }",
         "fn (List[int32]) -> List[int32]"),
        (("def @f[A](%x: List[A]) -> int32 { match (%x) { Cons(_, %t) => 1 + @f(%t), "
         "Nil => 0 } }"), "fn <A>(List[A]) -> int32"),
        ("def @f() { let %r = ref(1f); ref_read(%r) }",
         "fn () -> float32"),
        ("def @f(%r) { (ref_write(%r, 2f), ref_read(%r)) }",
         "fn (ref(float32)) -> ((), float32)"),
        (("def @f(%r: ref(List[int32])) { match (ref_read(%r)) { Cons(%h, _) => %h, "
         "_ => 1 } }"), "fn (ref(List[int32])) -> int32"),
    ],
)  # fmt: skip
def test_types_are_found(text: str, wanted: str):
    assert type_of(text) == wanted


def test_mutually_recursive_types_and_functions_are_typed():
    mod = typed("""
        type Tree[A] { Rose(A, Forest[A]) }
        type Forest[A] { Grow(Tree[A], Forest[A]), Bare }
        def @size[A](%t: Tree[A]) -> int32 {
          match (%t) { Rose(_, %f) => 1 + @sizes(%f) }
        }
        def @sizes[A](%f: Forest[A]) -> int32 {
          match (%f) { Grow(%t, %g) => @size(%t) + @sizes(%g), Bare => 0 }
        }
        def @f() { @size(Rose(1, Grow(Rose(2, Bare), Bare))) }
    """)
    assert str(mod["f"].checked_type) == "fn () -> int32"
    for function in mod.functions_by_name.values():
        for node in post_order(function):
            if isinstance(node, Clause | Match | Var):
                assert node.checked_type_ is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f() { Cons(1, Cons(2f, Nil)) }",
         "constructor 'Cons': expected List[int32] for argument 2"),
        ("def @f() { Cons(1) }", "constructor 'Cons': expected 2 arguments, got 1"),
        ("def @f(%x: List[int32]) { match (%x) { Nil => 0 } }",
         "got none for Cons(_, _); write `match?`"),
        ("def @f(%x: List[int32]) { match (%x) { (_, _) => 0 } }",
         "expected a pattern of List[int32], got a tuple of 2 fields"),
        ("def @f(%x: int32) { match (%x) { Nil => 0, _ => 1 } }",
         "expected a pattern of int32, got constructor 'Nil' of type 'List'"),
        ("def @f(%x: List[int32]) { match (%x) { Cons(_) => 0, _ => 1 } }",
         "expected 2 patterns for constructor 'Cons', got 1"),
        ("def @f(%x: List[int32]) { match (%x) { %y: int32 => 1 } }",
         "expected int32 for variable 'y', got List[int32]"),
        ("def @f(%x: List[int32]) { match (%x) { Cons(%h, _) => %h, Nil => 1f } }",
         "expected int32 from all clauses, got float32"),
        ("def @f(%x: List[int32, int32]) { 1 }", "takes 1 type argument, got 2"),
        ("def @f(%x: int32) { ref_read(%x) }", "expected a reference, got int32"),
        ("def @f(%r: ref(int32)) { ref_write(%r, 2f) }",
         "expected int32 for the reference, got float32"),
        ("def @f(%x: List[int32]) { match (%x) { } }", "expected a clause at least"),
    ],
)  # fmt: skip
def test_what_is_ill_typed_is_told(text: str, message: str):
    with pytest.raises(DiagnosticError) as caught:
        typed(text)
    assert message in str(caught.value)
    assert "from_string:2:" in str(caught.value)


def length() -> Function:
    x = Var("x", LIST(INT))
    return Function((x,), head_or(x, const(0)))


def test_a_type_that_the_module_lacks_is_an_error():
    with pytest.raises(DiagnosticError, match="no type named 'List'"):
        InferType()(IRModule({"f": length()}))


def test_a_function_is_inferred_again_where_a_type_has_another_definition():
    mod = InferType()(with_lists(f=length()))
    assert InferType()(mod)["f"] is mod["f"]
    more = Constructor("More", (), LIST)
    other = Constructor("Cons", (LIST(A), A), LIST)
    mod[LIST] = TypeData(LIST, (A,), (CONS, more))
    assert InferType()(mod)["f"].ret_type == INT
    mod[LIST] = TypeData(LIST, (A,), (other, more))
    with pytest.raises(DiagnosticError, match=r"expected List\[int32\] from all"):
        InferType()(mod)


def test_constructors_that_are_called_become_those_of_the_module():
    y = Var("y", LIST(INT))
    mod = with_lists(f=Function((y,), CONS(const(1), y)))
    mine = Constructor("Cons", (A, LIST(A)), LIST)
    mod[LIST] = TypeData(LIST, (A,), (mine, Constructor("Nil", (), LIST)))
    assert InferType()(mod)["f"].body.op is mine
