from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay, tir
from parpass.diagnostic import Span
from parpass.errors import ArgumentError
from parpass.instrument import RemarksInstrument
from parpass.ir.module import IRModule
from parpass.ir.node import breadth_first, post_order
from parpass.ir.structural import assert_structural_equal
from parpass.ir.types import TensorType, TupleType, TypeVar
from parpass.relay.analysis import node_count, well_formed
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    const,
    var,
)
from parpass.relay.transform import (
    EliminateCommonSubexpr,
    FuseOps,
    InferType,
    InlineSegments,
    OutlineSegments,
    SimplifyInference,
    ToANormalForm,
)
from parpass.runner import Runner
from parpass.transform import PassContext, Sequential
from tests.support.profiles import examples
from tests.support.relay.deep import DEPTH, calls, function_of
from tests.support.relay.effects import effect
from tests.support.relay.meaning import assert_keeps_meaning, assert_parallel_is_serial
from tests.support.relay.programs import call_op

VECTOR = TensorType((3,))
x, y, c = var("x", VECTOR), var("y", VECTOR), var("c", "bool")


def _next(step: int, one: Expr, other: Expr, last: Expr) -> Expr:
    p = Var("p", VECTOR)
    if step == 0:
        return call_op("negative", one)
    if step == 1:
        return call_op("maximum", one, last)
    if step == 2:
        return TupleGetItem(Tuple((one, last)), 1)
    if step == 3:
        return If(c, last + one, last)
    if step == 4:
        return Call(Function((p,), p * last), (one,))
    if step == 5:
        parts = relay.split(one + last, 3)
        return relay.concatenate([parts[2], parts[0], parts[1]], 0)
    return one + other


@st.composite
def data_flows(draw: st.DrawFn) -> IRModule:
    """Give functions without `let`s, of up to some dozens of nodes, that share much."""
    shared = [const([1.0, 2.0, 3.0]), const([0.5, -0.5, 0.0])]
    values: list[Expr] = [x, y]

    def value() -> Expr:
        recent = values[-4:]
        return draw(st.sampled_from([*recent, *recent, *shared]))

    for step in draw(st.lists(st.integers(0, 6), min_size=4, max_size=20)):
        values.append(_next(step, value(), value(), values[-1]))
    body = values[-1] if draw(st.booleans()) else Tuple((values[-1], values[-2]))
    return InferType()(IRModule({"main": Function((x, y, c), body)}))


def cut(mod: IRModule, nodes: int = 2) -> IRModule:
    return OutlineSegments(nodes, nodes)(InferType()(mod))


def main(body: Expr, *params: Var) -> IRModule:
    return IRModule({"main": Function(params or (x,), body)})


def chain(length: int, value: Expr = x) -> Expr:
    for _ in range(length):
        value = call_op("negative", value)
    return value


@pytest.mark.slow
@given(mod=data_flows(), nodes=st.integers(1, 12))
@examples(1.5)
def test_what_was_cut_and_put_back_is_what_it_was(mod: IRModule, nodes: int) -> None:
    parts = InferType()(OutlineSegments(1, nodes)(mod))
    assert well_formed(parts)
    assert_structural_equal(InlineSegments()(parts), mod)


@pytest.mark.slow
@given(mod=data_flows())
@examples(0.3)
def test_cutting_keeps_the_meaning(mod: IRModule) -> None:
    assert_keeps_meaning(OutlineSegments(1, 4), mod)
    passes = [EliminateCommonSubexpr(), ToANormalForm(), InlineSegments()]
    assert_keeps_meaning(Sequential([OutlineSegments(1, 4), *passes], 3), mod)


@pytest.mark.slow
@given(mod=data_flows())
@examples(0.2)
def test_workers_make_the_same_of_segments(runner: Runner, mod: IRModule) -> None:
    again = ["EliminateCommonSubexpr", "SimplifyExpr"]
    passes = [OutlineSegments(1, 4), SimplifyInference(), InlineSegments(again)]
    assert_parallel_is_serial(runner, Sequential(passes), mod)


