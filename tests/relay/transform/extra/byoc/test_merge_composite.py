from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from parpass import relay
from parpass.errors import ArgumentError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.relay.dataflow_pattern import is_op, wildcard
from parpass.relay.expr import Call, Expr, Function
from parpass.relay.transform import InferType, MergeComposite
from parpass.runner import Runner
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial

x, y = (relay.var(name, shape=(3,)) for name in "xy")
ADD_RELU = is_op("nn.relu")(wildcard() + wildcard())
TABLE: list[tuple[Any, ...]] = [("add_relu", ADD_RELU)]


def add_relu(one: Expr, other: Expr) -> Expr:
    return relay.nn.relu(one + other)


def composite(name: str) -> Function:
    p, q = (relay.var(name, shape=(3,)) for name in "pq")
    attrs = {"PartitionedFromPattern": "add_nn.relu_", "Composite": name}
    return Function((p, q), add_relu(p, q), attrs=attrs)


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function((x, y), body))


def composites(mod: IRModule) -> list[str]:
    return sorted(
        node.attrs["Composite"]
        for node in post_order(mod["main"])
        if isinstance(node, Function) and node.attrs
    )


def test_the_documented_match_becomes_a_function() -> None:
    before = module(add_relu(x, y))
    after = assert_keeps_meaning(MergeComposite(TABLE), before)
    expected = module(Call(composite("add_relu"), (x, y)))
    assert_structural_equal(after, InferType()(expected))
    assert shows(MergeComposite, before)


def test_matches_in_a_row_call_each_other() -> None:
    before = module(add_relu(add_relu(x, y), x))
    after = assert_keeps_meaning(MergeComposite(TABLE), before)
    inner = Call(composite("add_relu"), (x, y))
    expected = module(Call(composite("add_relu"), (inner, x)))
    assert_structural_equal(after, InferType()(expected))


def test_the_first_pattern_that_matches_is_taken() -> None:
    relu = ("relu", is_op("nn.relu")(wildcard()))
    body = relay.nn.relu(add_relu(x, y))
    both = MergeComposite([*TABLE, relu])(InferType()(module(body)))
    assert composites(both) == ["add_relu", "relu"]
    reverse = MergeComposite([relu, *TABLE])(InferType()(module(body)))
    assert composites(reverse) == ["relu", "relu"]


def shape_is(*shape: int) -> Callable[[Any], bool]:
    def check(extract: Any) -> bool:
        return extract.checked_type.shape == shape

    return check


def test_a_check_sees_types() -> None:
    before = InferType()(module(add_relu(x, y)))
    for shape, found in (((3,), ["add_relu"]), ((4,), [])):
        table = [("add_relu", ADD_RELU, shape_is(*shape))]
        assert composites(MergeComposite(table)(before)) == found


def test_without_a_match_a_function_is_the_same_object() -> None:
    before = InferType()(module(x + y))
    assert MergeComposite(TABLE)(before)["main"] is before["main"]


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
