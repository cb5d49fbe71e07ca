"""SimplifyExpr: rule by rule, programs before and after, and their meaning."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from parpass import relay
from parpass.diagnostic import Span
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, Tuple, Var
from parpass.relay.transform import InferType, SimplifyExpr
from parpass.relay.transform.simplify.simplify_expr import simplify_expr
from parpass.relay.typing.infer import infer_type
from parpass.runner import Runner
from parpass.transform import PassContext
from tests.support.docs import shows
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial

DEEP = 100_000


def var(name: str, *shape: Any, dtype: str = "float32") -> Var:
    return relay.var(name, shape=shape, dtype=dtype)


def module(params: tuple[Var, ...], body: Expr) -> IRModule:
    return IRModule.from_expr(Function(params, body))


def becomes(before: Expr, expected: Expr, rtol: float = 0.0) -> None:
    """Check what an expression becomes: to the bit, or rounded, given a tolerance."""
    params = tuple(free_vars(before))
    mod = module(params, before)
    after = assert_keeps_meaning(SimplifyExpr(exact=not rtol), mod, rtol=rtol)
    assert_structural_equal(after, InferType()(module(params, expected)))
    if rtol:
        stays(before)


def stays(before: Expr, *, exact: bool = True) -> None:
    typed = InferType()(module(tuple(free_vars(before)), before))
    assert SimplifyExpr(exact)(typed)["main"] is typed["main"]


x = var("x", 2, 6)
image = var("image", 1, 4, 5, 6)
small = var("small", 3, 4, dtype="int8")
whole = var("whole", 3, 4, dtype="int32")
real = var("real", 3, 4)
long = var("long", 3, 4, dtype="int64")
reshape, transpose, cast_to = relay.reshape, relay.transpose, relay.cast


def test_the_documented_program_is_one_reshape() -> None:
    shaped = reshape(x, (3, -1))
    before = reshape(shaped * relay.ones_like(shaped), (12,))
    becomes(before, reshape(x, (12,)))
    programs = module((x,), before), module((x,), reshape(x, (12,)))
    assert shows(SimplifyExpr, *programs)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (reshape(reshape(x, (1, -1)), (3, 4)), reshape(x, (3, 4))),
        (reshape(x, (2, -1)), x),
        (relay.reverse_reshape(reshape(x, (3, 4)), (6, -1)), reshape(x, (6, 2))),
        (reshape(reshape(x, (3, 4)), (2, 6)), x),
        (
            relay.reshape(relay.nn.batch_flatten(image), (12, 10)),
            reshape(image, (12, 10)),
        ),
        (transpose(transpose(image, (0, 2, 3, 1)), (0, 3, 1, 2)), image),
        (transpose(transpose(image)), image),
        (transpose(image, (0, 1, 2, 3)), image),
        (
            transpose(transpose(transpose(image)), (0, 2, -1, 1)),
            transpose(image, (0, 2, -1, 1)),
        ),
        (
            transpose(transpose(image, (1, 2, 3, 0)), (1, 0, 3, 2)),
            transpose(image, (2, 1, 0, 3)),
        ),
        (cast_to(small, "int8"), small),
        (cast_to(cast_to(small, "int16"), "int32"), cast_to(small, "int32")),
        (cast_to(cast_to(small, "float32"), "float64"), cast_to(small, "float64")),
        (cast_to(cast_to(real, "float64"), "int32"), cast_to(real, "int32")),
        (relay.clip(small, -128, 127), small),
        (
            relay.clip(cast_to(whole, "uint8"), 0.0, 255.0),
            cast_to(whole, "uint8"),
        ),
        (
            cast_to(cast_to(relay.clip(whole, 0.0, 255.0), "uint8"), "int32"),
            relay.clip(whole, 0.0, 255.0),
        ),
        (
            relay.clip(cast_to(relay.clip(whole, 1.0, 9.0), "uint8"), 3.0, 20.0),
            cast_to(relay.clip(whole, 3.0, 9.0), "uint8"),
        ),
        (relay.zeros_like(relay.exp(x)), relay.zeros((2, 6), "float32")),
        (relay.ones_like(whole), relay.ones((3, 4), "int32")),
        (
            relay.full_like(x, relay.const(3.0)),
            relay.full(relay.const(3.0), (2, 6), "float32"),
        ),
        (x + x, x * relay.const(2.0)),
        (relay.exp(x) + relay.exp(x), relay.exp(x) + relay.exp(x)),
        (relay.const(1.0) / relay.sqrt(x), relay.rsqrt(x)),
    ],
)
def test_a_rule_leaves_out_what_is_needless(before: Expr, expected: Expr) -> None:
    becomes(before, expected)


@pytest.mark.parametrize(
    "before",
    [
        reshape(x, (3, 4)),
        transpose(image, (0, 2, 3, 1)),
        cast_to(cast_to(real, "int32"), "float32"),
        cast_to(cast_to(long, "bool"), "int32"),
        cast_to(cast_to(long, "float64"), "int64"),
        cast_to(cast_to(relay.clip(real, 0.0, 300.0), "uint8"), "int32"),
        cast_to(cast_to(relay.clip(real, 0.0, 255.0), "uint8"), "int32"),
        cast_to(cast_to(relay.clip(real, 0.0, 9.0), "uint8"), "float32"),
        relay.clip(cast_to(relay.clip(real, 0.0, 9.5), "uint8"), 0.5, 9.0),
        relay.clip(cast_to(relay.clip(whole, 0.0, 3.0), "uint8"), 4.0, 9.0),
        relay.clip(real, 0.0, 255.0),
        relay.const(0.0) - x,
        relay.const(1.0) / x,
        x + relay.zeros((3, 2, 6), "float32"),
        x * relay.const(np.ones((3, 1, 1), "float32")),
        relay.const(1.0) + relay.const(2.0),
    ],
)
def test_what_has_a_meaning_stays(before: Expr) -> None:
    stays(before)


NEUTRAL: list[tuple[Callable[[Any, Any], Expr], float]] = [
    (relay.subtract, 0.0),
    (relay.multiply, 1.0),
    (relay.divide, 1.0),
]


@pytest.mark.parametrize(("op", "value"), NEUTRAL)
def test_neutral_elements_go(op: Callable[[Any, Any], Expr], value: float) -> None:
    like = relay.ones_like if value else relay.zeros_like
    made = relay.ones if value else relay.zeros
    row = relay.full(relay.const(value), (6,))
    for neutral in (relay.const(value), like(x), made((2, 6), "float32"), row):
        becomes(op(x, neutral), x)
    if op is relay.multiply:
        becomes(op(relay.const(value), x), x)
        becomes(op(like(x), x), x)


@pytest.mark.parametrize(
    ("sum_", "expected"),
    [
        (x + relay.const(-0.0), x),
        (relay.const(-0.0) + x, x),
        (x - relay.const(0.0), x),
        (whole + relay.const(0), whole),
        (relay.zeros_like(whole) + whole, whole),
    ],
)
def test_zeros_that_change_no_bit_go(sum_: Expr, expected: Expr) -> None:
    becomes(sum_, expected)


@pytest.mark.parametrize(
    "sum_",
    [
        x + relay.const(0.0),
        relay.zeros_like(x) + x,
        x + relay.full(relay.const(0.0), (6,)),
        x - relay.const(-0.0),
    ],
)
def test_zeros_that_change_the_sign_of_zeros_go_if_values_may_be_inexact(
    sum_: Expr,
) -> None:
    (typed,) = simplified(sum_, exact=False)
    assert isinstance(typed, Var)
    assert not isinstance(simplified(sum_)[0], Var)


def simplified(*bodies: Expr, exact: bool = True) -> list[Expr]:
    """Return what expressions become."""
    functions = [Function(tuple(free_vars(body)), body) for body in bodies]
    return [simplify_expr(infer_type(one), exact=exact).body for one in functions]


@pytest.mark.parametrize(
    "op", [relay.add, relay.subtract, relay.multiply, relay.divide]
)
@pytest.mark.parametrize("value", [2.0, 3.0])
def test_tensors_of_one_value_become_scalars(
    op: Callable[[Any, Any], Expr], value: float
) -> None:
    scalar = relay.const(value)
    for full in (relay.full(scalar, (2, 6)), relay.full_like(x, scalar)):
        becomes(op(full, x), op(scalar, x))
        becomes(op(x, full), op(x, scalar))
    wide = relay.full(scalar, (3, 2, 6))
    becomes(op(x, wide), op(x, wide))
    other = relay.const(value, "float64")
    cast = relay.full(other, (2, 6), "float32")
    becomes(op(x, relay.full_like(x, other)), op(x, cast))


values = [np.random.default_rng(seed).random(6, "float32") for seed in range(3)]
c, d, e = (relay.const(value) for value in values)
C, D, E = values


def test_constants_in_a_row_are_one() -> None:
    for before in (x + c + d, c + x + d, d + (c + x)):
        becomes(before, x + relay.const(C + D), rtol=1e-5)
    for before in (x * c * d, d * (c * x)):
        becomes(before, x * relay.const(C * D), rtol=1e-5)


@pytest.mark.parametrize(
    "before", [(x + c) * d + e, e + d * (c + x), (c + x) * d + e, e + (x + c) * d]
)
def test_a_product_of_a_sum_becomes_a_sum_of_a_product(before: Expr) -> None:
    becomes(before, x * d + relay.const(C * D + E), rtol=1e-4)


def test_constants_are_put_together_through_sums_and_products() -> None:
    expected = x * relay.const(C * E) + relay.const(D * E)
    for before in ((x * c + d) * e, e * (d + c * x)):
        becomes(before, expected, rtol=1e-4)


def test_a_sum_that_others_use_is_not_taken_apart() -> None:
    total = x + c
    stays(Tuple((total * d, total)), exact=False)


least, most = (relay.const(np.array(n, "int64")) for n in (-(2**63), 2**63 - 1))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (long + most + most, long + relay.const(np.int64(-2))),
        (long * least * most, long * least),
        (
            (long + most) * most,
            long * most + relay.const(np.int64(1)),
        ),
        (small + relay.const(np.int8(100)) + relay.const(np.int8(100)),
         small + relay.const(np.int8(-56))),
    ],
)  # fmt: skip
def test_constants_of_ints_are_put_together_for_they_wrap(
    before: Expr, expected: Expr
) -> None:
    becomes(before, expected)


def number(value: float, dtype: str = "float32") -> Expr:
    return relay.const(np.array(value, dtype))


half = var("half", 2, 6, dtype="float16")


@pytest.mark.parametrize(
    "before",
    [
        x * number(1e-30) * number(1e-30),
        x * number(1e30) * number(1e30),
        x * number(1e-30) * number(1e-10),
        x + number(1e38) + number(3e38),
        (x + number(1e30)) * number(1e30),
        half * number(1e-4, "float16") * number(1e-3, "float16"),
        half + number(6e4, "float16") + number(6e4, "float16"),
    ],
)
def test_constants_that_together_leave_the_range_stay_apart(before: Expr) -> None:
    stays(before, exact=False)
    stays(before)


def test_constants_are_not_put_together_to_what_is_too_large() -> None:
    wide = var("wide", 2**20, 2**20, dtype="int32")
    column, row = (
        relay.const(np.arange(2**20, dtype="int32").reshape(shape))
        for shape in ((-1, 1), (1, -1))
    )
    stays(wide + column + row)


def test_a_quotient_by_a_root_is_a_product() -> None:
    two = relay.const(2.0)
    expected = two * relay.rsqrt(x)
    becomes(two / relay.sqrt(x), expected, rtol=1e-5)


def test_what_is_like_another_tensor_is_made_from_its_type() -> None:
    y = var("y", 3, 4)
    becomes(relay.cast_like(whole, real), cast_to(whole, "float32"))
    becomes(relay.reshape_like(x, y), reshape(x, (3, 4)))
    row = var("row", 4)
    becomes(relay.broadcast_to_like(row, y), relay.broadcast_to(row, (3, 4)))
    becomes(
        relay.collapse_sum_like(y, row),
        relay.collapse_sum_to(y, 4),
    )


def test_a_dtype_is_known_where_a_shape_is_not() -> None:
    unknown = relay.var("unknown", shape=(3, relay.Any()), dtype="float32")
    typed = infer_type(Function((unknown, whole), relay.cast_like(unknown, whole)))
    expected = Function((unknown, whole), cast_to(unknown, "int32"))
    after = infer_type(simplify_expr(typed))
    assert_structural_equal(after, infer_type(expected))
    shaped = infer_type(Function((unknown,), relay.zeros_like(unknown)))
    assert simplify_expr(shaped) is shaped


def relaid(data: Expr, *layouts: str) -> Expr:
    for before, after in pairwise(layouts):
        data = relay.layout_transform(data, before, after)
    return data


blocked = var("blocked", 1, 2, 5, 6, 4)
wide = var("wide", 1, 8, 5, 6)
last = var("last", 1, 5, 6, 8)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (relaid(wide, "NCHW", "NCHW"), wide),
        (relaid(wide, "NCHW", "NHWC", "NCHW"), wide),
        (relaid(wide, "NCHW", "NHWC", "CHWN"), transpose(wide, (1, 2, 3, 0))),
        (relaid(wide, "NCHW", "NCHW4c", "NCHW"), wide),
        (relaid(blocked, "NCHW4c", "NCHW8c", "NCHW4c"), blocked),
        (
            relaid(blocked, "NCHW4c", "NCHW", "NCHW8c"),
            relaid(blocked, "NCHW4c", "NCHW8c"),
        ),
        (relaid(last, "NHWC", "NCHW", "NCHW4c"), relaid(last, "NHWC", "NCHW4c")),
        (
            relaid(transpose(last, (0, 3, 1, 2)), "NCHW", "NCHW4c"),
            relaid(last, "NHWC", "NCHW4c"),
        ),
        (
            transpose(relaid(blocked, "NCHW4c", "NCHW"), (0, 2, 3, 1)),
            relaid(blocked, "NCHW4c", "NHWC"),
        ),
        (
            transpose(
                relaid(transpose(wide, (0, 2, 3, 1)), "NHWC", "HWCN"), (3, 0, 1, 2)
            ),
            transpose(wide, (0, 2, 3, 1)),
        ),
    ],
)
def test_changes_of_layout_in_a_row_are_one(before: Expr, expected: Expr) -> None:
    becomes(before, expected)


def test_a_result_keeps_the_place_of_what_it_replaces() -> None:
    span = Span("model", 3, 3, 1, 9)
    outer = Call(relay.op.get("reshape"), (reshape(x, (3, 4)),), ATTRS, span=span)
    after = simplify_expr(infer_type(Function((x,), outer)))
    assert cast("Call", after.body).span == span


ATTRS = reshape(x, (12,)).attrs


def test_it_is_at_level_0_needs_types_and_counts_7_13() -> None:
    info = SimplifyExpr().info
    assert (info.opt_level, tuple(info.required)) == (0, ("InferType",))
    with PassContext() as context:
        SimplifyExpr()(InferType()(module((x,), x * relay.const(1.0))))
    assert context.statistics["SimplifyExpr"]["simplified"] == 1


@pytest.mark.slow
def test_workers_make_the_same_of_it(runner: Runner) -> None:
    mod = IRModule()
    for number in range(4):
        mod[f"f{number}"] = Function((x,), (x + c) * d + e)
    assert_parallel_is_serial(runner, SimplifyExpr(exact=False), mod)


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth", [DEEP // 10, pytest.param(DEEP, marks=pytest.mark.stress)]
)
def test_chains_of_any_length_become_one_operator(depth: int) -> None:
    expr: Expr = x
    for _ in range(depth):
        expr = reshape(expr, (3, 4)) * relay.const(1.0)
    after = simplify_expr(infer_type(Function((x,), expr)))
    assert len(post_order(after)) == 4  # the function, its parameter, one call
