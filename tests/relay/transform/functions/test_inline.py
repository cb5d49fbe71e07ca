from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parpass as tvm
from parpass import relay
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.expr import Expr, Function, GlobalVar, var
from parpass.relay.transform import FuseOps, Inline, InlinePrimitives, ToANormalForm
from parpass.transform import PassContext, Sequential
from tests.support.drawn import HIGHER_ORDER
from tests.support.profiles import examples
from tests.support.relay.deep import DEEPEST
from tests.support.relay.meaning import assert_keeps_meaning

VECTOR = TensorType((3,))
x = var("x", VECTOR)
DOUBLE, MAIN = GlobalVar("double"), GlobalVar("main")


def doubling(**attrs: object) -> Function:
    p = var("x", VECTOR)
    return Function((p,), relay.add(p, p), VECTOR, attrs={"Inline": 1, **attrs})


def module(body: Expr, double: Function | None = None) -> IRModule:
    callee = doubling() if double is None else double
    return IRModule({DOUBLE: callee, MAIN: Function((x,), body)})


def test_it_is_a_module_pass_of_level_1_named_inline_globals_7_13() -> None:
    info = Inline().info
    assert (info.name, info.opt_level, tuple(info.required)) == ("InlineGlobals", 1, ())


def calling_twice(levels: int) -> IRModule:
    mod = module(GlobalVar(f"f{levels}")(x))
    mod["f0"] = doubling()
    for at in range(levels):
        p, callee = var("p", VECTOR), GlobalVar(f"f{at}")
        mod[f"f{at + 1}"] = Function((p,), callee(callee(p)), attrs={"Inline": 1})
    return mod


@pytest.mark.slow
def test_functions_that_double_with_each_level_are_inlined_up_to_a_limit() -> None:
    with pytest.raises(SizeLimitError, match=r"at most 65536 .* double") as caught:
        Inline()(calling_twice(60))
    assert caught.value.__notes__[0] == "in pass 'InlineGlobals'"


def test_the_limit_is_an_option() -> None:
    with PassContext(config={"relay.max_copied_nodes": 5_000}):
        assert len(post_order(Inline()(calling_twice(8))["main"])) > 2**8
        with pytest.raises(SizeLimitError, match=r"at most 5000 nodes .* got .* 'f1?"):
            Inline()(calling_twice(60))


MANY = 22_000  # of which each copies the three nodes of `double`: beyond 65,536


@pytest.mark.slow
def test_a_large_program_may_consist_of_calls_of_a_small_function() -> None:
    body: Expr = x
    for _ in range(MANY):
        body = DOUBLE(body)
    mod = module(body)
    assert len(post_order(Inline()(mod)["main"])) == MANY + 3
    with (
        PassContext(config={"relay.max_copied_nodes": 2**16}),
        pytest.raises(SizeLimitError, match="at most 65536 nodes"),
    ):
        Inline()(mod)


@pytest.mark.stress
def test_calls_may_be_nested_to_any_depth() -> None:
    body: Expr = x
    for _ in range(DEEPEST):
        body = DOUBLE(body)
    expected: Expr = x
    for _ in range(DEEPEST):
        expected = relay.add(expected, expected)
    after = Inline()(module(body))
    assert_structural_equal(after["main"], Function((x,), expected))


@pytest.mark.slow
@given(mod=HIGHER_ORDER, marked=st.lists(st.booleans(), min_size=4))
@examples(1.5)
def test_it_keeps_the_meaning(mod: IRModule, marked: list[bool]) -> None:
    mod = mod.copy()  # which others share
    for var_, mark in zip(mod.get_global_vars(), marked, strict=False):
        if mark:
            mod[var_] = mod[var_].with_attr("Inline", 1)
    assert_keeps_meaning(Inline(), mod)


X = relay.var("x", shape=(3,))


def primitive() -> relay.Function:
    p = relay.var("p", shape=(3,))
    return relay.Function((p,), relay.exp(p)).with_attr("Primitive", 1)


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
