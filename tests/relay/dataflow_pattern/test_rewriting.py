"""Rewriting by patterns: what callbacks see, when it ends, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from parpass import relay
from parpass.diagnostic import Span
from parpass.errors import IRError, IRTypeError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType
from parpass.relay.dataflow_pattern import (
    DFPattern,
    DFPatternCallback,
    FunctionPattern,
    dominates,
    has_dtype,
    is_constant,
    is_expr,
    is_op,
    is_tuple,
    rewrite,
    wildcard,
)
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Tuple
from parpass.runner import run_pipeline_sync
from parpass.transform import FunctionPass, PassContext, PassInfo

DEEP = 100_000  # of expressions in the stress suite

NodeMap = Mapping[DFPattern, list[Expr]]

x, y, w, var_, mean, beta, gamma = (
    relay.var(name) for name in ("x", "y", "w", "var", "mean", "beta", "gamma")
)
t = relay.var("t", shape=(3,))


class Replace(DFPatternCallback):
    """Replaces what a pattern matches by what a callable returns."""

    def __init__(
        self,
        pattern: DFPattern,
        by: Callable[[Any, Any, NodeMap], object],
        **options: bool,
    ) -> None:
        super().__init__(**options)
        self.pattern = pattern
        self.by = by

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        return cast("Expr", self.by(pre, post, node_map))


def as_difference(_pre: Call, post: Call, _map: NodeMap) -> Expr:
    return post.args[0] - post.args[1]


def to_difference() -> Replace:
    return Replace(wildcard() + wildcard(), as_difference)


def identity_of(shape: Callable[[DFPattern], DFPattern]) -> Replace:
    kept = wildcard()
    return Replace(shape(kept), lambda _pre, _post, found: found[kept][0])


def test_a_match_is_replaced_by_what_the_callback_returns() -> None:
    assert_structural_equal(rewrite(to_difference(), x + y), x - y)
    assert_structural_equal(to_difference().rewrite(x + y + w), x - y - w)


def test_without_a_match_the_expression_is_the_same_object() -> None:
    program = relay.exp(x - y)
    assert rewrite(to_difference(), program) is program
    unchanged = Replace(wildcard() - wildcard(), lambda _pre, post, _map: post)
    assert rewrite(unchanged, program) is program


def test_an_operator_itself_is_replaced() -> None:
    subtract = relay.op.get("subtract")
    other = Replace(is_op("add"), lambda _pre, _post, _map: subtract)
    assert_structural_equal(rewrite(other, relay.exp(x + y)), relay.exp(x - y))


def test_matches_in_functions_are_replaced() -> None:
    function = Function((x, y), relay.exp(x + y))
    after = rewrite(to_difference(), Call(function, (x, y)) + w)
    new = Function((x, y), relay.exp(x - y))
    assert_structural_equal(after, Call(new, (x, y)) - w)


def test_the_callback_sees_both_the_old_and_the_new() -> None:
    seen: list[tuple[Expr, Expr]] = []

    def note(pre: Expr, post: Expr, _map: NodeMap) -> Expr:
        seen.append((pre, post))
        return post

    program = relay.exp(x + y)
    rewrite([to_difference(), Replace(is_op("exp")(None), note)], program)
    assert [str(pre) == str(post) for pre, post in seen] == [True] * len(seen)
    argument = wildcard()
    found: list[Expr] = []

    def note_argument(_pre: Expr, post: Expr, found_map: NodeMap) -> Expr:
        found.append(found_map[argument][0])
        return post

    both = relay.exp(relay.exp(x))
    rewrite(Replace(is_op("exp")(argument), note_argument), both)
    assert found[0] is x
    assert found[1] is both.args[0]


class BatchNorm(DFPatternCallback):
    """Finds batch normalisation that is written out."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [wildcard() for _ in range(5)]
        self.eps = is_constant()
        data, var, avg, shift, scale = self.parts
        root = is_op("sqrt")(var + self.eps)
        self.pattern = scale * (data - avg) / root + shift

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        data, var, avg, shift, scale = (node_map[part][0] for part in self.parts)
        eps = cast("relay.Constant", node_map[self.eps][0]).data.numpy().item()
        return relay.nn.batch_norm(data, scale, shift, avg, var, epsilon=eps)[0]


def spread() -> Expr:
    return relay.sqrt(var_ + relay.const(1e-5))


def normalised(data: Expr) -> Expr:
    eps = float(relay.const(1e-5).data.numpy())
    return relay.nn.batch_norm(data, gamma, beta, mean, var_, epsilon=eps)[0]


@pytest.mark.parametrize(
    "written",
    [
        gamma * (x - mean) / spread() + beta,
        beta + gamma * (x - mean) / spread(),
        gamma * ((x - mean) / spread()) + beta,
        (x - mean) * gamma / spread() + beta,
    ],
)
def test_products_match_however_they_are_written(written: Expr) -> None:
    assert_structural_equal(rewrite(BatchNorm(), written), normalised(x))


