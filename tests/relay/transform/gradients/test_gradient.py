"""Gradients, by differences of values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from parpass import relay
from parpass.errors import IRError, IRTypeError
from parpass.ir.op.op_registration import TempOpAttr
from parpass.relay import nn
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.testing import count_ops, run_infer_type
from parpass.relay.transform import gradient
from parpass.relay.transform.gradients.operator_gradients import SHIPPED
from tests.relay.transform.gradients.gradient_check import check_grad
from tests.support.relay.op.calls import Array

Built = relay.Expr
X, Y = (relay.var(name, shape=(2, 3), dtype="float64") for name in "xy")
ROW = relay.var("row", shape=(3,), dtype="float64")
CUBE = relay.var("cube", shape=(2, 4, 3), dtype="float64")
OTHER = relay.var("other", shape=(2, 5, 3), dtype="float64")


def weighted(expr: Built) -> Built:
    """Return a sum in which each element has another weight."""
    typ = run_infer_type(expr).checked_type
    assert isinstance(typ, relay.TensorType)
    shape = typ.concrete_shape
    weights = np.arange(1.0, 1 + math.prod(shape)).reshape(shape) / 7
    return relay.sum(expr * relay.const(weights))


SIGNAL = relay.var("signal", shape=(1, 5, 4), dtype="float64")
IMAGE = relay.var("image", shape=(1, 4, 5, 4), dtype="float64")
WEIGHT = relay.var("weight", shape=(4, 2, 2, 1), dtype="float64")
# No two elements of a window are so near that a small step changes their order.
RUGGED = IMAGE + relay.const(np.arange(80.0).reshape(1, 4, 5, 4) * 7 % 11)
PLACES = relay.const(np.array([[1, 0], [1, 1]]), "int32")

UNARY = [
    "abs", "acosh", "asinh", "atan", "copy", "cos", "cosh", "erf", "exp", "log",
    "log10", "log2", "negative", "nn.relu", "rsqrt", "sigmoid", "sin", "sinh", "sqrt",
    "tan", "tanh", "ceil", "floor",
]  # fmt: skip
BUILT: dict[str, Built] = {
    **{
        name: getattr(nn if "." in name else relay, name.rpartition(".")[2])(X)
        for name in UNARY
    },
    **{
        name: getattr(relay, name)(X * relay.const(0.3, "float64"))
        for name in ("acos", "asin", "atanh")
    },
    **{
        name: getattr(relay, name)(X, ROW)
        for name in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "power",
            "maximum",
            "minimum",
        ]
    },
    "clip": relay.clip(X, 1.5, 1.8),
    "cast": relay.cast(X, "float64") * X,
    "nn.leaky_relu": nn.leaky_relu(X, 0.3),
    "where": relay.where(relay.less(X, Y), X * X, ROW),
    "annotation.checkpoint": relay.annotation.checkpoint(X * X),
    "sum": relay.sum(X * X, 1),
    "mean": relay.mean(X * X, 0, keepdims=True),
    "max": relay.max(X, 1),
    "min": relay.min(X, 0, keepdims=True),
    "reshape": relay.reshape(X * X, (3, 2)),
    "transpose": relay.transpose(CUBE * CUBE, (2, 0, 1)),
    "squeeze": relay.squeeze(relay.expand_dims(X * X, 1), [1]),
    "nn.batch_flatten": nn.batch_flatten(CUBE * CUBE),
    "broadcast_to": relay.broadcast_to(ROW * ROW, (2, 3)),
    "collapse_sum_to": relay.collapse_sum_to(X * X, (3,)),
    "concatenate": relay.concatenate([X * Y, Y], 1),
    "stack": relay.stack([X * Y, Y], -1),
    "split": relay.split(CUBE * CUBE, 2, 1)[1],
    "strided_slice": relay.strided_slice(X * X, (0, 1), (2, 3)),
    "full": relay.full(relay.sum(X * X), (2, 2)),
    "nn.dense": nn.dense(X, Y),
    "dense of rank 3": nn.dense(CUBE, Y),
    "nn.batch_matmul": nn.batch_matmul(CUBE, OTHER),
    "transposed": nn.batch_matmul(
        relay.transpose(CUBE, (0, 2, 1)), OTHER, transpose_a=True, transpose_b=True
    ),
    "neither": nn.batch_matmul(
        CUBE, relay.transpose(OTHER, (0, 2, 1)), transpose_b=False
    ),
    "only one": nn.batch_matmul(
        relay.transpose(CUBE, (0, 2, 1)),
        relay.transpose(OTHER, (0, 2, 1)),
        transpose_a=True,
        transpose_b=False,
    ),
    "nn.bias_add": nn.bias_add(X * X, ROW),
    "nn.softmax": nn.softmax(X, 1),
    "nn.log_softmax": nn.log_softmax(X, 0),
    "cast_like": relay.cast_like(X * X, ROW),
    "nn.matmul": nn.matmul(X, relay.transpose(Y)),
    "matmul of transposed": nn.matmul(
        relay.transpose(X), Y, transpose_a=True, transpose_b=True
    ),
    "matmul of one": nn.matmul(relay.transpose(X), relay.transpose(Y), None, "", True),
    "variance": relay.variance(X * X, 1),
    "unbiased": relay.variance(X, None, keepdims=True, unbiased=True, with_mean=ROW),
    "backwards": relay.strided_slice(X * X, (1, 2), (-5, 0), (-1, -2)),
    "of a size": relay.strided_slice(
        CUBE * CUBE, (1,), (2,), axes=(1,), slice_mode="size"
    ),
    "gather": relay.gather(X * X, 1, PLACES),
    "gather_nd": relay.gather_nd(X * X, PLACES),
    "take": relay.take(CUBE * CUBE, PLACES, 1),
    "take from all": relay.take(X * X, PLACES, mode="wrap"),
    "one_hot": relay.one_hot(
        PLACES, relay.sum(X), relay.sum(ROW), 3, 0, dtype="float64"
    ),
    "arange": relay.sum(
        relay.arange(
            relay.sum(ROW), relay.const(9.0, "float64"), relay.max(ROW), "float64"
        )
    ),
    "nn.conv1d": nn.conv1d(
        SIGNAL,
        relay.reshape(CUBE, (3, 4, 2)),
        2,
        1,
        1,
        data_layout="NWC",
        kernel_layout="OIW",
    ),
    "nn.conv2d": nn.conv2d(IMAGE, WEIGHT, (2, 1), (1, 0, 0, 1), (1, 2), groups=2),
    "nn.conv3d": nn.conv3d(
        relay.reshape(IMAGE, (1, 2, 2, 5, 4)), relay.reshape(WEIGHT, (2, 2, 2, 1, 2))
    ),
    "nn.max_pool2d": nn.max_pool2d(RUGGED, 2, (2, 1), padding=1),
    "nn.avg_pool2d": nn.avg_pool2d(IMAGE, 2, 2, 1, 1, ceil_mode=True),
    "with padding": nn.avg_pool2d(
        relay.transpose(IMAGE, (0, 2, 3, 1)),
        (2, 3),
        layout="NHWC",
        dilation=(2, 1),
        padding=1,
        count_include_pad=True,
    ),
    "nn.global_avg_pool2d": nn.global_avg_pool2d(IMAGE * IMAGE),
    "nn.cross_entropy": nn.cross_entropy(X, Y),
    "nn.cross_entropy_with_logits": nn.cross_entropy_with_logits(X, Y),
}


def function(body: Built) -> relay.Function:
    params = relay.analysis.free_vars(body)
    return relay.Function(params, body)


@pytest.mark.slow
def test_gradients_of_operators_are_what_small_steps_say() -> None:
    random = np.random.default_rng(7)
    for built in BUILT.values():
        func = run_infer_type(function(weighted(built)))
        types = [cast("relay.TensorType", one.checked_type) for one in func.params]
        inputs = [random.uniform(1.1, 1.9, one.concrete_shape) for one in types]
        check_grad(func, inputs)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


ALTERNATING = np.resize([300, -300], (300, 1)).astype("float16")
FAR = np.full((300, 2), 300, "float16")
MATRICES = relay.const(FAR[:, None])

# Programs of half floats, and their gradients.
Exact = Callable[[Array], Array]
NARROW: dict[str, tuple[tuple[int, ...], Callable[[relay.Var], Any], Exact]] = {
    # Of half floats there is no count of so many.
    "mean": ((70_000,), relay.mean, lambda x: np.full_like(x, 1 / x.size)),
    "variance": (
        (70_000,),
        relay.variance,
        lambda x: 2 * (x - x.mean()) / x.size,
    ),
    "nn.cross_entropy": (
        (70_000, 1),
        lambda x: nn.cross_entropy(x, x),
        lambda x: -(1 + np.log(x)) / x.size,
    ),
    "nn.softmax": (
        (2, 300),
        lambda x: nn.softmax(x) * x,
        lambda x: _softmax(x) * (1 + x - (_softmax(x) * x).sum(-1, keepdims=True)),
    ),
    "nn.batch_matmul": (
        (1, 1, 2),
        lambda x: nn.batch_matmul(x, MATRICES) * relay.const(ALTERNATING[..., None]),
        np.zeros_like,
    ),
    # Products that are infinite, and of which the sum is 0.
    "multiply": (
        (1, 2),
        lambda x: x * relay.const(FAR) * relay.const(ALTERNATING),
        np.zeros_like,
    ),
}


@pytest.mark.parametrize("name", NARROW)
def test_gradients_of_half_floats_are_summed_wider(name: str) -> None:
    shape, build, exact_gradient = NARROW[name]
    x = relay.var("x", shape=shape, dtype="float16")
    func = run_infer_type(gradient(function(build(x)), mode="first_order"))
    values = np.random.default_rng(7).uniform(1, 9, shape).astype("float16")
    _, (found,) = evaluate(func, [values])
    exact = exact_gradient(values.astype("float64"))
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, exact, 2e-3, 2e-3 * np.abs(exact).max())


def test_each_operator_with_a_gradient_has_one_that_was_compared() -> None:
    beside = {
        # They have no influence, or are like others here.
        "annotation.stop_fusion", "broadcast_to_like", "collapse_sum_like",
        "contrib_reverse_reshape", "device_copy", "dyn.reshape", "expand_dims",
        "full_like",
        "on_device", "ones", "ones_like", "reshape_like", "round", "sign", "trunc",
        "zeros", "zeros_like",
    }  # fmt: skip
    assert {*SHIPPED} - {*BUILT} == beside


def test_gradients_can_be_differentiated_again() -> None:
    first = run_infer_type(gradient(function(X * X * X)))
    pair = first.body
    assert isinstance(pair, relay.Tuple)
    assert isinstance(pair.fields[1], relay.Tuple)
    second = run_infer_type(relay.Function(first.params, pair.fields[1].fields[0]))
    result = run_infer_type(gradient(second))
    data = np.array([[1.0, 2.0, 3.0]] * 2)
    value, (grad,) = relay.create_executor().evaluate(result)(data)
    assert np.allclose(value.numpy(), 3 * data**2)
    assert np.allclose(grad.numpy(), 6 * data)


def test_what_is_computed_once_is_computed_once_in_gradients() -> None:
    product = nn.dense(X, Y)
    func = function(relay.sum(product - relay.sum(product, keepdims=True)))
    found = count_ops(gradient(func, mode="first_order"))
    assert found["nn.dense"] == 3


def test_gradients_of_a_tuple_are_those_of_its_first_tensor() -> None:
    func = run_infer_type(relay.Function([X], relay.Tuple((X + X, X))))
    run: Any = relay.create_executor().evaluate(gradient(func))
    _, (grad,) = run(np.ones((2, 3)))
    assert np.array_equal(grad.numpy(), np.full((2, 3), 2.0))


def test_a_tuple_is_a_parameter_as_others_are() -> None:
    tensor = relay.TensorType((2,), "float64")
    pair = relay.var("pair", type_annotation=relay.TupleType((tensor, tensor)))
    func = relay.Function(
        [pair], relay.TupleGetItem(pair, 0) * relay.TupleGetItem(pair, 1)
    )
    run: Any = relay.create_executor().evaluate(
        run_infer_type(gradient(run_infer_type(func)))
    )
    one, other = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    _, ((left, right),) = run((one, other))
    assert np.array_equal(left.numpy(), other)
    assert np.array_equal(right.numpy(), one)


def test_what_cannot_be_differentiated_is_refused_by_name() -> None:
    with pytest.raises(IRError, match="operator 'sort' has no gradient"):
        gradient(function(relay.sort(X)))
    for picked in (
        relay.take(X, PLACES, 1, batch_dims=1),
        relay.gather_nd(CUBE, PLACES, batch_dims=1),
    ):
        with pytest.raises(IRError, match="without batch_dims to differentiate, got 1"):
            gradient(function(picked))
    unknown = relay.var("unknown", shape=(1, 4, relay.Any(), 4), dtype="float64")
    with pytest.raises(IRError, match="expected a known shape to differentiate by"):
        gradient(function(nn.conv2d(unknown, WEIGHT, groups=2)))
    branch = relay.If(relay.const(True), X, Y)
    with pytest.raises(IRError, match="operators and tuples alone"):
        gradient(function(branch))
    with pytest.raises(IRError, match=r"expected mode .*, got 'higher_order'"):
        gradient(function(X), mode="higher_order")
    with pytest.raises(IRTypeError, match="a function to differentiate"):
        gradient(X)


def test_an_operator_is_given_a_gradient() -> None:
    def of_take(call: relay.Call, grad: relay.Expr) -> list[relay.Expr]:
        return [relay.broadcast_to_like(grad, call.args[0]), call.args[1]]

    with TempOpAttr("take", "FPrimalGradient", of_take):
        taken = relay.take(X, relay.const(1))
        result = gradient(function(taken), mode="first_order")
    assert count_ops(result)["broadcast_to_like"] == 1


@pytest.mark.slow
def test_long_programs_are_differentiated_without_recursion() -> None:
    body: relay.Expr = X
    for _ in range(300):
        body = relay.sin(body)
    run_infer_type(gradient(function(body)))
