from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest
from hypothesis import given, settings

from parpass import relay
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.operators.op_table import Op
from parpass.ir.structure.structural import assert_structural_equal
from parpass.relay.analysis import well_formed
from parpass.relay.expr import Call, Expr, Function, Tuple, TupleGetItem, Var
from parpass.relay.transform import DefuseOps, FunctionsFromFusion, FuseOps, InferType
from parpass.relay.transform.fusion.defuse_ops import defuse_ops
from parpass.relay.transform.fusion.fuse_ops import OperatorFuser, fuse_ops
from parpass.relay.typing.infer import infer_type
from parpass.transform import PassContext
from tests.support.deep import DEPTHS
from tests.support.docs import shows
from tests.support.higher_order import higher_order_modules
from tests.support.meaning import assert_keeps_meaning

IMAGE = (1, 16, 8, 8)


def primitive(body: Callable[..., Expr], *args: Expr) -> Call:
    """Return a call of a new primitive function of what `body` makes of parameters."""
    params = [Var("p", infer_type(arg).checked_type) for arg in args]
    return Call(Function(tuple(params), body(*params), attrs={"Primitive": 1}), args)


def one() -> Expr:
    return relay.const(1.0)


def conv(data: Expr, weight: Expr) -> Expr:
    return relay.nn.conv2d(data, weight, kernel_size=(3, 3), padding=1)


def pool(data: Expr) -> Expr:
    return relay.nn.max_pool2d(data, pool_size=(2, 2), strides=(2, 2))


X = relay.var("x", shape=IMAGE)
W1, W2 = (relay.var(name, shape=(16, 16, 3, 3)) for name in ("w1", "w2"))
FLAT = relay.var("x", shape=(10, 20))


def one_chain() -> tuple[Sequence[Var], Expr, Expr]:
    def body(x: Expr) -> Expr:
        return relay.squeeze(relay.exp(x + one()))

    return [FLAT], body(FLAT), primitive(body, FLAT)


def diamond_behind_a_convolution() -> tuple[Sequence[Var], Expr, Expr]:
    def body(x: Expr, w: Expr) -> Expr:
        y = conv(x, w)
        return y + (one() + y)

    return [X, W1], body(X, W1), primitive(body, X, W1)


def two_convolutions_into_one_sum() -> tuple[Sequence[Var], Expr, Expr]:
    def last(x: Expr, w: Expr, other: Expr) -> Expr:
        return conv(x, w) + other

    before = relay.add(conv(X, W1), conv(X, W2))
    return [X, W1, W2], before, primitive(last, X, W1, primitive(conv, X, W2))


def tuple_of_branches_into_an_injective() -> tuple[Sequence[Var], Expr, Expr]:
    def body(x: Expr) -> Expr:
        joined = relay.concatenate((x + one(), relay.exp(x)), axis=1)
        return relay.transpose(joined) + one()

    return [FLAT], body(FLAT), primitive(body, FLAT)


def convolutions_into_a_tuple() -> tuple[Sequence[Var], Expr, Expr]:
    def branch(x: Expr, w: Expr) -> Expr:
        return relay.nn.relu(conv(x, w))

    def join(x: Expr, y: Expr) -> Expr:
        return relay.concatenate((x, y), axis=1)

    before = join(branch(X, W1), branch(X, W2))
    one, two = primitive(branch, X, W1), primitive(branch, X, W2)
    return [X, W1, W2], before, primitive(join, one, two)


def tuple_as_the_result() -> tuple[Sequence[Var], Expr, Expr]:
    def row(x: Expr) -> Expr:
        return relay.reshape(relay.transpose(x), (-1,))

    after = Tuple((primitive(row, primitive(pool, X)), X))
    return [X], Tuple((row(pool(X)), X)), after


def projections_of_a_split() -> tuple[Sequence[Var], Expr, Expr]:
    def body(x: Expr) -> Expr:
        one, two = relay.split(x, 2, axis=1)
        return relay.tanh(one) * two

    return [FLAT], body(FLAT), primitive(body, FLAT)


def projection_before_a_heavy_operator() -> tuple[Sequence[Var], Expr, Expr]:
    def half(x: Expr) -> Expr:
        return relay.split(x, 2, axis=1)[0]

    weight = relay.var("w", shape=(5, 10))
    after = primitive(relay.nn.dense, primitive(half, FLAT), weight)
    return [FLAT, weight], relay.nn.dense(half(FLAT), weight), after


