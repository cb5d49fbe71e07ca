"""Matching: what looks like a pattern, and what does not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from parpass import relay
from parpass.errors import IRTypeError, UnknownOpError
from parpass.ir.op.op_table import Op, OpPattern
from parpass.relay.dataflow_pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from parpass.relay.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var
from tests.support.cpu_time import cpu_limit

DEEP = 5_000

x, y, w, b = (relay.var(name) for name in "xywb")
is_x, is_y = is_var("x"), is_var("y")
image = relay.var("image", shape=(1, 3, 12, 12))
kernel = relay.var("kernel", shape=(3, 3, 3, 3))
conv = relay.nn.conv2d(x, w)
is_conv = is_op("nn.conv2d")(wildcard(), wildcard())
less_than = is_if(is_op("less")(is_x, is_y), is_x, is_y)
is_v = is_var("v")
bound = is_let(is_v, is_op("less")(is_x, is_y), is_v)
v = relay.var("v")
params = [wildcard(), wildcard()]
sum_of_params = FunctionPattern(params, params[0] + params[1])
triple = is_tuple((is_x, wildcard(), is_op("add")))
fields = Tuple((x, y, Op.get("add")))
biased = is_conv.optional(lambda it: is_op("nn.bias_add")(it, wildcard()))
biased_relu = is_op("nn.relu")(biased)
activated = is_conv.optional(is_op("nn.relu")).optional(is_op("tanh"))
composite = wildcard().has_attr({"Composite": "add"})
add_function = Function((x, y), x + y)


def bias_add(expr: Expr) -> Call:
    return relay.nn.bias_add(expr, b)


@pytest.mark.parametrize(
    ("pattern", "expr"),
    [
        (is_op("add"), Op.get("add")),
        (is_op("add") | is_op("subtract"), Op.get("subtract")),
        (is_op("add")(is_x, is_y), x + y),
        (is_op("add")(is_x, is_y), y + x),
        (is_op("multiply")(is_x, is_y), y * x),
        (is_op("subtract")(is_x, is_y), x - y),
        (is_x / is_y, x / y),
        (wildcard()(None), relay.nn.relu(x)),
        (wildcard()(None), x + y),
        ((is_op("add") | is_op("subtract"))(is_x, is_y), x - y),
        (sum_of_params, Function((x, y), x + y)),
        (FunctionPattern(None, wildcard()), Function((x,), x)),
        (less_than, If(x < y, x, y)),
        (bound, Let(v, x < y, v)),
        (biased_relu, relay.nn.relu(conv)),
        (biased_relu, relay.nn.relu(bias_add(conv))),
        (activated, conv),
        (activated, relay.nn.relu(conv)),
        (activated, relay.tanh(conv)),
        (activated, relay.tanh(relay.nn.relu(conv))),
        (triple, fields),
        (is_tuple_get_item(triple, 1), TupleGetItem(fields, 1)),
        (is_tuple_get_item(triple), TupleGetItem(fields, 2)),
        (is_op("concatenate")(is_tuple(None)), relay.concatenate((x, y), axis=0)),
        (is_constant(), relay.const(1.0)),
        (is_expr(relay.const(1.0)), relay.const(1.0)),
        (is_expr(x + relay.const(1.0)), x + relay.const(1.0)),
        (is_var(), x),
        (is_op("add").has_attr({"TOpPattern": OpPattern.BROADCAST})(is_x, is_y), x + y),
        (composite, add_function.with_attr("Composite", "add")),
        (is_conv.has_attr({"data_layout": "NCHW"}), conv),
        (
            is_conv.has_attr({"kernel_size": [3, 3]}),
            relay.nn.conv2d(x, w, kernel_size=(3, 3)),
        ),
        (
            wildcard()(wildcard()).has_attr({"a": 1}),
            Call(x, (y,), relay.expr.DictAttrs({"a": 1})),
        ),
        (wildcard()(wildcard()).has_attr({}), Call(x, (y,))),
        (
            is_op("cast")(wildcard()).has_attr({"dtype": "float32"}),
            relay.cast(x, "float32"),
        ),
        (has_type(relay.TensorType((1, 3, 12, 12))), image),
        (has_dtype("float32"), relay.nn.relu(image)),
        (has_shape((1, 3, 10, 10), is_conv), relay.nn.conv2d(image, kernel)),
        (has_attr({"TOpPattern": 0}), Op.get("tanh")),
        (is_x * is_y / is_var("w"), x * (y / w)),
        (is_x * (is_y / is_var("w")), x * y / w),
    ],
)
def test_what_looks_like_a_pattern_matches(pattern: DFPattern, expr: Expr) -> None:
    assert pattern.match(expr)


@pytest.mark.parametrize(
    ("pattern", "expr"),
    [
        (is_op("add"), Op.get("subtract")),
        (is_op("subtract")(is_x, is_y), y - x),
        (is_x / is_y, y / x),
        (is_op("add")(wildcard(), wildcard()), x - y),
        (is_op("add")(wildcard()), x + y),
        (wildcard() + wildcard(), Let(v, x + y, v)),
        (sum_of_params, Function((x, y), x - y)),
        (sum_of_params, Function((x,), x + x)),
        (less_than, If(x > y, x, y)),
        (less_than, If(x < y, y, x)),
        (less_than, Let(v, x < y, v)),
        (bound, Let(v, x > y, v)),
        (bound, Let(v, x < y, v * x)),
        (bound, If(x < y, x, y)),
        (biased_relu, relay.tanh(conv)),
        (biased_relu, relay.nn.relu(conv + w)),
        (biased_relu, relay.nn.relu(bias_add(relay.nn.dense(x, w)))),
        (activated, relay.nn.relu(relay.tanh(conv))),
        (is_tuple((is_x, wildcard())), fields),
        (is_tuple_get_item(triple, 1), TupleGetItem(fields, 2)),
        (is_constant(), x),
        (is_expr(x), y),
        (is_expr(relay.const(1.0)), relay.const(1)),
        (is_expr(x + y), x + w),
        (is_op("nn.dense").has_attr({"TOpPattern": 0})(None), relay.nn.dense(x, w)),
        (composite, add_function),
        (composite, add_function.with_attr("Composite", "conv")),
        (is_conv.has_attr({"data_layout": "NHWC"}), conv),
        (is_conv.has_attr({"NoSuch": "NCHW"}), conv),
        (wildcard()(wildcard()).has_attr({"a": 1}), Call(x, (y,))),
        (has_type(relay.TensorType((1, 3, 12, 12), "int32")), image),
        (has_dtype("float16"), image),
        (has_shape((1, 3, 12)), image),
        (has_shape((1, 3, 12, 12)), x),
        (has_attr({"a": 1}), x),
        (is_x * is_y / is_var("w"), x / y / w),
    ],
)
def test_what_looks_otherwise_does_not_match(pattern: DFPattern, expr: Expr) -> None:
    assert not pattern.match(expr)


def diamond_of(left: Expr, right: Expr) -> Expr:
    return relay.nn.relu(left) + relay.nn.leaky_relu(right, alpha=0)


def test_a_pattern_that_is_used_twice_matches_one_expression() -> None:
    diamond = is_op("nn.relu")(is_conv) + is_op("nn.leaky_relu")(is_conv)
    assert diamond.match(diamond_of(conv, conv))
    assert not diamond.match(diamond_of(conv, relay.nn.conv2d(x, w)))
    assert not diamond.match(diamond_of(conv, conv) + conv)


elementwise = wildcard().has_attr({"TOpPattern": OpPattern.ELEMWISE})(wildcard())
summed = is_op("add")(wildcard(), wildcard())
pure_diamond = dominates(is_conv, elementwise, summed)
fuzzy_diamond = dominates(is_conv, elementwise | (wildcard() + wildcard()), summed)
relu2 = relay.nn.relu(relay.nn.relu(conv))
doubled = relay.nn.relu(conv) + relay.nn.relu(conv)
deep_branch = relay.tanh(relu2) + relay.nn.leaky_relu(conv, alpha=0)


@pytest.mark.parametrize(
    ("pattern", "expr"),
    [
        (pure_diamond, relu2 + relay.nn.leaky_relu(conv, alpha=0)),
        (pure_diamond, deep_branch),
        (pure_diamond, relu2 + relay.tanh(relu2)),
        (fuzzy_diamond, relay.tanh(doubled) + relay.nn.leaky_relu(conv, alpha=0)),
        (summed.dominates(is_conv, elementwise), deep_branch),
        (summed.dominates(is_conv), deep_branch),
    ],
)
def test_a_dominator_matches_paths_of_any_length(
    pattern: DFPattern, expr: Expr
) -> None:
    assert pattern.match(expr)


@pytest.mark.parametrize(
    "expr",
    [
        diamond_of(conv, relay.nn.conv2d(x, w)),
        doubled + relay.nn.leaky_relu(conv, alpha=0),
        relay.nn.relu(x) + relay.nn.leaky_relu(conv, alpha=0),
        relay.nn.relu(relay.nn.relu(x)) + relay.tanh(x),
        relay.nn.relu(conv) + relay.nn.relu(relay.nn.conv2d(relay.tanh(conv), w)),
        relay.nn.conv2d(relay.tanh(conv), w) + relay.nn.relu(conv),
    ],
)
def test_a_dominator_wants_one_parent_and_only_paths_to_it(expr: Expr) -> None:
    assert not pure_diamond.match(expr)


def test_a_parent_that_is_used_elsewhere_is_not_dominated() -> None:
    inner = relu2 + relay.tanh(relu2)
    assert pure_diamond.match(inner)
    program = relay.multiply(inner, conv)
    grandparent = dominates(is_conv, elementwise, summed) * wildcard()
    assert not grandparent.match(program)


def test_a_dominator_asks_for_types() -> None:
    typed = dominates(
        is_conv, elementwise.has_dtype("float32"), summed.has_shape([1, 3, 10, 10])
    )
    base = relay.nn.conv2d(image, kernel)
    expr = relay.nn.relu(base) + relay.nn.leaky_relu(base, alpha=0)
    assert typed.match(expr)
    other = dominates(is_conv, elementwise.has_dtype("float16"), summed)
    assert not other.match(expr)


def test_the_names_of_tvm_give_the_patterns_of_tvm() -> None:
    made: list[tuple[DFPattern, type[DFPattern]]] = [
        (is_expr(x), ExprPattern),
        (is_op("add"), ExprPattern),
        (is_constant(), ConstantPattern),
        (is_x + is_y, CallPattern),
        (is_x - is_y, CallPattern),
        (is_tuple([is_x]), TuplePattern),
        (is_tuple_get_item(is_x, 1), TupleGetItemPattern),
        (is_x | is_y, AltPattern),
        (is_x.optional(is_op("exp")), AltPattern),
        (has_attr({}), AttrPattern),
        (has_type(relay.scalar_type()), TypePattern),
        (has_dtype("int8"), DataTypePattern),
        (has_shape([1]), ShapePattern),
        (pure_diamond, DominatorPattern),
    ]
    assert [type(pattern) for pattern, _ in made] == [kind for _, kind in made]
    assert triple[0] is is_x
    assert len(triple) == 3


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (is_op("add")(is_x, wildcard()), "add(%x, *)"),
        (is_tuple_get_item(is_tuple(None)), "(...).*"),
        (is_constant() | is_var(), "(constant | %*)"),
        (FunctionPattern(None, is_expr(x)), "fn (...) { x }"),
        (less_than, "if (less(%x, %y)) { %x } else { %y }"),
        (bound, "let %v = less(%x, %y); %v"),
        (has_dtype("int8"), "* of dtype int8"),
        (has_shape([1]), "* of shape (1,)"),
        (has_type(relay.scalar_type()), "* of type float32"),
        (has_attr({"a": 1}), "* with {'a': 1}"),
        (dominates(is_x, wildcard(), is_y), "dominates(%x, *, %y)"),
    ],
)
def test_patterns_show_what_they_match(pattern: DFPattern, text: str) -> None:
    assert str(pattern) == text
    assert repr(pattern) == f"{type(pattern).__name__}({text})"


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(IRTypeError, match=r"'args' of CallPattern.*is_expr"):
        is_op("add")(x, is_y)  # pyright: ignore[reportArgumentType]
    with pytest.raises(IRTypeError, match="expected an expression to match, got 1"):
        is_expr(1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnknownOpError, match="did you mean"):
        is_op("nn.conv2")


def casts(depth: int) -> Expr:
    expr: Expr = relay.nn.dense(x, w)
    for _ in range(depth):
        expr = relay.cast(expr, "float32")
    return expr


def test_a_redirected_wildcard_matches_at_any_depth() -> None:
    again = wildcard()
    chain = is_op("cast")(again | is_op("nn.dense")(wildcard(), wildcard()))
    again.redirect_to(chain)
    assert chain.match(casts(DEEP))
    assert not chain.match(relay.cast(relay.exp(x), "float32"))
    assert str(chain) == "cast((* | nn.dense(*, *)))"


def test_a_wildcard_that_is_redirected_to_itself_matches_nothing() -> None:
    again = wildcard()
    again.redirect_to(again | is_x)
    assert again.match(x)
    assert not again.match(y)


def test_a_path_may_be_deep() -> None:
    expr: Expr = conv
    for _ in range(DEEP):
        expr = relay.nn.relu(expr)
    assert dominates(is_conv, elementwise, wildcard() + wildcard()).match(expr + expr)


def test_types_of_a_deep_program_are_inferred_once() -> None:
    expr: Expr = image
    for _ in range(DEEP // 5):
        expr = relay.exp(expr)
    pattern = is_op("exp")(wildcard()).has_dtype("float16")
    assert pattern.partition(expr) is expr
    half = is_op("exp")(wildcard()).has_dtype("float32")
    assert half.partition(expr) is not expr


def test_a_part_has_a_type_where_the_whole_has_none() -> None:
    whole = Tuple((relay.exp(image), relay.exp(x)))
    pattern = is_tuple((has_dtype("float32"), wildcard()))
    assert pattern.match(whole)


def test_a_pattern_keeps_its_sharing_when_it_is_pickled() -> None:
    shared = wildcard()
    pattern = pickle.loads(pickle.dumps(shared + shared))
    assert pattern.args[0] is pattern.args[1]
    assert pattern.match(x + x)
    assert not pattern.match(x + y)


def test_a_constant_is_compared_by_value() -> None:
    ones = is_expr(relay.const(np.ones(3, "float32")))
    assert ones.match(relay.const(np.ones(3, "float32")))
    assert not ones.match(relay.const(np.zeros(3, "float32")))


def test_variables_have_names() -> None:
    assert [Var("x").name_hint, is_x.name] == ["x", "x"]


def test_a_match_looks_no_further_than_its_pattern():
    deep: Expr = Var("x")
    for _ in range(DEEP):
        deep = relay.exp(deep)
    pattern = is_op("exp")(is_op("exp")(wildcard()))
    with cpu_limit(0.5):  # an order of the whole expression takes 5 ms
        assert all(pattern.match(deep) for _ in range(1_000))
