from __future__ import annotations

import numpy as np
import pytest

from parpass import relay
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.operators.op_table import Op, register_op
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.transform import EliminateCommonSubexpr
from parpass.relay.transform.eliminate_common_subexpr import eliminate_common_subexpr
from parpass.relay.typing.infer import infer_type
from parpass.transform import PassContext
from tests.support.deep import DEPTHS
from tests.support.docs import shows
from tests.support.effects import effect, read

x = relay.var("x", shape=(3,))
one = relay.const(1.0)


class ListAttrs(Attrs, frozen=True):
    """Attributes that a user made without knowing that they should hash."""

    items: list[int]


def same(_attrs: Attrs | None, value: object) -> object:
    return value


LISTED = register_op(Op("test.cse_listed", 1, identity, same, ListAttrs))


def add_one() -> Call:
    return relay.add(x, relay.const(1.0))


def is_merged(first: Expr, second: Expr) -> bool:
    merged = eliminate_common_subexpr(Tuple((first, second)))
    return merged.fields[0] is merged.fields[1]


def test_the_documented_program_has_one_sum_left() -> None:
    before = Function((x,), relay.multiply(add_one(), add_one()))
    shared = add_one()
    expected = Function((x,), relay.multiply(shared, shared))
    assert_structural_equal(eliminate_common_subexpr(before), expected)
    programs = IRModule.from_expr(before), IRModule.from_expr(expected)
    assert shows(EliminateCommonSubexpr, *programs)


def test_the_pass_merges_in_every_function_and_counts() -> None:
    body = relay.multiply(relay.exp(add_one()), relay.exp(add_one()))
    mod = IRModule({"f": Function((x,), body)})
    shared = relay.exp(add_one())
    context = PassContext()
    with context:
        merged = EliminateCommonSubexpr()(mod)
    expected = Function((x,), relay.multiply(shared, shared))
    assert_structural_equal(merged["f"], infer_type(expected))
    assert context.statistics["EliminateCommonSubexpr"]["merged"] == 2


def test_it_is_a_function_pass_of_level_3_that_requires_types_7_13() -> None:
    info = EliminateCommonSubexpr().info
    assert (info.opt_level, tuple(info.required)) == (3, ("InferType",))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (add_one(), add_one()),
        (relay.negative(add_one()), relay.negative(add_one())),
        (relay.clip(x, 0.0, 6.0), relay.clip(x, 0.0, 6.0)),
        (TupleGetItem(x, 1), TupleGetItem(x, 1)),
        (TupleGetItem(add_one(), 1), TupleGetItem(add_one(), 1)),
    ],
)
def test_what_computes_the_same_is_merged_12_2(first: Expr, second: Expr) -> None:
    assert is_merged(first, second)


def array() -> Expr:
    return relay.const(np.ones(3, "float32"))


def closure() -> Function:
    y = relay.var("y", shape=(3,))
    return Function((y,), y)


FUNCTION = closure()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (relay.add(x, one), relay.subtract(x, one)),
        (relay.add(x, one), relay.add(one, x)),
        (relay.add(x, one), relay.add(x, relay.const(2.0))),
        (relay.add(x, one), relay.add(x, relay.const(1.0, "float64"))),
        (relay.add(x, relay.const(0.0)), relay.add(x, relay.const(-0.0))),
        (relay.add(x, array()), relay.add(x, array())),
        (relay.clip(x, 0.0, 6.0), relay.clip(x, 0.0, 5.0)),
        (relay.zeros((3,), "float32"), relay.zeros((3,), "float32")),
        (effect(x), effect(x)),
        (read(x), read(x)),
        (Call(FUNCTION, (x,)), Call(FUNCTION, (x,))),
        (Call(g := GlobalVar("g"), (x,)), Call(g, (x,))),
        (TupleGetItem(x, 0), TupleGetItem(x, 1)),
        (
            Call(LISTED, (x,), ListAttrs(items=[1])),
            Call(LISTED, (x,), ListAttrs(items=[1])),
        ),
    ],
)
def test_what_may_differ_is_not_merged_12_2(first: Expr, second: Expr) -> None:
    assert not is_merged(first, second)


def test_one_constant_object_of_several_elements_is_the_same_argument_12_2() -> None:
    shared = array()
    assert is_merged(relay.add(x, shared), relay.add(x, shared))


def test_fskip_keeps_calls_and_projections_12_2() -> None:
    asked: list[Expr] = []

    def fskip(expr: Expr) -> bool:
        asked.append(expr)
        return True

    def halves() -> Expr:
        return relay.split(x, 3).astuple()

    program = Tuple((TupleGetItem(halves(), 0), TupleGetItem(halves(), 0)))
    assert eliminate_common_subexpr(program, fskip) is program
    assert [type(expr) for expr in asked] == [Call, TupleGetItem] * 2


def test_fskip_chooses_what_is_kept_12_2() -> None:
    def is_sum(expr: Expr) -> bool:
        return isinstance(expr, Call) and expr.op is Op.get("add")

    y = relay.exp(x)
    body = Tuple((add_one(), add_one(), y, relay.exp(x)))
    mod = EliminateCommonSubexpr(fskip=is_sum)(IRModule({"f": Function((x,), body)}))
    result = mod["f"].body
    assert isinstance(result, Tuple)
    assert result.fields[0] is not result.fields[1]
    assert result.fields[2] is result.fields[3]


def test_merging_goes_into_lets_and_closures() -> None:
    v, p = relay.var("v"), relay.var("p", shape=(3,))
    inner = Function((p,), relay.multiply(p, add_one()))
    merged = eliminate_common_subexpr(Let(v, add_one(), Tuple((v, inner))))
    body = merged.body
    assert isinstance(body, Tuple)
    function = body.fields[1]
    assert isinstance(function, Function)
    product = function.body
    assert isinstance(product, Call)
    assert product.args[1] is merged.value


def test_a_program_without_common_subexpressions_is_the_same_object() -> None:
    shared = add_one()
    program = Function((x,), relay.multiply(shared, relay.exp(shared)))
    assert eliminate_common_subexpr(program) is program


def test_merging_does_not_change_the_meaning() -> None:
    body = relay.multiply(relay.tanh(add_one()), relay.tanh(add_one())) - add_one()
    function = Function((x,), body)
    value = np.linspace(-1, 1, 3, dtype="float32")
    np.testing.assert_array_equal(
        np.asarray(evaluate(eliminate_common_subexpr(function), [value])),
        np.asarray(evaluate(function, [value])),
    )


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_two_equal_deep_chains_become_one(depth: int) -> None:
    def chain() -> Expr:
        body: Expr = x
        for _ in range(depth):
            body = relay.add(body, one)
        return body

    merged = eliminate_common_subexpr(Tuple((chain(), chain())))
    assert len(post_order(merged)) == depth + 4
