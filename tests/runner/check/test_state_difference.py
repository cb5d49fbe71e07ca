"""States of functions are compared by all that is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parpass.runner.check.state_difference import state_difference
from parpass.transform import adapter_of
from tests.support.toy.parented_ir import Fn, module

CHANGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda one: one.ops.pop(), "something and nothing at Fn.ops[2]"),
    (lambda one: setattr(one, "new", 1), "nothing and something at Fn.new"),
    (lambda one: setattr(one, "note", 1), "'noted' and 1 at Fn.note"),
    (lambda one: setattr(one.ops[1], "name", "x"), "'nop' and 'x' at Fn.ops[1]"),
    (lambda one: setattr(one, "ops", tuple(one.ops)), "at Fn.ops"),
    (
        lambda one: setattr(one.ops[1], "parent", Fn("a", "add", "nop", "mul")),
        "one Fn in two places, or two at Fn.ops[1].parent",
    ),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_states_are_compared_by_all_that_is_in_them(change: Any, told: str):
    adapter = adapter_of(module(), "test")
    one, other = Fn("a", "add", "nop", "mul"), Fn("a", "add", "nop", "mul")
    assert state_difference(adapter, one, other) is None
    change(other)
    assert told in str(state_difference(adapter, one, other))
