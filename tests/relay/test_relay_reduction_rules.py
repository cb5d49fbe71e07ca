"""What stands for what when a program of Relay is reduced."""

from __future__ import annotations

import pytest

from parpass.ir.module import IRModule
from parpass.ir.reduction_patterns import (
    Descend,
    DropAttributes,
    DropParts,
    Hoist,
    MakeSmallest,
    Parametrise,
    module_size,
    reduction_patterns,
)
from parpass.relay import parse
from parpass.relay.analysis import function_faults
from parpass.relay.expr import Expr, Function, var
from parpass.relay.relay_reduction_rules import DropFields, DropTypes
from parpass.relay.transform import InferType
from parpass.transform import ReductionPattern
from tests.support.relay.breaking import PROGRAM

BRANCHES = """\
def @main(%x: Tensor[(2,), float32], %c: bool, Inline=1) {
  %0 = (%x, negative(%x), 2f);
  %1 = fn (%y: Tensor[(2,), float32]) { add(%y, %0.2) };
  let %z = if (%c) { %1(%x) } else { exp(%0.0) };
  add(%z, %x)
}
"""


MATCHES = """\
type List[A] { Cons(A, List[A]), Nil }
type Unused { Only }
def @main(%x: List[float32], %y: float32) {
  let %r = ref(%y);
  match (%x) {
    Cons(%h, Nil) => add(%h, ref_read(%r)),
    Cons(%h, Cons(%g, _)) => multiply(%h, %g),
    Nil => 1f,
  }
}
"""


def module(text: str) -> IRModule:
    return InferType()(parse(text))


def without(reduction: ReductionPattern, mod: IRModule, *at: int) -> str:
    """Return the text of a module without some items."""
    items = reduction.items(mod)
    return str(reduction.without(mod, [items[index] for index in at]))


@pytest.mark.parametrize("text", [PROGRAM, BRANCHES, MATCHES])
@pytest.mark.parametrize(
    "reduction", reduction_patterns(), ids=lambda reduction: type(reduction).__name__
)
def test_a_step_gives_a_module_that_is_well_formed_or_nearly_so(
    reduction: ReductionPattern, text: str
):
    mod = module(text)
    before = str(mod)
    items = reduction.items(mod)
    for length in {1, 2, len(items)}:
        for at in range(0, len(items), max(length, 1)):
            made = reduction.without(mod, items[at : at + length])
            faults = [
                fault
                for function in made.functions_by_name.values()
                for fault in function_faults(function, made)
            ]
            # One whose parameters must stay.
            assert all("nothing binds" in one for one in faults)
            if not faults:
                again = parse(made.astext())
                assert list(again.functions_by_name) == list(made.functions_by_name)
    assert str(mod) == before


def test_expressions_become_parameters_and_unused_ones_go():
    mod = module("def @f(%x: Tensor[(2,), float32]) { exp(nn.relu(%x)) }")
    assert without(Parametrise(), mod, 1) == (
        "def @f(%p0: Tensor[(2), float32]) -> Tensor[(2), float32] {\n  exp(%p0)\n}"
    ).replace("(2)", "(2,)")


def test_a_called_function_keeps_its_parameters():
    mod = module(
        "def @f(%x: int32) -> int32 { @g(%x) }\n"
        "def @g(%y: int32) -> int32 { negative(%y) }"
    )
    assert [name for name, _ in Parametrise().items(mod)] == ["f"]
    places = MakeSmallest().items(mod)
    at = [place.function for place in places].index("g")
    assert "def @g(%y: int32) -> int32 {\n  0\n}" in without(MakeSmallest(), mod, at)


def test_an_expression_inside_becomes_the_result():
    mod = module("def @f(%x: int32) { let %y = negative(%x); (%y, abs(%y)) }")
    texts = [without(Hoist(), mod, at) for at in range(len(Hoist().items(mod)))]
    assert any(text.endswith("abs(%y)\n}") for text in texts)
    assert any(text.endswith("negative(%x) /* ty=int32 */\n}") for text in texts)


def test_a_result_of_another_type_leaves_no_type_of_the_function():
    mod = module('def @f(%x: int32) -> float32 { cast(%x, dtype="float32") }')
    made = Hoist().without(mod, [("f", mod["f"].body.args[0])])
    assert (made["f"].ret_type, made["f"].checked_type_) == (None, None)


def test_expressions_descend_to_their_parts():
    mod = module("def @f(%x: int32) { negative(abs(negative(%x))) }")
    every = range(len(Descend().items(mod)))
    assert without(Descend(), mod, *every).endswith("{\n  %x\n}")
    assert "abs" not in without(Descend(), mod, 1)


def test_fields_that_nobody_uses_are_dropped():
    mod = module(BRANCHES)
    text = without(DropFields(), mod, 0)
    assert "(%x, 2f)" in text
    assert "%0.1" in text


def test_attributes_are_dropped():
    assert "Inline" not in without(DropAttributes(), module(BRANCHES), 0)


def test_size_is_of_functions_first():
    one, two = module("def @f() { 1f }"), module("def @f() { 1f } def @g() { 1f }")
    assert module_size(one) < module_size(two)
    assert module_size(module("def @f(%x: int32) { %x }")) < module_size(one)


@pytest.mark.stress
def test_deep_programs_shrink():
    mod = IRModule.from_expr(_deep(100_000))
    for reduction in reduction_patterns():
        items = reduction.items(mod)
        if items:
            assert module_size(reduction.without(mod, items)) <= module_size(mod)


def _deep(depth: int) -> Function:
    x = var("x", shape=(2,))
    body: Expr = x
    for _ in range(depth):
        body = -body
    return Function((x,), body)


def test_clauses_and_types_are_taken_out():
    mod = module(MATCHES)
    text = without(DropParts(), mod, 0, 2)
    assert "match? (%x)" in text
    assert "Nil =>" not in text
    assert DropTypes().items(mod) == ["Unused"]
    assert "Unused" not in without(DropTypes(), mod, 0)
    assert module_size(DropTypes().without(mod, ["Unused"])) < module_size(mod)


def test_an_unused_type_goes_with_those_that_name_it():
    mod = parse(
        "type A { One, }\ntype B { Two(A), }\ntype C { Three, }\ndef @f() { 1 }"
    )
    made = DropTypes().without(mod, ["A"])
    assert [*made.types.by_name] == ["C"]
    assert parse(made.astext()).types.by_name.keys() == {"C"}
