"""Values of defined types, and references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import EvaluationError
from parpass.relay import create_executor
from parpass.relay.adt import Clause, Match, PatternVar, PatternWildcard
from parpass.relay.expr import Expr, RefCreate, Var, const
from parpass.relay.interpreter.values import ConstructorValue, RefValue
from parpass.relay.text.parser import parse
from tests.support.relay.adts import CONS, NIL, head_or, list_of, with_lists

LISTS = "type List[A] { Cons(A, List[A]), Nil }\n"


def value_of(text: str, *args: Any) -> Any:
    found = create_executor(mod=parse(LISTS + text)).evaluate()(*args)
    return found.numpy().tolist() if hasattr(found, "numpy") else found


def items(value: Any) -> list[Any]:
    found: list[Any] = []
    while value.fields:
        found.append(value.fields[0].numpy().item())
        value = value.fields[1]
    return found


def test_a_constructor_makes_a_value():
    made = create_executor(mod=with_lists()).evaluate(list_of(const(1), const(2)))
    assert isinstance(made, ConstructorValue)
    assert made.constructor is CONS
    assert made.tag == CONS.tag
    assert items(made) == [1, 2]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("match (Cons(7, Nil)) { Nil => 0, Cons(%x, _) => %x }", 7),
        ("match ((1, Nil)) { (%x, Cons(_, _)) => 0, (%x, Nil) => %x }", 1),
        ("match (Cons(1, Cons(2, Nil))) { Cons(_, Cons(%x, _)) => %x, _ => 0 }", 2),
        ("match (3) { %x => %x + %x }", 6),
        ("let %f = Cons; match (%f(4, Nil)) { Cons(%x, _) => %x, Nil => 0 }", 4),
        ("let %r = ref(1); let %u = ref_write(%r, 5); ref_read(%r)", 5),
        (("let %r = ref(1); let %f = fn () { ref_read(%r) }; "
         "let %u = ref_write(%r, 5); %f()"), 5),
        (("let %r = ref(1); let %a = ref_read(%r); "
         "let %u = ref_write(%r, %a + 1); (%a - ref_read(%r)) + 10"), 9),
    ],
)  # fmt: skip
def test_programs_have_their_values(text: str, wanted: int):
    assert value_of(f"def @main() {{ {text} }}") == wanted


def test_only_the_clause_that_matches_is_evaluated():
    text = "let %r = ref(0); let %u = match (Nil) { Cons(_, _) => ref_write(%r, 1), "
    text += "Nil => ref_write(%r, 2), _ => ref_write(%r, 3) }; ref_read(%r)"
    assert value_of(f"def @main() {{ {text} }}") == 2


def test_a_clause_that_two_matches_share_has_a_value_for_each():
    x = Var("x")
    clause = Clause(PatternVar(x), x + x)
    one, two = Match(const(1), [clause]), Match(const(2), [clause])
    values = create_executor().evaluate(Expr.__add__(one, two))
    assert values.numpy() == 6


def test_values_are_given_as_arguments_and_come_back():
    text = "def @main(%x: List[int32], %r: ref(int32)) { (Cons(ref_read(%r), %x), %r) }"
    nil = ConstructorValue(NIL.tag, [], NIL)
    ref = RefValue(np.int32(4))
    made, again = value_of(
        text, ConstructorValue(CONS.tag, [np.int32(2), nil], CONS), ref
    )
    assert items(made) == [4, 2]
    assert again.value.numpy() == 4


@pytest.mark.parametrize(
    ("arg", "message"),
    [
        (1, "expected List[int32] for parameter 'x' of function 'main', got int32"),
        (RefValue(1), "got a reference"),
    ],
)
def test_arguments_of_other_types_are_refused(arg: Any, message: str):
    with pytest.raises(EvaluationError) as caught:
        value_of("def @main(%x: List[int32]) { %x }", arg)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("match? (Nil) { Cons(_, _) => 1 }",
         "expected a clause that matches a value of type 'List', got none"),
        ("Cons(1)", "expected 2 arguments for constructor 'Cons', got 1"),
        ("ref_read(1)", "expected a reference, got int32"),
        ("Nil + 1", "cannot be evaluated on (a value of type 'List', int32)"),
    ],
)  # fmt: skip
def test_what_has_no_value_is_told(text: str, message: str):
    with pytest.raises(EvaluationError) as caught:
        value_of(f"def @main() {{ {text} }}")
    assert message in str(caught.value)


def test_long_lists_and_deep_matches_have_values():
    depth = 3_000
    data = list_of(*[const(at) for at in range(depth)])
    assert len(items(create_executor().evaluate(data))) == depth
    expr: Expr = const(5)
    for _ in range(depth):
        expr = head_or(list_of(expr), const(0))
    assert create_executor().evaluate(expr).numpy() == 5
    expr = Match(const(0), [Clause(PatternWildcard(), const(5))])
    for _ in range(depth):
        expr = Match(const(0), [Clause(PatternWildcard(), expr)])
    assert create_executor().evaluate(expr).numpy() == 5


def test_a_reference_may_refer_to_itself():
    text = """
        type Box { Full(ref(Box)), Empty }
        def @main() {
          let %r = ref(Empty);
          let %u = ref_write(%r, Full(%r));
          %r
        }"""
    found = value_of(text)
    assert found.value.fields[0] is found


def test_new_references_are_different():
    ref = RefCreate(const(1))
    found = create_executor().evaluate(ref)
    assert found is not create_executor().evaluate(ref)