def test_one_match_may_feed_another() -> None:
    inner = gamma * (x - mean) / spread() + beta
    outer = gamma * (inner - mean) / spread() + beta
    assert_structural_equal(rewrite(BatchNorm(), outer), normalised(normalised(x)))
    other = gamma * (x - mean) / spread() - beta
    assert rewrite(BatchNorm(), other) is other
    partly = gamma * (other - mean) / spread() + beta
    assert_structural_equal(rewrite(BatchNorm(), partly), normalised(other))


def test_what_is_used_elsewhere_is_not_replaced() -> None:
    conv = relay.nn.conv2d(x, w)
    w_ = wildcard()
    program = relay.nn.relu(conv) + conv
    drop_relu = identity_of(lambda kept: is_op("nn.relu")(is_op("nn.conv2d")(kept, w_)))
    assert rewrite(drop_relu, program) is program
    assert rewrite(drop_relu, relay.nn.relu(conv) + w) is not program


def test_what_is_used_inside_of_the_match_only_is_replaced() -> None:
    a, b = wildcard(), wildcard()
    inner = is_op("add")(a, b)
    whole = inner + (inner + a)
    shared = x + (y + y)
    program = shared + (shared + x)
    after = rewrite(Replace(whole, lambda _pre, _post, _map: y), program)
    assert after is y


def diamond(expr: Expr, weight: Expr) -> Expr:
    conv = relay.nn.conv2d(expr, weight)
    return relay.nn.relu(relay.nn.relu(conv)) + relay.nn.leaky_relu(conv, alpha=0)


def test_dominated_stretches_are_replaced() -> None:
    data, weight = wildcard(), wildcard()
    elementwise = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    path = elementwise | (wildcard() + wildcard())
    conv = is_op("nn.conv2d")(data, weight)
    pattern = dominates(conv, path, wildcard() + wildcard())

    def keep_conv(_pre: Expr, _post: Expr, found: NodeMap) -> Expr:
        return relay.nn.conv2d(found[data][0], found[weight][0])

    program, expected = cast("Expr", x), cast("Expr", x)
    for _ in range(4):
        program, expected = diamond(program, w), relay.nn.conv2d(expected, w)
    assert_structural_equal(rewrite(Replace(pattern, keep_conv), program), expected)


def test_a_call_of_a_function_is_replaced_with_the_function() -> None:
    args = [wildcard(), wildcard()]
    callee = FunctionPattern([wildcard(), wildcard()], wildcard())
    pattern = callee(*args) + wildcard()
    p, q, b = relay.var("p"), relay.var("q"), relay.var("b")
    function = Function((p, q), relay.nn.conv2d(p, q))
    program = Call(function, (x, w)) + b + b
    after = rewrite(Replace(pattern, lambda _pre, _post, _map: x + w), program)
    assert_structural_equal(after, x + w + b)


def test_callbacks_feed_each_other_until_nothing_changes() -> None:
    zero = is_expr(relay.const(0)) | is_expr(relay.const(0.0))
    one = is_expr(relay.const(1)) | is_expr(relay.const(1.0))
    zero_times = Replace(zero * wildcard(), lambda _pre, _post, found: found[zero][0])
    rules = [
        identity_of(lambda kept: kept + zero),
        identity_of(lambda kept: kept - zero),
        identity_of(lambda kept: kept * one),
        identity_of(lambda kept: kept / one),
        zero_times,
    ]
    none, unit = relay.const(0), relay.const(1)
    program = (x + none * y) / unit + y * unit - (none * x)
    assert_structural_equal(rewrite(rules, program), x + y)
    for trivial in (x + none, none + x, x - none, x * unit, unit * x, x / unit):
        assert rewrite(rules, trivial) is x


def shorter(_pre: Expr, post: Call, _map: NodeMap) -> Expr:
    fields = cast("Tuple", post.args[0]).fields[:-1]
    return relay.concatenate(fields, axis=0) if fields else x


@pytest.mark.parametrize(
    ("softmax_once", "concat_once", "fields"),
    [(True, True, (x, y)), (True, False, ())],
)
def test_rewrite_once_is_for_each_callback_by_itself(
    softmax_once: bool, concat_once: bool, fields: tuple[Expr, ...]
) -> None:
    whole = relay.concatenate((x, y, w), axis=0)
    more = Replace(
        is_op("nn.softmax")(None),
        lambda _pre, post, _map: relay.nn.relu(post),
        rewrite_once=softmax_once,
    )
    less = Replace(is_op("concatenate")(None), shorter, rewrite_once=concat_once)
    after = rewrite([more, less], relay.nn.softmax(whole))
    rest = relay.concatenate(fields, axis=0) if fields else x
    assert_structural_equal(after, relay.nn.relu(relay.nn.softmax(rest)))


