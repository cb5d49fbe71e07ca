"""AnnotateTarget, MergeCompilerRegions and PartitionGraph, which follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given

from parpass import relay
from parpass.function_registry import register_func, remove_global_func
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_registration import TempOpAttr
from parpass.ir.structural import assert_structural_equal
from parpass.relay.analysis.annotated_regions import RegionError, is_call_of
from parpass.relay.expr import Call, Expr, Function, Tuple, TupleGetItem, const
from parpass.relay.op.annotation import compiler_begin, compiler_end
from parpass.relay.transform import (
    AnnotateTarget,
    FoldConstant,
    InferType,
    MergeCompilerRegions,
    PartitionGraph,
)
from parpass.runner import Runner
from parpass.transform import Pass, Sequential
from tests.support.docs import shows
from tests.support.drawn import HIGHER_ORDER
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial
from tests.support.profiles import examples

pytestmark = pytest.mark.hunt  # properties are inside of tests

X = relay.var("x", shape=(10, 10))
ABS = "target.test"


@pytest.fixture
def supported() -> Iterator[None]:
    """Let compiler `test` support `abs` and `nn.relu`."""
    with TempOpAttr("abs", ABS, _always), TempOpAttr("nn.relu", ABS, _always):
        yield


def _always(_call: Expr) -> bool:
    return True


def _never(_call: Expr) -> bool:
    return False


def main(body: Expr, *params: relay.Var) -> IRModule:
    return IRModule({"main": Function(params or (X,), body)})


def begin(value: Expr, compiler: str = "test") -> Expr:
    return compiler_begin(value, compiler)


def end(value: Expr, compiler: str = "test") -> Expr:
    return compiler_end(value, compiler)


def other_begin(value: Expr) -> Expr:
    return compiler_begin(value, "default")


def other_end(value: Expr) -> Expr:
    return compiler_end(value, "default")


def assert_becomes(a_pass: Pass, before: Expr, after: Expr) -> None:
    assert_structural_equal(a_pass(main(before)), InferType()(main(after)))


@pytest.mark.usefixtures("supported")
def test_each_use_has_marks_of_its_own() -> None:
    shared = relay.nn.relu(X)
    relu = relay.nn.relu(begin(X))
    tanhs = [other_end(relay.tanh(other_begin(end(relu)))) for _ in range(2)]
    after = other_end(relay.add(*map(other_begin, tanhs)))
    before = relay.add(relay.tanh(shared), relay.tanh(shared))
    assert_becomes(AnnotateTarget("test"), before, after)


@pytest.mark.usefixtures("supported")
def test_tuples_go_to_the_compiler_of_all_their_fields() -> None:
    field = relay.abs(begin(X))
    after = TupleGetItem(begin(end(Tuple((begin(end(field)),)))), 0)
    before = TupleGetItem(Tuple((relay.abs(X),)), 0)
    assert_becomes(AnnotateTarget("test"), before, end(after))


@pytest.mark.usefixtures("supported")
def test_calls_alone_are_marked_where_it_is_asked_for() -> None:
    after = Tuple((end(relay.abs(begin(X))), X))
    a_pass = AnnotateTarget("test", include_non_call_ops=False)
    assert_becomes(a_pass, Tuple((relay.abs(X), X)), after)


def test_composite_functions_go_to_the_compiler_that_they_name() -> None:
    inner = relay.var("y", shape=(10, 10))
    composite = Function((inner,), relay.abs(inner), attrs={"Composite": "test.abs"})
    after = end(Call(composite, (begin(X),)))
    assert_becomes(AnnotateTarget("test"), Call(composite, (X,)), after)


@pytest.mark.usefixtures("supported")
def test_a_second_run_marks_what_no_compiler_took() -> None:
    with TempOpAttr("add", "target.other", _always):
        before = main(relay.add(relay.abs(X), relay.tanh(X)))
        twice = AnnotateTarget("other")(AnnotateTarget("test")(before))
        assert_structural_equal(AnnotateTarget(["test", "other"])(before), twice)


def test_a_rule_sees_calls_with_types() -> None:
    seen: list[object] = []

    def rule(call: Expr) -> bool:
        seen.append(call.checked_type)
        return False

    with TempOpAttr("abs", ABS, rule):
        AnnotateTarget("test")(main(relay.abs(relay.abs(X))))
    assert seen == [X.type_annotation] * 2


def test_a_diamond_is_not_merged_around_another_compiler() -> None:
    def program(link: Callable[[Expr], Expr], first: Expr) -> Expr:
        outside = relay.tanh(other_begin(end(first)))
        one = end(relay.nn.relu(link(first)))
        last = end(relay.add(begin(one), begin(other_end(outside))))
        return other_end(relay.add(other_begin(last), other_begin(other_end(outside))))

    before = program(lambda value: begin(end(value)), relay.abs(begin(X)))
    after = program(lambda value: value, relay.abs(begin(X)))
    merged = MergeCompilerRegions()(main(before))
    assert _count(merged, "compiler_begin") == _count(main(after), "compiler_begin")
    assert_keeps_meaning(PartitionGraph(), merged)
    assert len(PartitionGraph()(merged)) == 3


def _count(mod: IRModule, name: str) -> int:
    nodes = [node for node in post_order(mod["main"]) if isinstance(node, Expr)]
    return sum(is_call_of(node, f"annotation.{name}") for node in nodes)


def test_results_of_a_region_are_fields_of_a_tuple() -> None:
    both = relay.abs(begin(X))
    twice = end(relay.exp(both)), end(both), end(both)
    parted = PartitionGraph()(main(Tuple(twice)))
    [function] = [f for name, f in parted.functions_by_name.items() if name != "main"]
    assert isinstance(function.body, Tuple)
    assert len(function.body.fields) == 2
    assert dict(function.attrs or {}) == {
        "Compiler": "test",
        "Inline": 1,
        "Primitive": 1,
        "global_symbol": "tvmgen_default_test_main_0",
    }


@pytest.mark.parametrize("bind", [True, False])
def test_constants_go_into_the_function_unless_told_not_to(bind: bool) -> None:
    body = end(relay.add(begin(X), begin(const(1.0))))
    parted = PartitionGraph(bind_constants=bind)(main(body))
    assert len(parted["tvmgen_default_test_main_0"].params) == (1 if bind else 2)


def test_names_say_module_compiler_and_function() -> None:
    parted = PartitionGraph(mod_name="m")(main(end(relay.abs(begin(X)))))
    assert list(parted.functions_by_name) == ["main", "tvmgen_m_test_main_0"]


def test_names_are_made_of_what_symbols_may_have_and_differ() -> None:
    body = end(relay.abs(begin(X, "a-b+")), "a-b+")
    one, two = (Function((X,), body) for _ in range(2))
    parted = PartitionGraph()(IRModule({"f.x": one, "f_x": two}))
    names = [var.name_hint for var in parted.get_global_vars()]
    first = "tvmgen_default_a_b__f_x_0"
    assert sorted(names) == ["f.x", "f_x", first, f"{first}_"]
    for name in (first, f"{first}_"):
        assert (parted[name].attrs or {})["global_symbol"] == name
    assert_keeps_meaning(PartitionGraph(), IRModule({"f.x": one, "f_x": two}))


def test_the_fields_of_a_tuple_leave_a_region_one_by_one() -> None:
    into = begin(X)
    one, two, three = relay.abs(into), relay.exp(into), relay.nn.relu(into)
    whole = end(Tuple((one, Tuple((two, one)))))
    mod = main(Tuple((whole, end(three))))
    function = PartitionGraph()(mod)["tvmgen_default_test_main_0"]
    assert isinstance(function.body, Tuple)
    assert len(function.body.fields) == 3
    assert_keeps_meaning(PartitionGraph(), mod)


@pytest.mark.usefixtures("supported")
@pytest.mark.parametrize("include_non_call_ops", [True, False])
def test_an_empty_tuple_has_no_marks(include_non_call_ops: bool) -> None:
    a_pass = AnnotateTarget("test", include_non_call_ops)
    mod = InferType()(main(Tuple(())))
    assert_structural_equal(a_pass(mod), mod)


def test_what_no_region_has_a_part_in_keeps_none_from_being_merged() -> None:
    outside = relay.add(X, X)
    log, exp = end(relay.log(begin(outside))), end(relay.exp(begin(outside)))
    body = end(relay.multiply(begin(log), begin(exp)))
    merged = MergeCompilerRegions()(main(body))
    assert len(PartitionGraph()(merged)) == 2
    assert_keeps_meaning(MergeCompilerRegions(), main(body))


def test_a_module_without_marks_is_unchanged() -> None:
    mod = InferType()(main(relay.abs(X)))
    assert PartitionGraph()(mod)["main"] is mod["main"]


@pytest.mark.timeout(10)
def test_a_region_that_needs_its_own_result_is_an_error() -> None:
    first = relay.abs(begin(X))
    outside = relay.tanh(end(first))
    inside = end(relay.add(first, begin(outside)))
    # The way from the region to itself may begin in it, or outside.
    for body in (inside, Tuple((inside, outside)), Tuple((outside, inside))):
        with pytest.raises(
            RegionError, match=r"^a region of compiler 'test' needs its own"
        ):
            PartitionGraph()(main(body))


def test_a_node_in_two_regions_is_an_error() -> None:
    body = end(relay.add(begin(X), begin(X, "other")))
    with pytest.raises(RegionError, match=r"^expected arguments in one region, got"):
        PartitionGraph()(main(body))


def test_a_region_ended_for_another_compiler_is_an_error() -> None:
    body = end(relay.abs(begin(X)), "other")
    with pytest.raises(RegionError, match=r"^expected compiler_end of 'test'"):
        PartitionGraph()(main(body))


@pytest.mark.usefixtures("supported")
def test_the_documented_programs() -> None:
    with TempOpAttr("abs", ABS, _never):
        before = main(relay.abs(relay.nn.relu(X)))
        assert shows(AnnotateTarget, before, AnnotateTarget("test")(before))
    before = main(end(relay.nn.relu(begin(end(relay.abs(begin(X)))))))
    assert shows(MergeCompilerRegions, before, MergeCompilerRegions()(before))
    before = main(relay.nn.relu(end(relay.abs(begin(X)))))
    assert shows(PartitionGraph, before, PartitionGraph()(before))


def whole(include_non_call_ops: bool) -> Pass:
    annotate = AnnotateTarget(["one", "two"], include_non_call_ops)
    return Sequential([annotate, MergeCompilerRegions(), PartitionGraph()])


@pytest.fixture
def two_compilers() -> Iterator[None]:
    """Let two compilers share what generated programs are made of."""
    rules = {"add": "one", "abs": "one", "negative": "two", "multiply": "two"}
    attrs = [TempOpAttr(op, f"target.{rules[op]}", _always) for op in rules]
    for attr in attrs:
        attr.__enter__()
    yield
    for attr in attrs:
        attr.__exit__()


@pytest.mark.slow
@pytest.mark.usefixtures("two_compilers")
@pytest.mark.parametrize("include_non_call_ops", [True, False])
def test_partitioning_keeps_the_meaning(include_non_call_ops: bool) -> None:
    @given(mod=HIGHER_ORDER)
    @examples(0.35)
    def law(mod: IRModule) -> None:
        assert_keeps_meaning(whole(include_non_call_ops), mod)

    law()


@pytest.mark.slow
@pytest.mark.usefixtures("two_compilers")
def test_rules_travel_to_the_workers(runner: Runner) -> None:
    body = relay.add(relay.abs(X), relay.tanh(-X))
    mod = IRModule({f"f{at}": Function((X,), body) for at in range(8)})
    assert_parallel_is_serial(runner, whole(include_non_call_ops=True), mod)


@pytest.mark.slow
@pytest.mark.usefixtures("supported")
def test_a_long_program_becomes_one_region() -> None:
    body: Expr = X
    for _ in range(4_000):
        body = relay.abs(body)
    marked = AnnotateTarget("test")(main(body))
    parted = PartitionGraph()(MergeCompilerRegions()(marked))
    assert len(parted) == 2


def test_regions_that_a_variable_joins_do_not_close_a_circle() -> None:
    shared, bound = relay.negative(X), relay.var("bound")
    body = relay.add(relay.exp(bound), shared)
    program = relay.Let(bound, relay.negative(shared), body)
    mod = IRModule({"main": relay.Function((X,), program)})
    passes = [AnnotateTarget("t"), MergeCompilerRegions(), PartitionGraph()]
    with (
        TempOpAttr("negative", "target.t", _always),
        TempOpAttr("add", "target.t", _always),
        TempOpAttr("exp", "target.t", _always),
    ):
        assert_keeps_meaning(Sequential(passes), mod)


@pytest.mark.usefixtures("supported")
def test_what_makes_and_uses_references_is_marked_default() -> None:
    def program(enter: Callable[[Expr], Expr], leave: Callable[[Expr], Expr]) -> Expr:
        made = relay.RefCreate(enter(const(1.0)))
        read = relay.RefRead(enter(leave(made)))
        relu = end(relay.nn.relu(begin(leave(read))))
        return leave(relay.RefWrite(enter(leave(made)), enter(relu)))

    def same(value: Expr) -> Expr:
        return value

    made = relay.RefCreate(const(1.0))
    before = main(relay.RefWrite(made, relay.nn.relu(relay.RefRead(made))))
    marked = InferType()(main(program(other_begin, other_end)))
    assert_structural_equal(AnnotateTarget("test")(before), marked)
    calls_only = InferType()(main(program(same, same)))
    only = AnnotateTarget("test", include_non_call_ops=False)
    assert_structural_equal(only(before), calls_only)


def test_a_compilers_own_passes_run_on_each_of_its_functions() -> None:
    seen: list[IRModule] = []

    def optimize(mod: IRModule) -> IRModule:
        seen.append(mod)
        return FoldConstant()(mod)

    twice = relay.add(begin(const(1.0), "folding"), begin(const(1.0), "folding"))
    mod = main(relay.multiply(X, end(twice, "folding")))
    register_func("relay.ext.folding.optimize", optimize)
    try:
        after = assert_keeps_meaning(PartitionGraph(), mod)
    finally:
        remove_global_func("relay.ext.folding.optimize")
    function = after["tvmgen_default_folding_main_0"]
    assert isinstance(function.body, relay.Constant)
    assert function.attributes["Compiler"] == "folding"
    assert seen[0]["main"].checked_type == relay.FuncType(
        [], relay.scalar_type("float32")
    )
