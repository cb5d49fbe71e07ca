from __future__ import annotations

import numpy as np

import parpass as tvm
from parpass import relay
from parpass.relay.transform import (
    FuseOps,
    InferType,
    InlinePrimitives,
    ToANormalForm,
)
from parpass.transform import PassContext, Sequential
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

X = relay.var("x", shape=(3,))


def primitive() -> relay.Function:
    p = relay.var("p", shape=(3,))
    return relay.Function((p,), relay.exp(p)).with_attr("Primitive", 1)


def test_the_documented_programs() -> None:
    f, y = relay.var("f"), relay.var("y")
    body = relay.Let(f, primitive(), relay.Let(y, f(X), y))
    before = tvm.IRModule.from_expr(relay.Function((X,), body))
    assert shows(InlinePrimitives, before, InlinePrimitives()(before))


def test_fused_functions_stand_where_they_are_called() -> None:
    body = relay.sum(relay.exp(relay.negative(X)))
    mod = tvm.IRModule.from_expr(relay.Function((X,), relay.add(body, body)))
    lifted = Sequential([FuseOps(2), ToANormalForm()], opt_level=0)(mod)
    after = assert_keeps_meaning(InlinePrimitives(), lifted)
    calls: list[relay.Expr] = []
    relay.analysis.post_order_visit(
        after["main"],
        lambda node: calls.append(node.op) if isinstance(node, relay.Call) else None,
    )
    assert not any(isinstance(callee, relay.Var) for callee in calls)
    let = after["main"].body
    assert isinstance(let, relay.Let)
    assert not isinstance(let.value, relay.Function)


def test_a_global_function_is_called_by_its_name_through_any_number_of_lets() -> None:
    names = [relay.var(f"v{at}") for at in range(300)]
    body: relay.Expr = names[-1](X)
    for name, value in reversed([*zip(names[1:], names, strict=False)]):
        body = relay.Let(name, value, body)
    double = relay.GlobalVar("double")
    body = relay.Let(names[0], double, body)
    mod = tvm.IRModule({"double": relay.Function((X,), relay.add(X, X))})
    mod["main"] = relay.Function((X,), body)
    with PassContext() as context:
        after = InlinePrimitives()(mod)
    assert after["main"].body.op is after.get_global_var("double")
    assert context.statistics["InlinePrimitives"] == {"inlined": 1}


def test_a_closure_that_is_not_primitive_stays_bound() -> None:
    f, p = relay.var("f"), relay.var("p", shape=(3,))
    body = relay.Let(f, relay.Function((p,), relay.exp(p)), f(X))
    before = InferType()(tvm.IRModule.from_expr(relay.Function((X,), body)))
    assert InlinePrimitives()(before)["main"] is before["main"]


def test_it_is_linear_in_calls_of_one_function() -> None:
    f = relay.var("f")
    body: relay.Expr = X
    for _ in range(5000):
        body = f(body)
    mod = tvm.IRModule.from_expr(relay.Function((X,), relay.Let(f, primitive(), body)))
    after = InlinePrimitives()(mod)["main"]
    assert relay.analysis.node_count(after) < 5010
    value = relay.create_executor(mod=tvm.IRModule.from_expr(primitive())).evaluate()
    assert value(np.zeros(3, "float32")).numpy().tolist() == [1, 1, 1]
