from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.relay.analysis import check_basic_block_normal_form
from parpass.relay.expr import Expr, Function, If, var
from parpass.relay.transform import (
    ToANormalForm,
    ToBasicBlockNormalForm,
    ToGraphNormalForm,
)
from parpass.relay.transform.normal_forms import (
    to_a_normal_form,
    to_basic_block_normal_form,
    to_graph_normal_form,
)
from parpass.transform import Pass
from tests.support.relay.deep import ALL_KINDS, COND, DEPTH, X, deepest, lets

FORMS: list[Callable[[Expr], Expr]] = [
    to_a_normal_form,
    to_basic_block_normal_form,
    to_graph_normal_form,
]


@pytest.mark.parametrize(
    ("form", "level"),
    [(ToANormalForm, 1), (ToBasicBlockNormalForm, 1), (ToGraphNormalForm, 1)],
)
def test_levels_and_needs_are_tvms_7_13(form: type[Pass], level: int) -> None:
    assert (form().info.opt_level, tuple(form().info.required)) == (level, ())


@pytest.mark.parametrize("mark", ["Primitive", "Compiler"])
def test_functions_made_by_other_passes_stay_the_same_objects_12_3(mark: str) -> None:
    p = var("p", shape=(2, 3))
    made = Function((p,), relay.exp(relay.exp(p)), attrs={mark: 1})
    found = to_a_normal_form(Function((X,), made(X)))
    assert made in relay_nodes(found)


def relay_nodes(expr: Expr) -> list[Expr]:
    nodes: list[Expr] = []
    relay.analysis.post_order_visit(expr, nodes.append)
    return nodes


@pytest.mark.parametrize("form", FORMS)
def test_what_is_in_the_form_stays_the_same_object(
    form: Callable[[Expr], Expr],
) -> None:
    once = form(Function((X, COND), If(COND, relay.exp(X), relay.exp(relay.abs(X)))))
    assert form(once) is once


def test_what_crosses_blocks_is_not_in_the_form_before() -> None:
    shared = relay.exp(X)
    crossing = Function((X, COND), If(COND, shared, relay.abs(shared)))
    assert not check_basic_block_normal_form(crossing)
    assert check_basic_block_normal_form(to_basic_block_normal_form(crossing))


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
