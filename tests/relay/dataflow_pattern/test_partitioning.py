"""Partitioning by patterns: which functions come out, with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from parpass import relay
from parpass.ir.structural import assert_structural_equal
from parpass.relay.dataflow_pattern import (
    DFPattern,
    FunctionPattern,
    dominates,
    is_constant,
    is_expr,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    partition,
    wildcard,
)
from parpass.relay.expr import Call, Expr, Function, Tuple, Var
from parpass.relay.type_inference.infer import infer_type

x, y, z, w, b, w2, b2 = (
    relay.var(name) for name in ("x", "y", "z", "w", "b", "w2", "b2")
)


def conv_bias(data: Expr, weight: Expr, bias: Expr) -> Expr:
    return relay.nn.bias_add(relay.nn.conv2d(data, weight), bias)


def conv_bias_relu(data: Expr, weight: Expr, bias: Expr) -> Expr:
    return relay.nn.relu(conv_bias(data, weight, bias))


def function(
    label: str, count: int, body: Callable[[Sequence[Expr]], Expr], **attrs: Any
) -> Any:
    params = tuple(Var(f"p{at}") for at in range(count))
    marked = {"PartitionedFromPattern": label, **attrs}
    return Function(params, body(params), attrs=marked)


is_conv = is_op("nn.conv2d")(wildcard(), wildcard())
is_conv_bias = is_op("nn.bias_add")(is_conv, wildcard())
is_conv_bias_relu = is_op("nn.relu")(is_conv_bias)


def test_one_pattern_after_another_finds_what_the_first_left() -> None:
    program = conv_bias(conv_bias_relu(x, w, b), w2, b2)
    for pattern, name in ((is_conv_bias_relu, "relu"), (is_conv_bias, "bias")):
        program = pattern.partition(program, {"Composite": name})
    label = "nn.conv2d_nn.bias_add_"
    inner = function(
        label + "nn.relu_", 3, lambda p: conv_bias_relu(*p), Composite="relu"
    )
    outer = function(label, 3, lambda p: conv_bias(*p), Composite="bias")
    assert_structural_equal(program, outer(inner(x, w, b), w2, b2))


def diamond(data: Expr, weight: Expr) -> Expr:
    conv = relay.nn.conv2d(data, weight)
    return relay.nn.relu(relay.nn.relu(conv)) + relay.nn.leaky_relu(conv, alpha=0)


def branch(data: Expr, weight: Expr) -> Expr:
    relu = relay.nn.relu(relay.nn.conv2d(data, weight))
    return relu + relay.tanh(relu)


def test_a_dominated_stretch_becomes_one_function() -> None:
    elementwise = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = dominates(is_conv, elementwise, wildcard() + wildcard())
    one = function(
        "nn.conv2d_nn.relu_nn.relu_nn.leaky_relu_add_", 2, lambda p: diamond(*p)
    )
    two = function("nn.conv2d_nn.relu_tanh_add_", 2, lambda p: branch(*p))
    program = pattern.partition(branch(diamond(x * x, w * w), w))
    assert_structural_equal(program, two(one(x * x, w * w), w))


def norm(g: Expr, data: Expr, mean: Expr, var: Expr, shift: Expr) -> Expr:
    return g * (data - mean) / relay.sqrt(var + EPS) + shift


EPS = relay.const(1e-5)


def test_parameters_are_in_the_order_of_the_pattern() -> None:
    g, data, mean, var, shift = (wildcard() for _ in range(5))
    pattern = g * (data - mean) / is_op("sqrt")(var + is_constant()) + shift
    label = "subtract_multiply_add_sqrt_divide_add_"
    first, second = (
        function(label, 5, lambda p: norm(*p)),
        function(label, 5, lambda p: norm(*p)),
    )
    program = norm(w, norm(w, x, y, z, b), y, z, b)
    expected = second(w, first(w, x, y, z, b), y, z, b)
    assert_structural_equal(pattern.partition(program), expected)


def test_overlapping_and_shared_matches_stay() -> None:
    norm_of = is_tuple_get_item(is_op("nn.batch_norm")(None), 0)
    bn = relay.nn.batch_norm(x, y, z, w, b)
    both = bn[0] + bn[0]
    assert partition(norm_of, both) is both
    conv = relay.nn.conv2d(x, w)
    overused = relay.nn.relu(conv) + conv
    assert is_op("nn.relu")(is_conv).partition(overused) is overused


@pytest.mark.parametrize("args", [(x,), (x, y), (x, y, z)])
def test_any_fields_come_in_one_by_one(args: tuple[Expr, ...]) -> None:
    def concat(*fields: Expr) -> Expr:
        return relay.concatenate(Tuple(fields), axis=0)

    pattern = is_op("concatenate")(is_tuple(None))
    made = function("Tuple_concatenate_", len(args), lambda p: concat(*p))
    assert_structural_equal(pattern.partition(concat(*args)), made(*args))


def test_a_called_function_goes_inside() -> None:
    p, q = relay.var("p"), relay.var("q")
    inner = Function((p, q), relay.nn.conv2d(p, q))
    a, c = wildcard(), wildcard()
    exact = FunctionPattern([a, c], is_op("nn.conv2d")(a, c))
    for callee in (exact, FunctionPattern(None, wildcard())):
        pattern = callee(wildcard(), wildcard()) + wildcard()
        made = function(
            "nn.conv2d_FunctionCall_add_",
            3,
            lambda p: Call(inner, tuple(p[:2])) + p[2],
        )
        program = Call(inner, (x, w)) + b + b
        assert_structural_equal(pattern.partition(program), made(x, w, b) + b)


def test_a_function_that_is_not_called_is_left_with_a_warning() -> None:
    program = Function((x,), relay.exp(x))
    with pytest.warns(RuntimeWarning, match="match its call"):
        assert partition(FunctionPattern(None, wildcard()), program) is program


def test_a_check_may_refuse_a_match() -> None:
    pattern = is_op("nn.relu")(is_conv)
    relu = relay.nn.relu(relay.nn.conv2d(x, w))

    def is_strided(pre: Any) -> bool:
        return pre.args[0].attrs.strides != (1, 1)

    assert pattern.partition(relu, check=is_strided) is relu
    label = "nn.conv2d_nn.relu_"
    made = function(label, 2, lambda p: relay.nn.relu(relay.nn.conv2d(p[0], p[1])))
    assert_structural_equal(pattern.partition(relu, check=bool), made(x, w))


constant = relay.const(1.0)
with_var = conv_bias_relu(x, w, b)
with_constant = conv_bias_relu(x, constant, b)
LABEL = "nn.conv2d_nn.bias_add_nn.relu_"
lifted = function(LABEL, 3, lambda p: conv_bias_relu(*p))
embedded = function(LABEL, 2, lambda p: conv_bias_relu(p[0], constant, p[1]))


@pytest.mark.parametrize(
    ("weight", "of_var", "of_constant"),
    [
        (wildcard(), lifted(x, w, b), lifted(x, constant, b)),
        (is_var(), lifted(x, w, b), with_constant),
        (is_constant(), with_var, embedded(x, b)),
        (is_expr(constant), with_var, embedded(x, b)),
        (is_var() | is_constant(), lifted(x, w, b), embedded(x, b)),
        (is_constant() | is_var(), lifted(x, w, b), embedded(x, b)),
    ],
)
def test_constants_that_the_pattern_asks_for_go_inside(
    weight: DFPattern, of_var: Expr, of_constant: Expr
) -> None:
    conv = is_op("nn.conv2d")(wildcard(), weight)
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()))
    assert_structural_equal(pattern.partition(with_var), of_var)
    assert_structural_equal(pattern.partition(with_constant), of_constant)


def test_an_input_that_comes_in_twice_is_one_parameter() -> None:
    pattern = (wildcard() * wildcard()) + (wildcard() + wildcard())
    conv = relay.nn.conv2d(x, w)
    program = (y * conv) + (conv + z)
    made = function("multiply_add_add_", 3, lambda p: (p[0] * p[1]) + (p[1] + p[2]))
    assert_structural_equal(pattern.partition(program), made(y, conv, z))


def test_what_the_result_dominates_may_use_the_inside() -> None:
    pattern = is_op("multiply")(is_conv + wildcard(), wildcard())
    total = relay.nn.conv2d(x, w) + b
    program = relay.exp(relay.multiply(total, relay.sigmoid(total)))
    made = function(
        "nn.conv2d_add_multiply_",
        4,
        lambda p: relay.multiply(relay.nn.conv2d(p[0], p[1]) + p[2], p[3]),
    )
    expected = relay.exp(made(x, w, b, relay.sigmoid(total)))
    assert_structural_equal(pattern.partition(program), expected)


def test_parameters_have_the_types_that_are_known() -> None:
    data = relay.var("data", shape=(2, 3))
    typed = infer_type(relay.exp(relay.tanh(data)))
    call = cast("Call", is_op("exp")(wildcard()).partition(typed))
    (param,) = cast("Function", call.op).params
    assert param.type_annotation == data.type_annotation
    assert relay.transform.InferTypeLocal(call) == data.type_annotation
