from __future__ import annotations

from typing import Any

import pytest

import parpass as tvm
from parpass import relay
from parpass.errors import IRTypeError
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.transform import InferType, Legalize
from tests.support.docs import shows

X = relay.var("x", shape=(3,))
RELU = relay.Function([X], relay.nn.relu(X))


def legalized(rule: Any) -> tvm.IRModule:
    with TempOpAttr("nn.relu", "FTVMLegalize", rule):
        return Legalize()(InferType()(tvm.IRModule.from_expr(RELU)))


def test_an_operator_becomes_what_its_rule_returns() -> None:
    def rule(attrs: Any, args: list[Any], types: list[Any]) -> Any:
        assert attrs is None
        assert types == [X.type_annotation] * 2
        return relay.maximum(args[0], relay.const(0.0))

    after = legalized(rule)
    assert shows(Legalize, tvm.IRModule.from_expr(RELU), after)


def test_what_a_rule_returns_is_not_replaced_again() -> None:
    def rule(_attrs: Any, args: list[Any], _types: list[Any]) -> Any:
        return relay.nn.relu(args[0] + args[0])

    after = legalized(rule)
    wanted = relay.Function([X], relay.nn.relu(X + X))
    expected = InferType()(tvm.IRModule.from_expr(wanted))
    tvm.ir.assert_structural_equal(after, expected)


def test_a_rule_may_leave_a_call() -> None:
    def rule(*_: Any) -> None:
        return None

    mod = InferType()(tvm.IRModule.from_expr(RELU))
    assert legalized(rule)["main"] is not None
    with TempOpAttr("nn.relu", "FTVMLegalize", rule):
        assert Legalize()(mod)["main"] is mod["main"]


def test_a_rule_that_gives_no_expression_is_an_error() -> None:
    def rule(*_: Any) -> int:
        return 3

    with pytest.raises(IRTypeError, match=r"an expression for 'nn\.relu', or None"):
        legalized(rule)