def test_segments_are_of_about_equal_size() -> None:
    segments = list(cut(main(chain(1_000)), 100).functions_by_name.values())[1:]
    assert len(segments) == 11
    assert all(50 <= node_count(segment) <= 150 for segment in segments)


def test_cuts_are_where_the_fewest_values_pass() -> None:
    block: Expr = x
    for _ in range(6):
        left, right = chain(4, block), chain(4, block)
        block = left + right
    parts = cut(main(block), 12)
    segments = list(parts.functions_by_name.values())[1:]
    assert len(segments) > 3
    assert all(len(segment.params) == 1 for segment in segments)
    assert all(segment.ret_type == VECTOR for segment in segments)


def test_neither_tuples_nor_constants_pass() -> None:
    known = chain(30, const([1.0, 2.0, 3.0]))
    both = relay.split(chain(3) + known, 3)
    body = relay.concatenate([chain(20, both[0]), chain(20, both[1])], 0)
    segments = list(cut(main(body), 8).functions_by_name.values())[1:]
    passing = [it.type_annotation for one in segments for it in one.params]
    assert not any(isinstance(found, TupleType) for found in passing)
    kinds = [list(map(type, post_order(one))) for one in segments]
    [size] = [len(found) for found in kinds if Constant in found]
    assert size > 30


def test_no_constant_is_in_two_segments() -> None:
    weight, body = const([1.0, 2.0, 3.0]), chain(1)
    for _ in range(20):
        body = body * weight
    found = [
        node
        for segment in list(cut(main(body), 10).functions_by_name.values())[1:]
        for node in post_order(segment)
        if isinstance(node, Constant)
    ]
    assert len(found) == len(set(found)) > 2


def test_spans_names_and_attributes_stay() -> None:
    span = Span("model.onnx", 3, 1, 3, 9)
    body = Call(relay.op.get("abs"), (chain(10),), None, (), span)
    function = Function((x,), chain(10, body), None, (), {"Own": 1}, span)
    before = InferType()(IRModule({"network": function}))
    parts = cut(before, 6)
    names = list(parts.functions_by_name)
    assert names == [
        "network",
        *(f"network_segment{at}" for at in range(len(names) - 1)),
    ]
    assert all(one.span == span for one in parts.functions_by_name.values())
    back = InlineSegments()(parts)["network"]
    assert back.attrs == {"Own": 1}
    assert [n.span for n in post_order(back.body) if isinstance(n, Call)].count(
        span
    ) == 1


def test_types_are_known_without_inference() -> None:
    parts = cut(main(chain(20)), 6)
    for function in [
        *parts.functions_by_name.values(),
        InlineSegments()(parts)["main"],
    ]:
        for node in post_order(function.body):
            assert not isinstance(node, Call | TupleGetItem) or node.checked_type