def a_reduction_at_the_end() -> tuple[Sequence[Var], Expr, Expr]:
    def body(x: Expr) -> Expr:
        return relay.sum(relay.exp(x))

    before = relay.negative(body(FLAT))
    return [FLAT], before, primitive(relay.negative, primitive(body, FLAT))


def constants_with_dimensions_outside() -> tuple[Sequence[Var], Expr, Expr]:
    row = relay.const([1.0] * 20, "float32")
    return [FLAT], FLAT + row, primitive(relay.add, FLAT, row)


def nothing_across_let_and_if() -> tuple[Sequence[Var], Expr, Expr]:
    cond, name = relay.var("c", "bool"), Var("v")
    read = relay.var("v", shape=(10, 20))

    def program(unary: Callable[[Callable[..., Expr], Expr], Expr]) -> Expr:
        branches = unary(relay.exp, name), unary(relay.tanh, name)
        return relay.Let(name, unary(relay.abs, FLAT), relay.If(cond, *branches))

    def fused(build: Callable[..., Expr], arg: Expr) -> Expr:
        typed = read if arg is name else arg
        made = primitive(build, typed)
        return Call(made.op, (arg,))

    before = program(lambda build, arg: build(arg))
    return [cond, FLAT], before, program(fused)


CASES = [
    one_chain,
    diamond_behind_a_convolution,
    two_convolutions_into_one_sum,
    tuple_of_branches_into_an_injective,
    convolutions_into_a_tuple,
    tuple_as_the_result,
    projections_of_a_split,
    projection_before_a_heavy_operator,
    a_reduction_at_the_end,
    constants_with_dimensions_outside,
    nothing_across_let_and_if,
]
Case = Callable[[], tuple[Sequence[Var], Expr, Expr]]


@pytest.mark.parametrize("case", CASES)
def test_operators_are_fused_by_their_patterns(case: Case) -> None:
    params, before, after = case()
    typed = infer_type(Function(tuple(params), before))
    expected = infer_type(Function(tuple(params), after))
    assert_structural_equal(infer_type(fuse_ops(typed)), expected)


@pytest.mark.parametrize("case", CASES)
def test_defusing_undoes_fusing(case: Case) -> None:
    params, before, _ = case()
    typed = infer_type(Function(tuple(params), before))
    for level in (0, 2):
        assert_structural_equal(defuse_ops(infer_type(fuse_ops(typed, level))), typed)


@pytest.mark.parametrize("case", CASES)
def test_functions_of_the_module_are_undone_too(case: Case) -> None:
    params, before, _ = case()
    mod = InferType()(IRModule({"main": Function(tuple(params), before)}))
    lifted = FunctionsFromFusion()(FuseOps(fuse_opt_level=0)(mod))
    assert well_formed(lifted)
    assert len(lifted) > 1
    undone = DefuseOps()(InferType()(lifted))
    assert_structural_equal(undone["main"], mod["main"])


def test_at_level_0_each_operator_is_a_function() -> None:
    params, before, _ = one_chain()
    typed = infer_type(Function(tuple(params), before))
    functions = _primitives(IRModule({"main": fuse_ops(typed, opt_level=0)}))
    calls = [cast("Call", function.body) for function in functions]
    names = [cast("Op", call.op).name for call in calls]
    assert names == ["add", "exp", "squeeze"]


def test_the_level_is_the_contexts_unless_given() -> None:
    params, before, after = one_chain()
    mod = InferType()(IRModule({"main": Function(tuple(params), before)}))
    expected = InferType()(IRModule({"main": Function(tuple(params), after)}))
    with PassContext(opt_level=0):
        assert len(_primitives(FuseOps()(mod))) == 3
        assert_structural_equal(FuseOps(fuse_opt_level=2)(mod), expected)
    with PassContext(opt_level=3):
        assert_structural_equal(FuseOps()(mod), expected)


def test_a_function_that_was_never_typed_is_typed_first() -> None:
    params, before, after = one_chain()
    untyped = IRModule({"main": Function(tuple(params), before)})
    expected = InferType()(IRModule({"main": Function(tuple(params), after)}))
    assert_structural_equal(FuseOps()(untyped), expected)


