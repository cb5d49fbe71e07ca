"""Each switch of `parpass.optimizations` does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parpass import IRModule, PassContext, relay
from parpass.ir.inference_cache import cache_inference
from parpass.runner import Runner, RunReport
from parpass.runner.cost_model import StartupAmortizer
from parpass.runner.ipc.module_store import ModuleStore
from parpass.runner.placement import Placement, PlacementPolicy
from parpass.runner.stage.interpreter import StageInterpreter
from parpass.transform import FunctionPass, Pass, PassInfo, adapter_of
from parpass.transform.budget import UNLIMITED
from parpass.transform.config import OPTIMIZATIONS
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.large import Doubled, weighted
from tests.support.runner.pooled import POOLED
from tests.support.toy.ir import ToyAdapter, program
from tests.support.toy.kinds import CountedProgram, CountingAdapter
from tests.support.toy.passes import Add, Keep


def context(**switches: Any) -> PassContext:
    return PassContext(config={**POOLED, OPTIMIZATIONS: switches})


def report(runner: Runner, passes: list[Pass], mod: Any, **switches: Any) -> RunReport:
    """Return the report of a run in the workers, after one that learned the costs."""
    for _ in range(2):
        runner.run_sync(mod, passes, context=context(**switches))
    assert runner.last_report is not None
    return runner.last_report


@pytest.fixture
def threads() -> Iterator[ThreadExecutor]:
    executor = ThreadExecutor()
    yield executor
    executor.close()


@pytest.fixture
def store() -> Iterator[ModuleStore]:
    store = ModuleStore(ToyAdapter())
    yield store
    store.close()


MOD = program(*range(40))


def test_without_stages_each_pass_goes_to_the_workers_alone(runner: Runner):
    passes: list[Pass] = [Add(1), Add(2), Add(3)]
    assert report(runner, passes, MOD).functions == 40
    assert report(runner, passes, MOD, stages=False).functions == 120


def test_without_small_work_all_goes_to_the_workers(threads: ThreadExecutor):
    def place(**switches: Any) -> Placement:
        given = PassContext(config={OPTIMIZATIONS: switches})
        functions = program(1).functions
        policy = PlacementPolicy(threads, ToyAdapter(), given, StartupAmortizer())
        return policy.choose([Add(1)], [UNLIMITED], functions).place

    assert place() is Placement.LOCAL
    assert place(local_small_stages=False) is Placement.REMOTE


def test_without_batches_each_function_is_packed_alone(runner: Runner):
    x = relay.var("x", shape=(2,))
    # More than go in a message: each of several jobs would have all of them.
    names = [f"f{at}" for at in range(1_000)]
    mod = IRModule({name: relay.Function((x,), relay.abs(x)) for name in names})
    passes: list[Pass] = [relay.transform.InferType()]
    together = report(runner, passes, mod)
    alone = report(runner, passes, mod, batches=False)
    # What else is sent, such as the variables of the program's modules.
    besides = report(runner, passes, IRModule({"f": mod["f0"]})).bytes_sent
    assert alone.bytes_sent - besides > 1.5 * (together.bytes_sent - besides)
    assert alone.bytes_received > 1.5 * together.bytes_received


def test_without_retained_bytes_functions_are_packed_for_each_stage(runner: Runner):
    def packed(**switches: Any) -> int:
        CountingAdapter.packed = 0
        mod = CountedProgram(MOD.functions)
        passes = [Add(1), Keep(), Add(2), Keep(), Add(3)]
        runner.run_sync(mod, passes, context=context(**switches))
        return CountingAdapter.packed

    assert packed() == 40
    assert packed(retained_bytes=False) == 120


def test_without_kept_signatures_a_callee_is_brought_as_far_to_tell_its_type():
    class Count(FunctionPass):
        pass_info = PassInfo(0, "Count")
        runs = 0

        def transform_function(
            self, func: relay.Function, mod: IRModule, ctx: PassContext
        ) -> relay.Function:
            Count.runs += 1
            return func

    def runs(**switches: Any) -> int:
        Count.runs = 0
        mod = relay.transform.InferType()(weighted(2))
        adapter = adapter_of(mod, "")
        names = list(mod.functions_by_name)
        passes = [Count(), Count()]
        work = StageInterpreter(
            passes, context(**switches), adapter, mod, names, mod.__getitem__
        )
        work.versions.signature("f1", 1)
        return Count.runs

    assert (runs(), runs(stable_signatures=False)) == (0, 1)


def test_values_travel_with_functions_below_the_bytes_that_are_large(runner: Runner):
    passes: list[Pass] = [Doubled()]
    mod = relay.transform.InferType()(weighted(3))
    outside = report(runner, passes, mod)
    inside = report(runner, passes, mod, large_value_bytes=10**9)
    # What else is sent, such as the levels of loggers, depends on the process.
    assert inside.bytes_sent - outside.bytes_sent > 2.9 * 40_000
    assert inside.bytes_received > 3 * 40_000 > outside.bytes_received


def test_without_remembered_analyses_types_are_inferred_again():
    x = relay.var("x", shape=(2,))
    function = relay.Function((x,), relay.abs(x))
    cache_inference(function, None, nodes=3)  # which is wrong: it has no types
    mod = IRModule({"f": function})
    assert relay.transform.InferType()(mod)["f"] is function
    with context(cached_analyses=False):
        assert relay.transform.InferType()(mod)["f"].checked_type is not None
