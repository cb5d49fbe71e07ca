from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parpass import relay
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Let, Var, const
from parpass.relay.transform import (
    BackwardFoldScaleAxis,
    FoldConstant,
    FoldScaleAxis,
    ForwardFoldScaleAxis,
    InferType,
)
from parpass.relay.transform.scale_axis.backward_fold_scale_axis import (
    backward_fold_scale_axis,
)
from parpass.relay.transform.scale_axis.forward_fold_scale_axis import (
    forward_fold_scale_axis,
)
from parpass.relay.typing.infer import infer_type
from parpass.transform import PassContext, Sequential
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning

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


@functools.cache
def vector(scale: Expr) -> Expr:
    """Return a scale without its other dimensions; the same object for its users."""
    return relay.squeeze(scale, axis=[1, 2])


def for_inputs(scale: Expr) -> Expr:
    return relay.expand_dims(vector(scale), axis=1, num_newaxis=2)


def for_outputs(scale: Expr) -> Expr:
    return relay.expand_dims(vector(scale), axis=1, num_newaxis=3)


def function(body: Expr) -> Function:
    params = [X, W, DEPTHWISE, BIAS, S]
    used = set(post_order(body))
    return infer_type(Function(tuple(p for p in params if p in used), body))


relu = relay.nn.relu

FORWARD: dict[str, tuple[Expr, Expr]] = {
    "into the weight": (conv(X * S), conv(X, W * for_inputs(S))),
    "from the left": (conv(S * X), conv(X, W * for_inputs(S))),
    "into a depthwise weight": (
        conv(X * S, DEPTHWISE, C),
        conv(X, DEPTHWISE * for_outputs(S), C),
    ),
    "a scalar": (conv(X * const(2.0)), conv(X, W * const(2.0))),
    "a negative constant": (conv(X * NEGATIVE), conv(X, W * for_inputs(NEGATIVE))),
    "through relu and a sum": (
        conv(relu(X * POSITIVE) + BIAS),
        conv(relu(X) + BIAS / for_inputs(POSITIVE), W * for_inputs(POSITIVE)),
    ),
    "into dense": (
        relay.nn.dense(
            relay.reshape(X, (-1, C)) * relay.reshape(S, (C,)),
            relay.reshape(W, (-1, C)),
        ),
        relay.nn.dense(
            relay.reshape(X, (-1, C)),
            relay.reshape(W, (-1, C)) * relay.reshape(S, (C,)),
        ),
    ),
}
BACKWARD: dict[str, tuple[Expr, Expr]] = {
    "into the weight": (conv(X) * S, conv(X, W * for_outputs(S))),
    "from the left": (S * conv(X), conv(X, W * for_outputs(S))),
    "into a depthwise weight": (
        conv(X, DEPTHWISE, C) * S,
        conv(X, DEPTHWISE * for_outputs(S), C),
    ),
    "a scalar": (relu(conv(X)) * const(2.0), relu(conv(X, W * const(2.0)))),
    "through relu and a sum": (
        relu(conv(X) + BIAS) * POSITIVE,
        relu(conv(X, W * for_outputs(POSITIVE)) + BIAS * for_inputs(POSITIVE)),
    ),
}


