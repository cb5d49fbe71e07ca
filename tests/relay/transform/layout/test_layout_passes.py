"""AlterOpLayout and ConvertLayout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.errors import ArgumentError, IRError, IRTypeError, UnknownOpError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_registration import TempOpAttr
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Tuple, Var, const
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
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial
from tests.support.profiles import examples

pytestmark = pytest.mark.hunt  # properties are inside of tests

C = 4
X = relay.var("x", shape=(1, C, 6, 6))
W = relay.var("w", shape=(C, C, 3, 3))
NHWC = {"nn.conv2d": ["NHWC", "default"]}
KEY = "FTVMAlterOpLayout"


def conv(data: Expr, weight: Expr = W, **options: Any) -> Expr:
    return relay.nn.conv2d(data, weight, padding=1, kernel_size=(3, 3), **options)


def to(value: Expr, source: str, target: str) -> Expr:
    return relay.layout_transform(value, source, target)


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


def in_nhwc(data: Expr, weight: Expr = W, kernel: str = "HWIO", **more: Any) -> Expr:
    weight = to(weight, "OIHW", kernel)
    return conv(data, weight, data_layout="NHWC", kernel_layout=kernel, **more)


def test_what_is_between_convolutions_stays_in_their_layout() -> None:
    bias = relay.var("b", shape=(C, 1, 1))
    first = relay.nn.relu(conv(X) + bias)
    before = relay.nn.max_pool2d(conv(first) + first, pool_size=(2, 2))
    broadcast = to(relay.expand_dims(bias, axis=0), "NCHW", "NHWC")
    weight = to(W, "OIHW", "HWIO")

    def convolve(data: Expr) -> Expr:
        return conv(data, weight, data_layout="NHWC", kernel_layout="HWIO")

    inner = relay.nn.relu(convolve(to(X, "NCHW", "NHWC")) + broadcast)
    pooled = relay.nn.max_pool2d(
        convolve(inner) + inner, pool_size=(2, 2), layout="NHWC"
    )
    after = ConvertLayout(NHWC)(module(before))
    expected = Function((X, W, bias), to(pooled, "NHWC", "NCHW"))
    assert_structural_equal(after, InferType()(IRModule({"main": expected})))


def test_depthwise_kernels_have_a_layout_of_their_own() -> None:
    weight = relay.var("d", shape=(C, 1, 3, 3))
    after = ConvertLayout(NHWC)(module(conv(X, weight, groups=C)))
    body = in_nhwc(to(X, "NCHW", "NHWC"), weight, "HWOI", groups=C)
    expected = IRModule({"main": Function((X, weight), to(body, "NHWC", "NCHW"))})
    assert_structural_equal(after, InferType()(expected))


def test_a_value_in_two_forms_is_transformed_once() -> None:
    data = conv(X)
    body = Tuple((relay.nn.batch_flatten(data), relay.reshape(data, (-1,))))
    assert transforms(ConvertLayout(NHWC)(module(body))) == 3


def test_a_program_in_the_desired_layout_is_unchanged() -> None:
    mod = module(conv(X))
    for desired in (
        {"nn.conv2d": ["NCHW", "default"]},
        {"nn.conv2d": ["NCHW"]},
        {"nn.conv2d": ["NCHW", "OIHW"]},
        {"nn.conv3d": ["NDHWC", "default"]},
    ):
        assert ConvertLayout(desired)(mod)["main"] is mod["main"]


def test_an_operator_in_its_desired_layout_does_not_go_on_in_another() -> None:
    pooled = relay.nn.max_pool2d(conv(X), pool_size=(2, 2), out_layout="NCHW")
    mod = module(relay.nn.relu(pooled))
    after = ConvertLayout({**NHWC, "nn.max_pool2d": ["NCHW"]})(mod)
    first = to(in_nhwc(to(X, "NCHW", "NHWC")), "NHWC", "NCHW")
    pooled = relay.nn.max_pool2d(first, pool_size=(2, 2), out_layout="NCHW")
    assert_structural_equal(after, module(relay.nn.relu(pooled)))


def test_images_are_resized_in_the_desired_layout() -> None:
    mod = module(relay.image.resize2d(X, (8, 8)))
    resize = ConvertLayout({"image.resize2d": ["NHWC"]})
    resized = relay.image.resize2d(to(X, "NCHW", "NHWC"), (8, 8), layout="NHWC")
    assert_structural_equal(resize(mod), module(to(resized, "NHWC", "NCHW")))
    assert_keeps_meaning(resize, mod)


def test_what_has_an_axis_goes_on_in_its_datas_layout_whatever_is_desired() -> None:
    vectors = [relay.var(name, shape=(C,)) for name in "gbmv"]
    mod = module(relay.nn.batch_norm(conv(X), *vectors)[0])  # pyright: ignore[reportArgumentType]
    desired = {**NHWC, "nn.batch_norm": ["NHWC", "default"]}
    assert_structural_equal(ConvertLayout(desired)(mod), ConvertLayout(NHWC)(mod))


def test_there_and_back_cancel_but_for_the_weight() -> None:
    mod = module(relay.nn.relu(conv(relay.nn.relu(conv(X)))))
    there = ConvertLayout(NHWC)(mod)
    assert transforms(there) == 3
    assert_keeps_meaning(ConvertLayout({"nn.conv2d": ["NCHW", "OIHW"]}), there)


@pytest.mark.usefixtures("blocked")
def test_channels_are_stored_in_blocks_where_these_divide_them() -> None:
    odd = relay.var("o", shape=(3, C, 3, 3))
    mod = module(Tuple((relay.nn.relu(conv(X)), conv(X, odd))))
    after = AlterOpLayout()(mod)
    names = [c.op for c in post_order(after["main"]) if isinstance(c, Call)]
    assert names.count(relay.op.get("nn.contrib_conv2d_NCHWc")) == 1
    assert names.count(relay.op.get("nn.conv2d")) == 1
    assert_keeps_meaning(AlterOpLayout(), mod, rtol=1e-4, atol=1e-4)


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


def test_an_operator_without_layouts_cannot_be_converted() -> None:
    with pytest.raises(ArgumentError, match=r"with layouts, got 'nn.relu'"):
        ConvertLayout({"nn.relu": ["NHWC"]})(module(relay.nn.relu(X)))


@pytest.mark.usefixtures("blocked")
def test_the_documented_programs() -> None:
    w = relay.var("w", shape=(4, 2, 3, 3))
    x = relay.var("x", shape=(1, 2, 8, 8))
    body = relay.nn.relu(relay.nn.conv2d(x, w))
    before = IRModule({"main": Function((x, w), body)})
    assert shows(ConvertLayout, before, ConvertLayout(NHWC)(before))
    w = relay.var("w", shape=(4, 4, 3, 3))
    x = relay.var("x", shape=(1, 4, 8, 8))
    body = relay.nn.relu(relay.nn.conv2d(x, w))
    before = IRModule({"main": Function((x, w), body)})
    assert shows(AlterOpLayout, before, AlterOpLayout()(before))


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


_Form = Callable[[Expr], Expr]
FORMS: list[tuple[_Form, _Form]] = [
    (lambda x: relay.transpose(x, (0, 2, 3, -3)),
     lambda x: relay.transpose(x, (0, 1, 2, 3))),
    (lambda x: relay.max(x, (2, 3)), lambda x: relay.max(x, (1, 2))),
    (lambda x: relay.argmax(x, 1, keepdims=True),
     lambda x: to(relay.argmax(x, (3,), keepdims=True), "NHWC", "NCHW")),
    (relay.squeeze, lambda x: to(relay.squeeze(x, (0,)), "HWC", "CHW")),
    (lambda x: relay.strided_slice(x, (0, 1), (1, 3, 5), (1, 1, 2)),
     lambda x: to(
         relay.strided_slice(x, (0, 0, 0, 1), (1, 5, 6, 3), (1, 2, 1, 1)),
         "NHWC", "NCHW")),
    (lambda x: relay.strided_slice(x, (1,), (3,), axes=(1,)),
     lambda x: to(
         relay.strided_slice(x, (1,), (3,), axes=(3,)), "NHWC", "NCHW")),
    (lambda x: x * relay.const([2.0]),
     lambda x: to(x * relay.const([2.0]), "NHWC", "NCHW")),
]  # fmt: skip


@pytest.mark.parametrize(("build", "expected"), FORMS)
def test_axes_are_where_the_layout_has_them(build: _Form, expected: _Form) -> None:
    after = ConvertLayout(NHWC)(module(build(conv(X))))
    wanted = expected(in_nhwc(to(X, "NCHW", "NHWC")))
    assert_structural_equal(after, module(wanted))


@pytest.mark.usefixtures("blocked")
def test_blocks_are_reduced_and_sliced_with_their_axes() -> None:
    total = AlterOpLayout()(module(relay.sum(conv(X), 1, keepdims=True)))["main"].body
    assert total.attrs.src_layout == "NCHW1c"
    assert total.args[0].attrs.axis == (1, 4)
    part = relay.strided_slice(conv(X), (0, 2), (1, 4))
    found = AlterOpLayout()(module(part))["main"].body.args[0]
    assert found.attrs.begin == (0, 1, 0, 0, 0)
    assert found.attrs.end == (1, 2, 6, 6, 2)
    odd = AlterOpLayout()(module(relay.strided_slice(conv(X), (0, 1), (1, 3))))
    assert odd["main"].body.attrs.begin == (0, 1)


@pytest.mark.usefixtures("blocked")
def test_what_blocks_of_one_channel_are_left_of_goes_on_with_others() -> None:
    data = conv(X)
    total = relay.sum(data, 1, keepdims=True)
    for body in (data + total, relay.squeeze(total, [1]), relay.exp(total) + data):
        assert_keeps_meaning(AlterOpLayout(), module(body), rtol=1e-4, atol=1e-3)


def test_convolutions_are_left_alone_by_number() -> None:
    both = module(conv(conv(X)))
    with LayoutConfig(skip_layers=[0]):
        after = ConvertLayout(NHWC)(both)
    assert_structural_equal(
        after, module(to(in_nhwc(to(conv(X), "NCHW", "NHWC")), "NHWC", "NCHW"))
    )
    assert transforms(ConvertLayout(NHWC)(both)) == 3
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


def test_variables_bound_by_let_are_as_they_were() -> None:
    name = Var("v")
    body = relay.Let(name, conv(X), relay.nn.relu(name) + conv(name))
    after = assert_keeps_meaning(ConvertLayout(NHWC), module(body))
    assert transforms(after) == 5
