from __future__ import annotations

from parpass import IRModule, relay
from parpass.relay.analysis import operators
from parpass.relay.analysis.operator_names import has_operator
from parpass.transform import (
    PassContext,
    Sequential,
    analysis,
    function_pass,
    module_pass,
)

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


def test_module_passes_keep_what_is_known_of_functions_that_they_leave():
    calls: list[relay.Function] = []

    @analysis
    def noted(func: relay.Function, ctx: PassContext) -> int:
        calls.append(func)
        return len(func.params)

    @function_pass(opt_level=0)
    def ask(func: relay.Function, mod: IRModule, ctx: PassContext) -> relay.Function:
        ctx.get_analysis(noted, func)
        return func

    @module_pass(opt_level=0)
    def keep(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod

    mod = relay.transform.InferType()(IRModule.from_expr(INNER))
    Sequential([ask, keep, ask])(mod)
    assert len(calls) == 1
