from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, const
from parpass.relay.transform import (
    BackwardFoldScaleAxis,
    FoldConstant,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
    InferType,
)
from parpass.relay.transform.fold_scale_axis import (
    backward_fold_scale_axis,
    forward_fold_scale_axis,
)
from parpass.relay.type_inference.infer import infer_type
from parpass.transform import PassContext, Sequential
from tests.support.profiles import examples
from tests.support.relay.meaning import assert_keeps_meaning

C = 4
X = relay.var("x", shape=(2, C, 6, 6))
W = relay.var("w", shape=(C, C, 3, 3))
DEPTHWISE = relay.var("w", shape=(C, 1, 3, 3))
BIAS = relay.var("b", shape=(C, 1, 1))
S = relay.var("s", shape=(C, 1, 1))
POSITIVE = const(np.linspace(0.5, 2, C, dtype="float32").reshape(C, 1, 1))
NEGATIVE = const(-POSITIVE.data.numpy())
WITH_ZERO = const(np.linspace(0, 2, C, dtype="float32").reshape(C, 1, 1))


def conv(data: Expr, weight: Expr = W, groups: int = 1) -> Expr:
    return relay.nn.conv2d(data, weight, padding=1, kernel_size=(3, 3), groups=groups)


def function(body: Expr) -> Function:
    params = [X, W, DEPTHWISE, BIAS, S]
    used = set(post_order(body))
    return infer_type(Function(tuple(p for p in params if p in used), body))


relu = relay.nn.relu


def extreme(scale: float) -> Expr:
    return const(np.full((C, 1, 1), scale, "float32"))


@pytest.mark.parametrize("forward", [True, False])
def test_a_gate_scales_data_and_no_weights(forward: bool) -> None:
    """One that is computed of data, as in squeeze-and-excitation, or by an LSTM."""
    image = relay.var("x", shape=(1, C, 6, 6))
    pooled = relay.nn.global_avg_pool2d(conv(image))
    gate = relay.sigmoid(relay.nn.conv2d(pooled, W, padding=1))
    body = conv(image * gate) if forward else conv(image) * gate
    body = infer_type(Function((image, W), body)).body
    fold = forward_fold_scale_axis if forward else backward_fold_scale_axis
    assert fold(body) is body


@pytest.mark.parametrize("scale", [1e-39, 1e-38, 1e-30, 1e-20, 1e20, 1e38, np.inf])
def test_scales_near_the_ends_of_the_range_stay(scale: float) -> None:
    one = const(np.ones((C, 1, 1), "float32"))
    for body in (conv(X * extreme(scale) + one), conv(X * extreme(scale))):
        before = function(body)
        assert forward_fold_scale_axis(before) is before
    for body in ((conv(X) + one) * extreme(scale), conv(X) * extreme(scale)):
        before = function(body)
        assert backward_fold_scale_axis(before) is before


@pytest.mark.parametrize("scale", [1e-19, -1e-10, 1e10, 1e19])
@pytest.mark.parametrize("bias", [1e-10, 1.0, 1e10])
def test_values_stay_with_scales_of_any_size(scale: float, bias: float) -> None:
    added = const(np.full((C, 1, 1), bias, "float32"))
    weight = const(np.random.default_rng(0).random((C, C, 3, 3), "float32"))
    for a_pass, body in (
        (ForwardFoldScaleAxis(), conv(X * extreme(scale) + added, weight)),
        (BackwardFoldScaleAxis(), (conv(X, weight) + added) * extreme(scale)),
    ):
        with PassContext() as context:
            mod = IRModule.from_expr(function(body))
            largest = abs(scale) * 100 + bias * 100
            assert_keeps_meaning(a_pass, mod, rtol=1e-4, atol=largest * 1e-5)
        assert context.statistics[a_pass.info.name]["folded"] == 1


def closed(body: Expr) -> Function:
    return Function(tuple(free_vars(body)), body)


def test_a_chain_of_scales_of_scales_is_folded() -> None:
    body: Expr = X
    for _ in range(3):
        body = relu(conv(body)) * POSITIVE
    with PassContext(opt_level=3):
        after = FoldScaleAxis()(IRModule.from_expr(closed(body)))
    calls = [n for n in post_order(after["main"].body) if isinstance(n, Call)]
    products = [call for call in calls if call.op is relay.op.get("multiply")]
    assert {call.args[0] for call in products} == {after["main"].params[1]}


@st.composite
def networks(draw: st.DrawFn) -> IRModule:
    """Give networks of what scales move through, and of what they do not."""
    scales = [S, POSITIVE, NEGATIVE, WITH_ZERO, const(0.5)]
    values: list[Expr] = [X]
    for _ in range(draw(st.integers(2, 10))):
        value = draw(st.sampled_from(values[-3:]))
        kind = draw(st.integers(0, 6))
        if kind <= 1:
            new = conv(value)
        elif kind == 2:
            new = conv(value, DEPTHWISE, C)
        elif kind == 3:
            new = value * draw(st.sampled_from(scales))
        elif kind == 4:
            new = relu(value)
        elif kind == 5:
            new = value + draw(st.sampled_from([BIAS, *values[-2:]]))
        else:
            new = draw(st.sampled_from([BIAS, *values[-2:]])) - value
        values.append(new)
    return IRModule({"main": closed(relay.Tuple(tuple(values[-2:])))})


@pytest.mark.slow
@given(mod=networks())
@examples(2)
def test_folding_keeps_the_meaning(mod: IRModule) -> None:
    passes = [BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()]
    with PassContext(opt_level=3):
        assert_keeps_meaning(Sequential(passes), mod, rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_deep_networks_are_folded() -> None:
    body: Expr = X
    for _ in range(2_000):
        body = relu(conv(body) * POSITIVE)
    mod = InferType()(IRModule.from_expr(closed(body)))
    for fold in (backward_fold_scale_axis, forward_fold_scale_axis):
        assert fold(mod["main"]) is not mod["main"]
