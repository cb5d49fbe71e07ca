"""AnnotateTarget, MergeCompilerRegions and PartitionGraph, which follow each other.

Their cases are in text; here are rules, workers, meaning, and a compiler's own passes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given

from parpass import relay
from parpass.function_registry import register_func, remove_global_func
from parpass.ir.module import IRModule
from parpass.ir.op_registration import TempOpAttr
from parpass.relay.expr import Expr, Function, const
from parpass.relay.op.annotation import compiler_begin, compiler_end
from parpass.relay.transform import (
    AnnotateTarget,
    FoldConstant,
    MergeCompilerRegions,
    PartitionGraph,
)
from parpass.runner import Runner
from parpass.transform import Pass, Sequential
from tests.support.drawn import HIGHER_ORDER
from tests.support.meaning import assert_keeps_meaning, assert_parallel_is_serial
from tests.support.profiles import examples

pytestmark = pytest.mark.hunt  # properties are inside of tests

X = relay.var("x", shape=(10, 10))
ABS = "target.test"


def _always(_call: Expr) -> bool:
    return True


def main(body: Expr) -> IRModule:
    return IRModule({"main": Function((X,), body)})


def test_a_rule_sees_calls_with_types() -> None:
    seen: list[object] = []

    def rule(call: Expr) -> bool:
        seen.append(call.checked_type)
        return False

    with TempOpAttr("abs", ABS, rule):
        AnnotateTarget("test")(main(relay.abs(relay.abs(X))))
    assert seen == [X.type_annotation] * 2


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
def test_a_long_program_becomes_one_region() -> None:
    body: Expr = X
    for _ in range(4_000):
        body = relay.abs(body)
    with TempOpAttr("abs", ABS, _always):
        marked = AnnotateTarget("test")(main(body))
    parted = PartitionGraph()(MergeCompilerRegions()(marked))
    assert len(parted) == 2


def test_a_compilers_own_passes_run_on_each_of_its_functions() -> None:
    seen: list[IRModule] = []

    def optimize(mod: IRModule) -> IRModule:
        seen.append(mod)
        return FoldConstant()(mod)

    one = compiler_begin(const(1.0), "folding")
    other = compiler_begin(const(1.0), "folding")
    twice = compiler_end(relay.add(one, other), "folding")
    mod = main(relay.multiply(X, twice))
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