ITSELF, T = GlobalVar("main"), TypeVar("t")
LEFT_ALONE: dict[str, Function] = {
    "small": Function((x,), chain(2)),
    "effects": Function((x,), effect(chain(30))),
    "lets": Function((x,), Let(y, chain(30), chain(30, y))),
    "a type parameter": Function((x,), chain(30), VECTOR, (T,)),
    "primitive": Function((x,), chain(30), attrs={"Primitive": 1}),
    "another compiler's": Function((x,), chain(30), attrs={"Compiler": "other"}),
    "not to be optimised": Function((x,), chain(30), attrs={"SkipOptimization": 1}),
    "of constants alone": Function((), chain(30, const([1.0, 2.0, 3.0]))),
    "a variable": Function((x,), x),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_some_functions_are_left_alone(name: str) -> None:
    mod = InferType()(IRModule({"main": LEFT_ALONE[name]}))
    assert OutlineSegments(10, 5)(mod) is mod


WHY_NOT = {
    "small": "it has too few nodes",
    "effects": "it has effects",
    "a type parameter": "it has type parameters",
    "primitive": "it has attribute 'Primitive'",
    "a variable": "it has too few nodes",
}


@pytest.mark.parametrize("name", WHY_NOT)
def test_of_what_is_left_alone_is_told_why_with_the_nodes_that_decided(
    name: str,
) -> None:
    mod = InferType()(IRModule({"main": LEFT_ALONE[name]}))
    told = RemarksInstrument()
    with PassContext(instruments=[told]):
        OutlineSegments(10, 5)(mod)
    (one,) = [one for one in told.remarks if one.name == "NotCut"]
    assert (one.function, one.message) == ("main", f"not cut: {WHY_NOT[name]}")
    nodes = len(breadth_first(mod["main"]))
    assert one.values == {"nodes": nodes, "min_nodes": 10, "segment_nodes": 5}


def test_of_what_is_cut_or_a_small_share_nothing_is_told() -> None:
    told = RemarksInstrument()
    with PassContext(instruments=[told]):
        OutlineSegments(10, 5)(InferType()(main(chain(30))))
        many = {f"f{at}": main(chain(20))["main"] for at in range(9)}
        OutlineSegments(100, 5)(InferType()(IRModule(many)))
    assert not told.remarks


def test_a_function_that_calls_itself_is_left_alone() -> None:
    again = If(c, chain(20), Call(ITSELF, (chain(20), c)))
    mod = InferType()(IRModule({ITSELF: Function((x, c), again, VECTOR)}))
    assert OutlineSegments(10, 5)(mod) is mod


def test_a_small_share_of_the_module_is_left_alone() -> None:
    several = InferType()(
        IRModule({f"f{at}": main(chain(20))["main"] for at in range(9)})
    )
    assert OutlineSegments(10, 5)(several) is several


def test_a_function_of_another_ir_is_left_alone() -> None:
    mod = InferType()(main(chain(30)))
    i = tir.Var("i", "int32")
    mod["loop"] = loop = tir.PrimFunc((i,), tir.Evaluate(i))
    parts = OutlineSegments(10, 8)(mod)
    assert len(parts) > 3
    assert parts["loop"] is InlineSegments()(parts)["loop"] is loop


def test_segments_are_not_cut_again() -> None:
    parts = cut(main(chain(100)), 20)
    assert OutlineSegments(15, 5)(parts)["main_segment1"] is parts["main_segment1"]


def test_the_option_of_the_context_is_stronger() -> None:
    mod = InferType()(main(chain(30)))
    with PassContext(config={"relay.OutlineSegments.min_nodes": 1_000}):
        assert OutlineSegments(10, 5)(mod) is mod
    with PassContext(config={"relay.OutlineSegments.min_nodes": 10}):
        assert len(OutlineSegments(1_000, 5)(mod)) > 3


@pytest.mark.parametrize("nodes", [0, -1, True, "3"])
def test_numbers_of_nodes_are_positive(nodes: int) -> None:
    with pytest.raises(ArgumentError, match=r"^expected a number of nodes from 1 on"):
        OutlineSegments(nodes)
    with pytest.raises(ArgumentError, match=r"^expected a number of nodes from 1 on"):
        OutlineSegments(segment_nodes=nodes)


def test_what_was_fused_may_be_cut() -> None:
    body: Expr = x
    for _ in range(10):
        body = relay.nn.softmax(call_op("negative", body))
    fused = FuseOps(fuse_opt_level=2)(InferType()(main(body)))
    parts = cut(fused, 20)
    assert len(parts) > 3
    assert_structural_equal(InlineSegments()(parts), fused)


@pytest.mark.slow
def test_programs_may_be_deep() -> None:
    mod = InferType()(IRModule({"main": function_of(calls(DEPTH))}))
    parts = OutlineSegments()(mod)
    assert len(parts) > DEPTH // 400
    assert_structural_equal(InlineSegments()(parts), mod)
