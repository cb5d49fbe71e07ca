from __future__ import annotations

from parpass import relay
from parpass.ir.structural import assert_structural_equal
from parpass.relay.testing import count_ops, run_infer_type, run_opt_pass
from parpass.relay.transform import EliminateCommonSubexpr

x = relay.var("x", shape=(2,))
TWICE = relay.add(relay.exp(x), relay.exp(x))


def test_a_pass_is_run_on_an_expression_and_on_a_function() -> None:
    assert count_ops(TWICE) == {"add": 1, "exp": 2}
    body = run_opt_pass(TWICE, EliminateCommonSubexpr())
    assert count_ops(body) == {"add": 1, "exp": 1}
    func = run_opt_pass(relay.Function([x], TWICE), EliminateCommonSubexpr())
    assert_structural_equal(func.body, body, True)


def test_types_are_inferred_before_the_pass() -> None:
    assert run_infer_type(TWICE).checked_type == relay.TensorType((2,))
    assert run_infer_type(relay.Function([x], TWICE)).ret_type is not None
