from __future__ import annotations

from parpass import relay
from parpass.relay.analysis import operators
from parpass.relay.analysis.operator_names import has_operator
from parpass.transform import PassContext

x = relay.var("x", shape=(3,))
INNER = relay.Function((x,), relay.tanh(x))
FUNCTION = relay.Function((x,), relay.add(relay.Call(INNER, (x,)), x))


def test_operators_of_inner_functions_are_among_them():
    assert operators(FUNCTION, PassContext()) == {"add", "tanh"}


def test_a_function_is_asked_for_any_of_some():
    context = PassContext()
    assert has_operator(FUNCTION, {"tanh", "exp"}, context)
    assert not has_operator(FUNCTION, {"exp"}, context)
    assert not has_operator(FUNCTION, (), context)
