from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.analysis import check_basic_block_normal_form
from parpass.relay.expr import Expr, Function, If, Let, Var, const, var
from parpass.relay.transform import (
    ToANormalForm,
    ToBasicBlockNormalForm,
    ToGraphNormalForm,
)
from parpass.relay.transform.normal_forms.to_a_normal_form import to_a_normal_form
from parpass.relay.transform.normal_forms.to_basic_block_normal_form import (
    to_basic_block_normal_form,
)
from parpass.relay.transform.normal_forms.to_graph_normal_form import (
    to_graph_normal_form,
)
from parpass.transform import Pass, PassContext
from tests.support.deep import ALL_KINDS, COND, DEPTH, X, deepest, lets
from tests.support.docs import shows
from tests.support.effects import effect

BRANCHES = """
def @main(%x: Tensor[(3,), float32], %c: bool) {
  %0 = exp(%x);
  if (%c) { add(%0, 1f) } else { ELSE }
}
"""
FORMS: list[Callable[[Expr], Expr]] = [
    to_a_normal_form,
    to_basic_block_normal_form,
    to_graph_normal_form,
]


def parsed(text: str) -> IRModule:
    return relay.fromtext('#[version = "0.0.5"]\n' + text)


@pytest.mark.parametrize(
    ("form", "before"),
    [
        (ToANormalForm, BRANCHES.replace("ELSE", "%0")),
        (ToBasicBlockNormalForm, BRANCHES.replace("ELSE", "abs(%0)")),
        (
            ToGraphNormalForm,
            """
            def @main(%x: Tensor[(3,), float32]) {
              let %a = exp(%x); let %b = add(%a, 1f); multiply(%b, %b)
            }
            """,
        ),
    ],
)
def test_the_docstring_shows_what_the_pass_does(form: type[Pass], before: str) -> None:
    mod = parsed(before)
    after = form()(mod)
    untyped = parsed(str(after).replace(") -> Tensor[(3,), float32] {", ") {"))
    assert shows(form, mod, untyped)


@pytest.mark.parametrize(
    ("form", "level"),
    [(ToANormalForm, 1), (ToBasicBlockNormalForm, 1), (ToGraphNormalForm, 1)],
)
def test_levels_and_needs_are_tvms_7_13(form: type[Pass], level: int) -> None:
    assert (form().info.opt_level, tuple(form().info.required)) == (level, ())


def test_constants_have_variables_in_the_order_of_evaluation_12_3() -> None:
    x, y, z = const(1), const(2), const(3)
    a, b, c, d, e = (Var(name) for name in "abcde")
    expected: Expr = e
    for name, value in ((e, a + d), (d, b * c), (c, z), (b, y), (a, x)):
        expected = Let(name, value, expected)
    assert_structural_equal(to_a_normal_form(x + y * z), expected)


def test_each_branch_has_lets_of_its_own_12_3() -> None:
    a, b, c, d = (Var(name) for name in "abcd")
    choice = If(c, Let(a, const(2), a), Let(b, const(3), b))
    expected = Let(c, const(value=True), Let(d, choice, d))
    found = to_a_normal_form(If(const(value=True), const(2), const(3)))
    assert_structural_equal(found, expected)


def test_a_value_is_bound_outside_of_all_blocks_that_use_it_12_3() -> None:
    shared = relay.exp(X)
    inner = Function((), shared)
    found = to_a_normal_form(Function((X, COND), If(COND, shared, inner())))
    a, f, b, c = (Var(name) for name in "afbc")
    made = Let(f, Function((), a), Let(b, f(), b))
    expected = Let(a, relay.exp(X), Let(c, If(COND, a, made), c))
    assert_structural_equal(found, Function((X, COND), expected))


def test_lets_in_values_and_arguments_come_to_the_level_of_their_block() -> None:
    a, b = Var("a"), Var("b")
    nested = Let(a, Let(b, relay.exp(X), relay.abs(b)), relay.negative(a))
    c = Var("c")
    rest = Let(a, relay.abs(b), Let(c, relay.negative(a), c))
    expected = Let(b, relay.exp(X), rest)
    assert_structural_equal(to_a_normal_form(nested), expected)


def test_a_value_shared_by_two_lets_is_computed_once() -> None:
    a, b, shared = Var("a"), Var("b"), relay.exp(X)
    found = to_a_normal_form(Let(a, shared, Let(b, shared, b)))
    assert_structural_equal(found, Let(a, relay.exp(X), Let(b, a, b)))


def recursive() -> Expr:
    f, n = Var("f"), var("n", "int32")
    again = f(n - const(1))
    body = If(relay.less(n, const(1)), n, again)
    int32 = n.type_annotation
    return Let(f, Function((n,), body, int32), f(const(3)))


@pytest.mark.parametrize("form", FORMS)
def test_a_closure_that_calls_itself_keeps_its_name(
    form: Callable[[Expr], Expr],
) -> None:
    found = form(recursive())
    assert isinstance(found, Let)
    assert isinstance(found.value, Function)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mark", ["Primitive", "Compiler"])
def test_functions_made_by_other_passes_stay_12_3(
    form: Callable[[Expr], Expr], mark: str
) -> None:
    p = var("p", shape=(2, 3))
    made = Function((p,), relay.exp(relay.exp(p)), attrs={mark: 1})
    found = form(Function((X,), made(X)))
    assert isinstance(found, Function)
    assert made in relay_nodes(found)


def relay_nodes(expr: Expr) -> list[Expr]:
    nodes: list[Expr] = []
    relay.analysis.post_order_visit(expr, nodes.append)
    return nodes


def test_primitive_functions_of_a_module_stay() -> None:
    made = Function((X,), relay.exp(relay.exp(X)), attrs={"Primitive": 1})
    mod = IRModule({"main": made})
    assert ToANormalForm()(mod) is mod


@pytest.mark.parametrize("form", FORMS)
def test_what_is_in_the_form_stays_the_same_object(
    form: Callable[[Expr], Expr],
) -> None:
    once = form(Function((X, COND), If(COND, relay.exp(X), relay.exp(relay.abs(X)))))
    assert form(once) is once


def test_a_value_used_in_one_block_gets_no_variable() -> None:
    shared = relay.exp(X)
    program = Function((X,), relay.add(shared, shared))
    assert to_basic_block_normal_form(program) is program
    crossing = Function((X, COND), If(COND, shared, relay.abs(shared)))
    assert not check_basic_block_normal_form(crossing)
    assert check_basic_block_normal_form(to_basic_block_normal_form(crossing))


def test_the_graph_keeps_values_with_effects_in_their_places() -> None:
    a, b = Var("a"), Var("b")
    program = Let(a, effect(X), Let(b, relay.exp(a), relay.add(b, b)))
    once = relay.exp(a)
    expected = Let(a, effect(X), relay.add(once, once))
    assert_structural_equal(to_graph_normal_form(program), expected)


def test_passes_count_what_they_do() -> None:
    mod = parsed(BRANCHES.replace("ELSE", "%0"))
    with PassContext() as context:
        ToGraphNormalForm()(ToANormalForm()(mod))
    assert context.statistics["ToANormalForm"] == {"rewritten": 1}
    assert context.statistics["ToGraphNormalForm"] == {"removed": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "kind"),
    [
        pytest.param(to_a_normal_form, lets),
        *(
            pytest.param(form, deepest(kind), marks=pytest.mark.stress)
            for form in FORMS
            for kind in ALL_KINDS
        ),
    ],
)
def test_deep_programs(
    form: Callable[[Expr], Expr], kind: Callable[[int], Expr]
) -> None:
    once = form(kind(DEPTH))
    assert form(once) is once
