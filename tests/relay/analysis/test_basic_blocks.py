from __future__ import annotations

from parpass import relay
from parpass.relay.analysis import check_basic_block_normal_form

CONDITION = relay.var("c", shape=(), dtype="bool")
X = relay.var("x", shape=(2,))


def test_a_free_variable_of_both_branches_belongs_to_neither() -> None:
    both = relay.If(CONDITION, X, relay.exp(X))
    assert not check_basic_block_normal_form(both)
    assert not check_basic_block_normal_form(relay.Function((CONDITION,), both))


def test_a_variable_may_be_used_where_its_block_encloses_the_uses() -> None:
    both = relay.If(CONDITION, X, relay.exp(X))
    bound = relay.Let(X, relay.const([1.0, 2.0]), both)
    assert check_basic_block_normal_form(bound)
    assert check_basic_block_normal_form(relay.Function((CONDITION, X), both))
    assert check_basic_block_normal_form(relay.Tuple((X, both)))
    assert check_basic_block_normal_form(relay.If(CONDITION, X, relay.const(1.0)))
