"""What watches, limits and takes apart pipelines does so for PrimFuncs as for Relay."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from parpass import IRModule, relay, tir
from parpass.cli.options import listing
from parpass.errors import (
    ContractError,
    FunctionTimeoutError,
    IRError,
    MemoryLimitError,
    WellFormedError,
    WorkerDiedError,
)
from parpass.instrument import (
    PassStatisticsInstrument,
    PassTimingInstrument,
    WellFormedInstrument,
    pass_instrument,
)
from parpass.ir.structural import assert_structural_equal
from parpass.relay.transform import FoldConstant, InferType
from parpass.runner import Runner, run_pipeline_sync
from parpass.tir.transform import RemoveNoOp, UnrollLoop, prim_func_pass
from parpass.transform import (
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    parse_pipeline,
    print_pipeline,
    register_pass,
)
from tests.support.runner.pooled import POOLED

Run = Callable[[Pass, IRModule, dict[str, Any]], Any]


@pytest.fixture(params=["serial", "parallel"])
def run(request: pytest.FixtureRequest, runner: Runner) -> Run:
    """Give a function that runs a pass under settings, in process or by workers."""

    def serial(root: Pass, mod: IRModule, settings: dict[str, Any]) -> Any:
        with PassContext(**settings):
            return root(mod)

    def parallel(root: Pass, mod: IRModule, settings: dict[str, Any]) -> Any:
        config = {**settings.get("config", {}), **POOLED}
        others = {key: one for key, one in settings.items() if key != "config"}
        context = PassContext(config=config, **others)
        return runner.run_sync(mod, root, context=context)

    return serial if request.param == "serial" else parallel


def loops(count: int = 2) -> tir.PrimFunc:
    i, buffer = tir.Var("i"), tir.decl_buffer((8,), "int32", "A")
    stored = tir.BufferStore(buffer, tir.BufferLoad(buffer, [i]) + 1, [i])
    loop = tir.For(i, 0, count, tir.ForKind.UNROLLED, stored)
    return tir.PrimFunc((buffer,), tir.SeqStmt([tir.Evaluate(0), loop]))


def module() -> IRModule:
    x = relay.Var("x", relay.TensorType((2,)))
    folded = relay.add(relay.const(1.0), relay.const(2.0))
    return IRModule(
        {
            "main": relay.Function((x,), relay.add(x, folded)),
            "loops": loops(),
            "more": loops(3),
        }
    )


@prim_func_pass(opt_level=0)
def mark(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    return func.with_attr("seen", 1 + func.attributes.get("seen", 0))


@prim_func_pass(opt_level=0)
def fail_on_more(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    if ctx.function_name == "more":
        raise IRError("this one is too much")
    return func


@prim_func_pass(opt_level=0)
def linger(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        pass
    return func


@prim_func_pass(opt_level=0)
def die_on_more(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    if ctx.function_name == "more":
        os.kill(os.getpid(), signal.SIGKILL)
    return func


@prim_func_pass(opt_level=0)
def eat_on_more(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    if ctx.function_name == "more":
        return func.with_attr("size", len(bytearray(1 << 30)))
    return func


@prim_func_pass(opt_level=0)
def unbind(func: Any, mod: IRModule, ctx: PassContext) -> Any:
    return func.with_body(tir.Evaluate(tir.Var("lost")))


@register_pass("tir.transform.NeedsUnrolled")
@prim_func_pass(opt_level=0, required=["UnrollLoop"])
class NeedsUnrolled:
    """Refuses loops that are to be unrolled."""

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        found: list[Any] = []
        tir.stmt_functor.post_order_visit(func.body, found.append)
        assert not any(isinstance(one, tir.For) for one in found)
        return func


BOTH: list[Pass | None] = [InferType(), UnrollLoop(), FoldConstant(), RemoveNoOp()]


def test_hooks_are_called_for_passes_of_both_kinds(run: Run):
    seen: list[str] = []

    @pass_instrument
    class Watch:
        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            seen.append(f"before {info.name}")

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            kinds = [type(f).__name__ for f in mod.functions_by_name.values()]
            assert kinds == ["Function", "PrimFunc", "PrimFunc"]
            seen.append(f"after {info.name}")

    run(Sequential([UnrollLoop(), mark]), module(), {"instruments": [Watch()]})
    assert seen == [
        *("before sequential", "before tir.UnrollLoop", "after tir.UnrollLoop"),
        *("before mark", "after mark", "after sequential"),
    ]


def test_times_and_statistics_are_told_by_pass(run: Run):
    timing, statistics = PassTimingInstrument(), PassStatisticsInstrument()
    settings = {"instruments": [timing, statistics]}
    run(Sequential([UnrollLoop(), FoldConstant()]), module(), settings)
    assert "tir.UnrollLoop" in timing.render()


def test_a_pass_is_skipped_that_is_disabled_or_above_the_level(run: Run):
    mod = module()
    off = run(Sequential([UnrollLoop()]), mod, {"disabled_pass": ["tir.UnrollLoop"]})
    assert off["loops"] is mod["loops"]
    high = prim_func_pass(mark.pass_func, opt_level=3)
    assert "seen" not in run(Sequential([high]), mod, {})["loops"].attributes
    found = run(Sequential([high]), mod, {"opt_level": 3})["loops"].attributes
    assert found["seen"] == 1


def test_required_passes_run_before(run: Run):
    run(Sequential([NeedsUnrolled()]), module(), {})


def test_the_well_formedness_check_asks_both_irs(run: Run):
    settings = {"instruments": [WellFormedInstrument()]}
    run(Sequential(BOTH), module(), settings)
    with pytest.raises(WellFormedError, match="'lost' is used, but declared nowhere"):
        run(unbind, module(), {"instruments": [WellFormedInstrument()]})


def test_pass_and_function_are_blamed_for_an_error(run: Run):
    with pytest.raises(IRError) as caught:
        run(Sequential([mark, fail_on_more]), module(), {})
    assert caught.value.__notes__ == ["in pass 'fail_on_more', on function 'more'"]


def test_a_pass_that_takes_too_long_is_ended(run: Run):
    config = {"parpass.function_timeout": 0.02}
    with pytest.raises(FunctionTimeoutError, match="'linger' on function 'loops'"):
        run(Sequential([linger]), module(), {"config": config})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "error", "message"),
    [
        (die_on_more, WorkerDiedError, "SIGKILL"),
        (eat_on_more, MemoryLimitError, "memory_limit of 200,000,000"),
    ],
)
def test_a_pass_that_ends_its_worker_is_named_with_the_function(
    runner: Runner, ending: Pass, error: type[Exception], message: str
):
    def after(on_failure: str) -> Any:
        context = PassContext(config=POOLED)
        settings: Any = {"memory_limit": 200_000_000, "on_failure": on_failure}
        root = Sequential([ending, mark])
        return runner.run_sync(module(), root, context=context, **settings)

    with pytest.raises(error, match=message) as caught:
        after("fail")
    where = f"in pass '{ending.info.name}', on function 'more'"
    assert where in caught.value.__notes__
    seen = {n: after("skip")[n].attributes["seen"] for n in ("loops", "more")}
    assert seen == {"loops": 1, "more": 1}


def test_functions_that_a_pass_fails_on_may_be_left_as_they_are(run: Run):
    config = {"parpass.on_failure": "skip"}
    after = run(Sequential([fail_on_more, mark]), module(), {"config": config})
    assert after["more"].attributes["seen"] == 1


def test_bisection_counts_and_leaves_out_pairs_of_pass_and_function(
    run: Run, capfd: pytest.CaptureFixture[str]
):
    config = {"parpass.opt_bisect_limit": 5}  # all functions are counted for a pass
    after = run(Sequential([mark, mark]), module(), {"config": config})
    seen = {n: after[n].attributes["seen"] for n in ("loops", "more")}
    assert seen == {"loops": 2, "more": 1}
    lines = capfd.readouterr().err.splitlines()
    assert lines[5] == "BISECT: NOT running pass (6) mark on function (more)"


@pytest.mark.slow
def test_the_contract_is_checked(run: Run):
    config = {"parpass.check_contract": True}
    run(Sequential([UnrollLoop(), RemoveNoOp()]), module(), {"config": config})


@pytest.mark.slow
def test_a_pass_that_gives_another_result_each_time_breaks_the_contract():
    @prim_func_pass(opt_level=0)
    def differ(func: Any, mod: IRModule, ctx: PassContext) -> Any:
        return func.with_attr("at", time.perf_counter_ns())

    context = PassContext(config={"parpass.check_contract": True})
    with pytest.raises(ContractError, match="'differ'"):
        run_pipeline_sync(module(), differ, context=context, workers=2)


def test_pipelines_have_a_text():
    text = "InferType,UnrollLoop,VectorizeLoop{enable_vectorize=false},FoldConstant"
    pipeline = parse_pipeline(text)
    assert print_pipeline(pipeline) == text
    after: Any = pipeline(module())
    assert len(after["more"].body[1].seq) == 3


def test_passes_are_listed_with_what_they_do():
    listed = listing.list_passes()
    assert "Unroll short loops, and loops that are marked" in listed
    assert "enable_vectorize" in listing.help_pass("VectorizeLoop")


def test_one_stage_has_passes_of_both_kinds(runner: Runner):
    mod = module()
    serial = Sequential(BOTH)(mod)
    parallel = runner.run_sync(
        mod, Sequential(BOTH), context=PassContext(config=POOLED)
    )
    assert_structural_equal(parallel, serial, map_free_vars=False)
    assert runner.last_report is not None
    assert runner.last_report.stages == 1