def test_rewrite_once_changes_all_matches_of_one_round() -> None:
    less = Replace(is_op("concatenate")(is_tuple(None)), shorter, rewrite_once=True)
    whole = relay.concatenate((x, y, w), axis=0)
    expected = relay.concatenate((x, y), axis=0)
    assert_structural_equal(rewrite(less, whole), expected)


def test_callbacks_without_an_end_are_an_error_that_names_them() -> None:
    grow = Replace(is_op("nn.softmax")(None), lambda _p, post, _m: relay.exp(post))
    with pytest.raises(IRError, match=r"100 rounds of Replace; do they undo"):
        rewrite(grow, relay.nn.softmax(x))


def test_equal_results_are_an_end() -> None:
    again = Replace(is_op("exp")(None), lambda _p, post, _m: relay.exp(post.args[0]))
    assert_structural_equal(rewrite(again, relay.exp(x)), relay.exp(x))


def test_what_callbacks_lack_is_said() -> None:
    with pytest.raises(IRTypeError, match=r"Replace.pattern, got None"):
        rewrite(Replace(cast("DFPattern", None), as_difference), x + y)
    with pytest.raises(IRTypeError, match=r"Replace.callback, got 3"):
        rewrite(Replace(wildcard() + wildcard(), lambda _pre, _post, _map: 3), x + y)
    bare = DFPatternCallback()
    bare.pattern = wildcard() + wildcard()
    with pytest.raises(NotImplementedError, match=r"callback\(self, pre, post"):
        bare.rewrite(x + y)


def test_a_callback_may_require_types_also_of_globals() -> None:
    g = GlobalVar("g")
    mod = IRModule({g: Function((t,), relay.exp(t), t.type_annotation)})
    types: list[object] = []

    def note(pre: Expr, post: Expr, _map: NodeMap) -> Expr:
        types.append(pre.checked_type)
        return post

    callback = Replace(is_op("negative")(None), note, require_type=True)
    rewrite(callback, relay.negative(Call(g, (t,))), mod)
    assert types == [TensorType((3,))]
    halves = Replace(
        is_op("negative")(has_dtype("float32")),
        lambda _pre, _post, _map: t,
        require_type=False,
    )
    assert rewrite(halves, relay.negative(Call(g, (t,))), mod) is t


def test_a_replaced_call_keeps_its_span() -> None:
    span = Span("model", 3, 3, 1, 9)
    old = Call(relay.op.get("add"), (x, y), span=span)
    assert cast("Call", rewrite(to_difference(), old)).span == span


def test_rounds_do_not_grow_with_the_depth() -> None:
    inner = wildcard()

    def joined(pre: Call, _post: Expr, found: NodeMap) -> Expr:
        return Call(pre.op, (found[inner][0],), pre.attrs)

    keep_last = Replace(is_op("reshape")(is_op("reshape")(inner)), joined)
    expr: Expr = x
    for _ in range(DEEP // 50):
        expr = relay.reshape(expr, (-1,))
    assert_structural_equal(rewrite(keep_last, expr), relay.reshape(x, (-1,)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth", [DEEP // 10, pytest.param(DEEP, marks=pytest.mark.stress)]
)
def test_deep_programs_are_rewritten(depth: int) -> None:
    expr: Expr = x
    for _ in range(depth):
        expr = relay.exp(expr + y)
    after = rewrite(to_difference(), expr)
    assert len(post_order(after)) == len(post_order(expr))


class Simplify(FunctionPass):
    """A function pass that holds patterns, as its users write them."""

    pass_info = PassInfo(1, "Simplify")

    def __init__(self) -> None:
        self.callback = BatchNorm()
        self.callback.pattern = None
        kept = wildcard()
        self.kept = kept
        self.rule = Identity(kept, kept + is_expr(relay.const(0.0)))

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        return rewrite(self.rule, func, mod)


class Identity(DFPatternCallback):
    """Keeps one part of a match."""

    def __init__(self, kept: DFPattern, pattern: DFPattern) -> None:
        super().__init__(require_type=True)
        self.kept, self.pattern = kept, pattern

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        return node_map[self.kept][0]


@pytest.mark.slow
def test_patterns_travel_to_workers_in_passes() -> None:
    functions: dict[Any, Any] = {}
    for number in range(8):
        p = relay.var("p", shape=(3,))
        functions[f"f{number}"] = Function((p,), relay.exp(p + relay.const(0.0)) + p)
    mod = IRModule(functions)
    serial, parallel = (run_pipeline_sync(mod, Simplify(), workers=n) for n in (0, 2))
    assert_structural_equal(serial, parallel)
    assert cast("Call", serial["f0"].body).op is relay.op.get("add")
    p = relay.var("p", shape=(3,))
    expected = relay.transform.InferType()(
        IRModule.from_expr(Function((p,), relay.exp(p) + p))
    )
    assert_structural_equal(serial["f3"], expected["main"])
