"""What rules of Legalize are given and may give; its cases are in text."""

from __future__ import annotations

from typing import Any

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.transform import InferType, Legalize

X = relay.var("x", shape=(3,))
RELU = relay.Function([X], relay.nn.relu(X))


def legalized(rule: Any) -> tvm.IRModule:
    with TempOpAttr("nn.relu", "FTVMLegalize", rule):
        return Legalize()(InferType()(tvm.IRModule.from_expr(RELU)))


def test_a_rule_is_given_attributes_arguments_and_types() -> None:
    given: list[Any] = []

    def rule(attrs: Any, args: list[Any], types: list[Any]) -> Any:
        given.extend((attrs, len(args), types))

    legalized(rule)
    assert given == [None, 1, [X.type_annotation] * 2]


def test_a_rule_that_gives_no_expression_is_an_error() -> None:
    def rule(*_: Any) -> int:
        return 3

    with pytest.raises(IRTypeError, match=r"an expression for 'nn\.relu', or None"):
        legalized(rule)
