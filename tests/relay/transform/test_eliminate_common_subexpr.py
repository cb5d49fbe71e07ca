from __future__ import annotations

import numpy as np
import pytest

from parpass import relay
from parpass.ir.attrs import Attrs
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op, register_op
from parpass.relay.expr import Call, Expr, Function, Tuple, TupleGetItem
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.transform import EliminateCommonSubexpr
from parpass.relay.transform.eliminate_common_subexpr import eliminate_common_subexpr
from tests.support.relay.deep import DEPTHS

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


def test_it_is_a_function_pass_of_level_3_that_requires_types_7_13() -> None:
    info = EliminateCommonSubexpr().info
    assert (info.opt_level, tuple(info.required)) == (3, ("InferType",))


def array() -> Expr:
    return relay.const(np.ones(3, "float32"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (relay.add(x, one), relay.add(x, relay.const(1.0, "float64"))),
        (relay.add(x, array()), relay.add(x, array())),
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
