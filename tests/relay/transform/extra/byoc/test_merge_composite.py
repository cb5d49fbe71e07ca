from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.dataflow_pattern import is_op, wildcard
from parpass.relay.expr import Expr, Function
from parpass.relay.transform import InferType, MergeComposite
from parpass.runner import Runner
from tests.support.meaning import assert_parallel_is_serial

x, y = (relay.var(name, shape=(3,)) for name in "xy")
ADD_RELU = is_op("nn.relu")(wildcard() + wildcard())
TABLE: list[tuple[Any, ...]] = [("add_relu", ADD_RELU)]


def add_relu(one: Expr, other: Expr) -> Expr:
    return relay.nn.relu(one + other)


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function((x, y), body))


def composites(mod: IRModule) -> list[str]:
    return sorted(
        node.attrs["Composite"]
        for node in post_order(mod["main"])
        if isinstance(node, Function) and node.attrs
    )


def shape_is(*shape: int) -> Callable[[Any], bool]:
    def check(extract: Any) -> bool:
        return extract.checked_type.shape == shape

    return check


def test_a_check_sees_types() -> None:
    before = InferType()(module(add_relu(x, y)))
    for shape, found in (((3,), ["add_relu"]), ((4,), [])):
        table = [("add_relu", ADD_RELU, shape_is(*shape))]
        assert composites(MergeComposite(table)(before)) == found


@pytest.mark.parametrize(
    "row", ["add", ("add",), (ADD_RELU, "add"), ("add", ADD_RELU, 1)]
)
def test_other_rows_are_refused(row: Any) -> None:
    with pytest.raises(ArgumentError, match="expected rows of a name, a pattern"):
        MergeComposite(cast("Any", [row]))


@pytest.mark.slow
def test_workers_make_the_same_of_it(runner: Runner) -> None:
    mod = IRModule()
    for number in range(4):
        mod[f"f{number}"] = Function((x, y), add_relu(add_relu(x, y), y))
    table = [("add_relu", ADD_RELU, shape_is(3))]
    assert_parallel_is_serial(runner, MergeComposite(table), mod)
