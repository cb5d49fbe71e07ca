"""Definitions of types, matches and references as text."""

from __future__ import annotations

import pytest

from parpass.errors import ParseError
from parpass.ir.module import IRModule
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import RelayRefType, TensorType
from parpass.relay.adt import Match, PatternConstructor, PatternTuple
from parpass.relay.expr import Call, Function, RefWrite, Var, const
from parpass.relay.text.parser import parse
from tests.support.relay.adts import CONS, LIST, NIL, head_or, list_of, with_lists

LISTS = "type List[A] { Cons(A, List[A]), Nil, }"
INT = TensorType((), "int32")


def there_and_back(mod: IRModule) -> IRModule:
    again = parse(mod.astext())
    assert_structural_equal(again, mod)
    assert again.astext() == mod.astext()
    return again


def test_a_definition_is_printed_and_read():
    mod = there_and_back(with_lists())
    assert str(mod) == "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}"
    assert_structural_equal(parse(LISTS), with_lists())


def test_a_match_is_printed_and_read():
    x = Var("x", LIST(INT))
    mod = with_lists(main=Function((x,), head_or(x, const(0)), INT))
    assert str(mod).endswith("""
def @main(%x: List[int32]) -> int32 {
  match (%x) {
    Cons(%head, _) => {
      %head
    },
    _ => {
      0
    },
  }
}""")
    there_and_back(mod)


def test_a_match_that_is_not_complete_says_so():
    x = Var("x", LIST(INT))
    match = Match(x, head_or(x, const(0)).clauses[:1], complete=False)
    mod = with_lists(main=Function((x,), match))
    assert "match? (%x) {" in str(mod)
    there_and_back(mod)


def test_a_constructor_that_takes_nothing_stands_for_what_it_makes():
    mod = with_lists(f=Function((), list_of(const(1))), g=Function((), NIL))
    assert "%0 = Nil;" in str(mod)
    assert "  Nil.constructor\n" in str(mod)
    there_and_back(mod)
    same = parse(f"{LISTS} def @f() {{ Cons(1, Nil) }} def @g() {{ Nil.constructor }}")
    assert_structural_equal(same, mod)


def test_type_arguments_of_constructors_stand_behind_their_names():
    nil = Call(NIL, (), None, (INT,))
    mod = with_lists(f=Function((), Call(CONS, (const(1), nil), None, (INT,))))
    assert "Nil<int32>()" in str(mod)
    there_and_back(mod)


def test_references_are_printed_and_read():
    r = Var("r", RelayRefType(INT))
    mod = IRModule({"f": Function((r,), RefWrite(r, const(1)))})
    assert "(%r: ref(int32))" in str(mod)
    assert "ref_write(%r, 1)" in str(mod)
    there_and_back(mod)
    there_and_back(parse("def @f() { let %r = ref(1); ref_read(%r) }"))


def test_types_and_constructors_may_be_used_before_they_are_defined():
    mod = parse("""
        def @f(%t: Tree[int32]) { match (%t) { Rose(%v, _) => %v } }
        type Tree[A] { Rose(A, Forest[A]) }
        type Forest[A] { Grow(Tree[A], Forest[A]), Bare }
    """)
    assert [*mod.types.by_name] == ["Tree", "Forest"]
    there_and_back(mod)


def test_what_tvm_writes_is_read():
    mod = parse(
        """#[version = "0.0.5"]
        extern type T[A]
        type nat { Z, S(nat) }
        def @f[A](%a: List[A], %b: List[A]) -> List[A] {
          match? (%a, %b) {
            (Cons(%x, Nil), _) => { let %y = %x; Cons(%y, %b) },
            (%c, _) => %c
          }
        }
        /* type Not { Here } */
    """
        + LISTS
    )
    assert [*mod.types.by_name] == ["T", "nat", "List"]
    body = mod["f"].body
    assert isinstance(body, Match)
    first = body.clauses[0].lhs
    assert isinstance(first, PatternTuple)
    assert isinstance(first.patterns[0], PatternConstructor)
    there_and_back(mod)


def test_words_of_matches_are_names_elsewhere():
    mod = parse("def @f(%match: int32, %type: int32, type=1) { %match + %type }")
    assert mod["f"].attrs == {"type": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type List[A] { Cons(B) }", "no type named 'B'"),
        (f"{LISTS} {LISTS}", "type 'List' is defined twice"),
        ("type A { X } type B { X }", "constructor 'X' is defined twice"),
        ("type int32 { X }", "no type can be named 'int32'"),
        ("type A { add(A) }", "no constructor can be named 'add'"),
        ("type A { X,", "expected a name, got the end of the text"),
        ("type A { X Y }", "expected ',' or '}', got 'Y'"),
        ("type A[B, B] { X }", "type parameter 'B' is given twice"),
        ("type A", "got the end of the text"),
        ("def @f() { 1 } extern type", "got the end of the text"),
        ("def @f() { 1 } type", "got the end of the text"),
        ("def @f(%x: List[int32]) { %x }", "no type named 'List'"),
        ("def @f(%x: ref(int32, int32)) { %x }", "expected one type in a reference's"),
        ("def @f() { ref(1, 2) }", "expected 1 argument for 'ref'"),
        ("def @f(%x: int32) { match (%x) { Kons => 1 } }", "expected a constructor"),
        ("def @f(%x: int32) { match (%x) { _ = 1 } }", "expected '=>', got '='"),
        ("def @f(%x: int32) { match (%x) { _ => 1 _ => 2 } }", "expected ',' or '}'"),
        ("def @f(%x: int32) { match %x { } }", ""),
        ("def @f(%x: int32) { match (%x) { %y => 1, _ => %y } }", "named '%y'"),
        ("def @f(%x: int32) { match (%x) { " + "(" * 150, "at most 100 deep"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_place(text: str, message: str):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "from_string:1:" in str(caught.value)