@pytest.mark.parametrize(("depth", "sizes"), [(10, [10, 10]), (16, [16, 4])])
def test_a_function_has_no_more_operators_than_the_option_says(
    depth: int, sizes: list[int]
) -> None:
    body: Expr = FLAT
    for _ in range(20):
        body = relay.exp(body)
    with PassContext(config={"relay.FuseOps.max_depth": depth}):
        fused = FuseOps()(IRModule({"main": Function((FLAT,), body)}))
    found = [_operators(function) for function in _primitives(fused)]
    assert found == sizes


def test_a_diamond_counts_with_both_its_branches() -> None:
    body: Expr = FLAT
    for _ in range(3):
        left = right = body
        for _ in range(5):
            left, right = relay.exp(left), relay.exp(right)
        body = left + right
    with PassContext(config={"relay.FuseOps.max_depth": 11}):
        fused = FuseOps()(IRModule({"main": Function((FLAT,), body)}))
    assert [_operators(function) for function in _primitives(fused)] == [11, 11, 11]


def test_constants_go_in_where_the_option_says_so() -> None:
    mod = IRModule({"main": Function((FLAT,), FLAT + relay.const([1.0] * 20))})
    with PassContext(config={"relay.FuseOps.link_params": True}):
        [function] = _primitives(FuseOps()(mod))
    assert len(function.params) == 1


def test_fusion_stops_where_it_is_told_to() -> None:
    body = relay.exp(relay.annotation.stop_fusion(FLAT + one()))
    fused = FuseOps()(IRModule({"main": Function((FLAT,), body)}))
    assert [_operators(function) for function in _primitives(fused)] == [1, 1]
    assert "stop_fusion" not in fused.astext()


def test_a_projection_of_a_literal_tuple_needs_no_function() -> None:
    body = TupleGetItem(Tuple((FLAT, FLAT)), 0)
    mod = InferType()(IRModule({"main": Function((FLAT,), body)}))
    assert FuseOps()(mod)["main"] is mod["main"]


def test_functions_that_are_fused_already_stay() -> None:
    once = FuseOps()(IRModule({"main": Function((FLAT,), relay.exp(FLAT))}))
    assert FuseOps()(once)["main"] is once["main"]


def test_closures_that_double_with_each_level_are_undone_up_to_a_limit() -> None:
    p = relay.var("p", shape=(2,))
    closure = Function((p,), relay.add(p, p))
    for _ in range(60):
        p = relay.var("p", shape=(2,))
        closure = Function((p,), closure(closure(p)))
    with (
        PassContext(config={"relay.max_copied_nodes": 5_000}),
        pytest.raises(SizeLimitError, match=r"at most 5000 nodes .* with a closure"),
    ):
        DefuseOps()(IRModule({"main": closure}))


def test_what_was_fused_is_counted() -> None:
    params, before, _ = two_convolutions_into_one_sum()
    typed = infer_type(Function(tuple(params), before))
    fuser = OperatorFuser(typed, 2)
    fuser.fused()
    assert (fuser.functions, fuser.operators) == (2, 3)


def test_the_documented_programs() -> None:
    before = IRModule(
        {"main": Function((FLAT,), relay.squeeze(relay.exp(FLAT + one())))}
    )
    after = FuseOps()(before)
    assert shows(FuseOps, before, after)
    assert shows(DefuseOps, after, DefuseOps()(after))


def _primitives(mod: IRModule) -> list[Function]:
    """Return the primitive functions of `main`, in the order of evaluation."""
    order = post_order(mod["main"])
    callees = [node.op for node in order if isinstance(node, Call)]
    return [
        node
        for node in callees
        if isinstance(node, Function) and node.has_nonzero_attr("Primitive")
    ]


def _operators(function: Function) -> int:
    return sum(isinstance(node, Call) for node in post_order(function.body))


@pytest.mark.slow
@given(mod=higher_order_modules())
@settings(deadline=None, max_examples=6)
def test_fusing_and_defusing_keep_the_meaning(mod: IRModule) -> None:
    assert_keeps_meaning(DefuseOps(), assert_keeps_meaning(FuseOps(), mod))


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_expressions_are_fused_and_defused(depth: int) -> None:
    body: Expr = FLAT
    for _ in range(depth):
        body = relay.exp(body)
    typed = infer_type(Function((FLAT,), body))
    fused = fuse_ops(typed, max_depth=depth)
    assert isinstance(fused.body, Call)
    assert isinstance(fused.body.op, Function)
    assert len(post_order(defuse_ops(fused))) == len(post_order(typed))
