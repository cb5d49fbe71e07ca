"""AlterOpLayout and ConvertLayout: meaning, rules, errors; cases are in text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ArgumentError, IRError, IRTypeError, UnknownOpError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_registration import TempOpAttr
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Tuple, const
from parpass.relay.transform import (
    AlterOpLayout,
    ConvertLayout,
    InferType,
    LayoutConfig,
)
from parpass.relay.transform.layout.alter_op_layout import conv2d_nchwc
from parpass.relay.transform.layout.layout_rules import InferCorrectLayoutOutput
from parpass.runner import Runner
from parpass.transform import Pass, PassContext
from tests.support.profiles import examples
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial

pytestmark = pytest.mark.hunt  # properties are inside of tests

C = 4
X = relay.var("x", shape=(1, C, 6, 6))
W = relay.var("w", shape=(C, C, 3, 3))
NHWC = {"nn.conv2d": ["NHWC", "default"]}
KEY = "FTVMAlterOpLayout"


def conv(data: Expr, weight: Expr = W, **options: Any) -> Expr:
    return relay.nn.conv2d(data, weight, padding=1, kernel_size=(3, 3), **options)


def module(body: Expr) -> IRModule:
    return InferType()(IRModule({"main": Function(tuple(free_vars(body)), body)}))


def transforms(mod: IRModule) -> int:
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call)]
    return sum(call.op is relay.op.get("layout_transform") for call in calls)


@pytest.fixture
def blocked() -> Iterator[None]:
    """Let AlterOpLayout store channels in blocks of two."""
    with TempOpAttr("nn.conv2d", KEY, conv2d_nchwc(2)):
        yield


def test_a_rule_may_leave_a_call_alone() -> None:
    mod = module(conv(X))
    assert AlterOpLayout()(mod)["main"] is mod["main"]
    with TempOpAttr("nn.conv2d", KEY, _none):
        assert AlterOpLayout()(mod)["main"] is mod["main"]


def _none(*_given: Any) -> None:
    return None


def test_a_rule_may_give_weights_a_form_of_its_own() -> None:
    def alter(attrs: Any, inputs: Any, types: Any, _out: Any) -> Expr:
        assert types == [X.type_annotation, W.type_annotation]
        return relay.nn.conv2d(inputs[0], inputs[1] * const(1.0), padding=1)

    with TempOpAttr("nn.conv2d", KEY, alter):
        mod = AlterOpLayout()(module(conv(X)))
    expected = relay.nn.conv2d(X, W * const(1.0), padding=1)
    assert_structural_equal(mod, module(expected))


def test_a_rule_that_gives_no_call_is_an_error() -> None:
    with (
        TempOpAttr("nn.conv2d", KEY, lambda *_given: X),  # pyright: ignore[reportUnknownLambdaType]
        pytest.raises(IRTypeError, match=r"^expected a call of an operator for 'nn.c"),
    ):
        AlterOpLayout()(module(conv(X)))


@pytest.mark.parametrize(
    ("desired", "error"),
    [
        ("NHWC", r"^expected layouts by operator, such as "),
        ({"nn.conv2d": "NHWC"}, r"^expected layouts for 'nn.conv2d', got 'NHWC'"),
        ({"nn.conv2d": ["NHXC4"]}, r"^expected a layout such as "),
        ({"nn.conv2": ["NHWC"]}, r"nn.conv2d"),
    ],
)
def test_wrong_layouts_are_errors_at_once(desired: Any, error: str) -> None:
    with pytest.raises((ArgumentError, IRTypeError, UnknownOpError), match=error):
        ConvertLayout(desired)


def _unary(value: Expr, kind: int) -> Expr:
    vector = const([0.5, 1.0, 2.0, 1.5])
    return [
        lambda: relay.nn.relu(value),
        lambda: relay.nn.max_pool2d(value, pool_size=(3, 3), padding=1),
        lambda: relay.nn.batch_norm(value, vector, vector, vector, vector)[0],
        lambda: relay.nn.bias_add(value, vector),
        lambda: relay.nn.softmax(value, axis=1),
        lambda: relay.concatenate(relay.split(value, 2, axis=1).astuple(), axis=1),
        lambda: relay.concatenate((value, value), axis=2),
        lambda: relay.nn.pad(value, ((0, 0), (0, 0), (1, 0), (0, 1))),
        lambda: value + relay.mean(value, axis=[2, 3], keepdims=True),
        lambda: value * relay.const([[[2.0]], [[1.0]], [[0.5]], [[1.0]]]),
        lambda: relay.nn.dropout(value),
        lambda: value + relay.sum(value, axis=1, keepdims=True),
        lambda: relay.transpose(relay.transpose(value, (0, 2, 3, 1)), (0, 3, 1, 2)),
        lambda: relay.nn.prelu(value, vector),
        lambda: relay.nn.pad(
            relay.strided_slice(value, (0, 0, 1), (1, 4)),
            ((0, 0), (0, 0), (1, 0), (0, 0)),
        ),
        lambda: relay.concatenate(
            [relay.strided_slice(value, (2,), (4,), axes=(1,))] * 2, axis=1
        ),
        lambda: relay.slice_like(value, value, axes=(1, 2)),
        lambda: value + relay.expand_dims(relay.max(value, axis=2), 2),
        lambda: (
            value
            + relay.expand_dims(
                relay.squeeze(relay.mean(value, 1, keepdims=True), [1]), 1
            )
        ),
        lambda: value + relay.cast(relay.argmax(value, 3, keepdims=True), "float32"),
    ][kind]()


@st.composite
def networks(draw: st.DrawFn) -> IRModule:
    """Give networks of convolutions with all kinds of operators between them."""
    depthwise = relay.var("d", shape=(C, 1, 3, 3))
    value: Expr = X
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.integers(-3, 19))
        before = value
        if kind >= 0:
            value = _unary(value, kind)
        else:
            weights = [(W, 1), (depthwise, C)]
            weight, groups = draw(st.sampled_from(weights))
            value = conv(value, weight, groups=groups)
            if draw(st.booleans()):
                value = value + before
    ends = [value, relay.nn.batch_flatten(value), relay.mean(value, axis=[2, 3])]
    return module(Tuple(tuple(ends)))


PASSES: list[Pass] = [
    ConvertLayout(NHWC),
    ConvertLayout({"nn.conv2d": ["NCHW2c", "OIHW2i2o"]}),
    AlterOpLayout(),
]


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
@pytest.mark.parametrize("at", range(len(PASSES)))
def test_a_change_of_layout_keeps_the_meaning(at: int) -> None:
    @given(mod=networks())
    @examples(1.25)
    def law(mod: IRModule) -> None:
        assert_keeps_meaning(PASSES[at], mod, rtol=1e-4, atol=1e-3)

    law()


def test_a_config_that_was_not_entered_cannot_be_left() -> None:
    with pytest.raises(IRError, match="that was entered"):
        LayoutConfig().__exit__()


@pytest.mark.slow
def test_convolutions_are_left_alone_in_workers_too(runner: Runner) -> None:
    functions = {f"f{at}": module(conv(conv(X)))["main"] for at in range(8)}
    with LayoutConfig([1]):
        assert_parallel_is_serial(runner, ConvertLayout(NHWC), IRModule(functions))


def test_an_operator_goes_on_by_a_rule_of_the_users() -> None:
    def go_on(attrs: Any, new: list[Any], old: list[Any], types: list[Any]) -> Any:
        assert [one.name for one in (*new, *old)] == ["NHWC", "NCHW"]
        assert types[0].shape == (1, C, 6, 6)
        return InferCorrectLayoutOutput(new, new, attrs)

    def stay(*_: Any) -> None:
        return None

    def wrong(*_: Any) -> int:
        return 3

    before = module(relay.fast_exp(conv(X)))
    with TempOpAttr("fast_exp", "FInferCorrectLayout", stay):
        assert transforms(ConvertLayout(NHWC)(before)) == 3
        stays = ConvertLayout(NHWC)(before)["main"].body
    assert stays.op.name == "fast_exp"
    with TempOpAttr("fast_exp", "FInferCorrectLayout", go_on):
        follows = ConvertLayout(NHWC)(before)["main"].body
    assert follows.op.name == "layout_transform"
    with (
        TempOpAttr("fast_exp", "FInferCorrectLayout", wrong),
        pytest.raises(IRTypeError, match="an InferCorrectLayoutOutput for 'fast_exp'"),
    ):
        ConvertLayout(NHWC)(before)


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_rules_travel_to_the_workers(runner: Runner) -> None:
    mod = IRModule(
        {f"f{at}": module(relay.nn.relu(conv(X)))["main"] for at in range(8)}
    )
    assert_parallel_is_serial(runner, AlterOpLayout(), mod)


@pytest.mark.slow
def test_deep_networks_are_converted() -> None:
    body: Expr = X
    for _ in range(1_500):
        body = relay.nn.relu(conv(body))
    with PassContext() as context:
        after = ConvertLayout(NHWC)(module(body))
    assert transforms(after) == 3
    assert context.statistics["ConvertLayout"] == {"converted": 1_500}
