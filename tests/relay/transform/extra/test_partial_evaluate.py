from __future__ import annotations

from collections.abc import Callable

import pytest

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types import TensorType, TypeVar
from parpass.relay.expr import Expr, Function, GlobalVar, If, Tuple, Var
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.transform import InferType, PartialEvaluate
from parpass.relay.transform.extra.partial_values import types_in_code
from parpass.transform import PassContext
from tests.support.deep import TYPED_KINDS, function_of

SCALAR = TensorType((), "float32")
INT = TensorType((), "int32")
ONE = relay.const(1)


def with_power() -> IRModule:
    """Return a module with a function that counts an argument down."""
    x, n, power = Var("x", SCALAR), Var("n", INT), GlobalVar("power")
    again = relay.multiply(x, power(x, relay.subtract(n, ONE)))
    stops = relay.equal(n, relay.const(0))
    body = If(stops, relay.const(1.0), again)
    return IRModule({power: Function((x, n), body, SCALAR)})


def test_functions_that_double_are_evaluated_up_to_a_limit() -> None:
    mod, before = IRModule(), GlobalVar("f0")
    x = Var("x", SCALAR)
    mod[before] = Function((x,), relay.exp(x))
    for at in range(1, 40):
        x, var = Var("x", SCALAR), GlobalVar(f"f{at}")
        mod[var] = Function((x,), before(before(x)), SCALAR)
        before = var
    with PassContext(config={"relay.max_copied_nodes": 500}):
        after = PartialEvaluate()(InferType()(mod))
    sizes = [len(post_order(after[name])) for name in after.functions_by_name]
    assert sum(sizes) < 4_000
    assert len(post_order(after["f3"])) > 8


def test_type_parameters_in_code_are_new_ones_where_types_are_put_for_others() -> None:
    a, b = TypeVar("A"), TypeVar("B")
    y, z = Var("y", a), Var("z", b)
    inner = Function((z,), Tuple((y, z)), relay.TupleType([a, b]), (b,))
    types, own = types_in_code(inner, {a: b})
    assert [param.name_hint for param in own] == ["B_"]
    assert types == {a: b, b: own[0]}


def test_what_is_normal_and_unknown_stays_the_same_object() -> None:
    x = relay.var("x", shape=(3,))
    mod = InferType()(IRModule({"main": Function((x,), relay.exp(x))}))
    assert PartialEvaluate()(mod) is mod
    marked = mod["main"].with_attr("Primitive", 1)
    mod = InferType()(IRModule({"main": marked}))
    assert PartialEvaluate()(mod) is mod


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED_KINDS)
def test_programs_may_be_deep(kind: Callable[[int], Expr]) -> None:
    mod = InferType()(IRModule({"main": function_of(kind(2_000))}))
    assert "main" in PartialEvaluate()(mod)


@pytest.mark.slow
def test_recursions_may_be_deep() -> None:
    mod, x = with_power(), Var("x", SCALAR)
    mod["main"] = Function((x,), mod.get_global_var("power")(x, relay.const(3_000)))
    after = PartialEvaluate()(InferType()(mod))
    assert evaluate(after["main"], [1.0], after) == 1