def moved(cases: dict[str, tuple[Expr, Expr]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases.values(), ids=list(cases))


def shared_by_two_convolutions() -> tuple[Expr, Expr]:
    def after() -> Expr:
        return conv(X, W * for_inputs(S))

    data = X * S
    return conv(data) + conv(data), after() + after()


def two_summands() -> tuple[Expr, Expr]:
    def after() -> Expr:
        return conv(X, W * for_outputs(S))

    return (conv(X) - conv(X)) * S, after() - after()


@moved(FORWARD | {"to all users": shared_by_two_convolutions()})
def test_scales_move_forward(case: tuple[Expr, Expr]) -> None:
    before, after = map(function, case)
    assert_structural_equal(infer_type(forward_fold_scale_axis(before)), after)


@moved(BACKWARD | {"to both summands": two_summands()})
def test_scales_move_backward(case: tuple[Expr, Expr]) -> None:
    before, after = map(function, case)
    assert_structural_equal(infer_type(backward_fold_scale_axis(before)), after)


def used_elsewhere(data: Expr) -> Expr:
    return conv(data) + data


NOT_FORWARD: dict[str, Expr] = {
    "unknown sign through relu": conv(relu(X * S)),
    "negative through relu": conv(relu(X * NEGATIVE)),
    "unknown divisor": conv((X * S) + BIAS),
    "zero divisor": conv((X * WITH_ZERO) + BIAS),
    "another user": used_elsewhere(X * S),
    "along other axes": conv(X * const(np.ones((C, 6, 6), "float32"))),
    "grouped": conv(X * S, relay.var("w", shape=(C, 2, 3, 3)), 2),
    "through a let": (lambda v: Let(v, X * S, conv(v)))(Var("v")),
}
NOT_BACKWARD: dict[str, Expr] = {
    "unknown sign through relu": relu(conv(X)) * S,
    "used twice": (lambda y: y * S + relu(y))(conv(X)),
    "along other axes": conv(X) * const(np.ones((C, 6, 6), "float32")),
    "grouped": conv(X, relay.var("w", shape=(C, 2, 3, 3)), 2) * S,
    "another operator": relay.exp(conv(X)) * S,
}


def extreme(scale: float) -> Expr:
    return const(np.full((C, 1, 1), scale, "float32"))


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


def still(cases: dict[str, Expr]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("body", cases.values(), ids=list(cases))


def closed(body: Expr) -> Function:
    return Function(tuple(free_vars(body)), body)


@still(NOT_FORWARD)
def test_scales_stay_that_cannot_move_forward(body: Expr) -> None:
    before = infer_type(closed(body))
    assert forward_fold_scale_axis(before) is before


@still(NOT_BACKWARD)
def test_scales_stay_that_cannot_move_backward(body: Expr) -> None:
    before = infer_type(closed(body))
    assert backward_fold_scale_axis(before) is before


def test_a_chain_of_scales_of_scales_is_folded() -> None:
    body: Expr = X
    for _ in range(3):
        body = relu(conv(body)) * POSITIVE
    with PassContext(opt_level=3):
        after = FoldScaleAxis()(IRModule.from_expr(closed(body)))
    calls = [n for n in post_order(after["main"].body) if isinstance(n, Call)]
    products = [call for call in calls if call.op is relay.op.get("multiply")]
    assert {call.args[0] for call in products} == {after["main"].params[1]}


def test_folded_scales_are_counted() -> None:
    with PassContext() as context:
        BackwardFoldScaleAxis()(IRModule.from_expr(closed(conv(X) * S)))
        ForwardFoldScaleAxis()(IRModule.from_expr(closed(conv(X * S))))
    assert context.statistics["BackwardFoldScaleAxis"] == {"folded": 1}
    assert context.statistics["ForwardFoldScaleAxis"] == {"folded": 1}


def small(body: Callable[[Var, Var, Var], Expr], channels: int) -> IRModule:
    x = relay.var("x", shape=(1, 2, 8, 8))
    w = relay.var("w", shape=(4, 2, 3, 3))
    s = relay.var("s", shape=(channels, 1, 1))
    return IRModule({"main": Function((x, w, s), body(x, w, s))})


def test_the_documented_programs() -> None:
    before = small(lambda x, w, s: relay.nn.conv2d(x * s, w), 2)
    assert shows(ForwardFoldScaleAxis, before, ForwardFoldScaleAxis()(before))
    before = small(lambda x, w, s: relay.nn.conv2d(x, w) * s, 4)
    assert shows(BackwardFoldScaleAxis, before, BackwardFoldScaleAxis()(before))
    both = small(lambda x, w, _: relu(relay.nn.conv2d(x, w)) * const(2.0), 4)
    before = IRModule({"main": Function(both["main"].params[:2], both["main"].body)})
    with PassContext(opt_level=3):
        assert shows(FoldScaleAxis, before, FoldScaleAxis()(before))


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
@settings(deadline=None, max_examples=40)
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
