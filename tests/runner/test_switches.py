"""Each switch of `parpass.optimizations` does what it says."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from parpass import IRModule, PassContext, relay
from parpass.ir.ledger import Typed, remember_typed
from parpass.runner import Runner, RunReport
from parpass.runner.placing.forecasts import Ledger, Place, best_place
from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.pool.schedule import FunctionsReady
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.retained import Held, Retainer
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import (
    FunctionPass,
    Optimizations,
    Pass,
    PassInfo,
    adapter_of,
    register_adapter,
)
from parpass.transform.adapter import KeepOutside, Source
from parpass.transform.budget import UNLIMITED
from parpass.transform.optimizations import OPTIMIZATIONS
from tests.support.executors import ThreadExecutor
from tests.support.large import Doubled, weighted
from tests.support.pooled import POOLED
from tests.support.toy_ir import Fn, Program, ToyAdapter, program
from tests.support.toy_passes import Add, Keep


def context(**switches: Any) -> PassContext:
    return PassContext(config={**POOLED, OPTIMIZATIONS: switches})


def report(runner: Runner, passes: list[Pass], mod: Any, **switches: Any) -> RunReport:
    """Return the report of a run in the workers, after one that learned the costs."""
    for _ in range(2):
        runner.run_sync(mod, passes, context=context(**switches))
    assert runner.last_report is not None
    return runner.last_report


@pytest.fixture
def executor() -> Iterator[ThreadExecutor]:
    executor = ThreadExecutor()
    yield executor
    executor.close()


@pytest.fixture
def retainer() -> Iterator[Retainer]:
    retainer = Retainer(ToyAdapter())
    yield retainer
    retainer.close()


MOD = program(*range(40))


def pooled_stage(
    retainer: Retainer, passes: list[Pass], **switches: Any
) -> PooledStage:
    snapshot = Snapshot.take(context(**switches))
    held = retainer.hold(MOD)
    outcomes = StageOutcomes(list(held.held), len(passes))
    stage = PooledStage(
        passes, held, snapshot, retainer, outcomes, wanted=True, is_last=True
    )
    stage.publish_spec()
    return stage


def test_without_stages_each_pass_goes_to_the_workers_alone(runner: Runner):
    passes: list[Pass] = [Add(1), Add(2), Add(3)]
    assert report(runner, passes, MOD).functions == 40
    assert report(runner, passes, MOD, stages=False).functions == 120


def test_without_small_work_all_goes_to_the_workers(executor: ThreadExecutor):
    def place(**switches: Any) -> Place:
        given = PassContext(config={OPTIMIZATIONS: switches})
        functions = program(1).functions
        args = (given, executor, ToyAdapter(), Ledger())
        return best_place([Add(1)], [UNLIMITED], functions, *args).place

    assert place() is Place.HERE
    assert place(small_work=False) is Place.WORKERS


def test_without_remembered_costs_nothing_is_forecast(
    runner: Runner, retainer: Retainer
):
    passes: list[Pass] = [Add(1)]
    report(runner, passes, MOD)
    assert pooled_stage(retainer, passes).pace() is not None
    assert pooled_stage(retainer, passes, remembered_costs=False).pace() is None


def test_without_sized_jobs_each_function_is_one(runner: Runner):
    assert report(runner, [Add(1)], MOD).jobs < 40
    assert report(runner, [Add(1)], MOD, sized_jobs=False).jobs == 40


def test_without_the_largest_first_all_functions_weigh_the_same(retainer: Retainer):
    def weights(**switches: Any) -> set[int]:
        ready = pooled_stage(retainer, [Add(1)], overlap=False, **switches).pack_some()
        assert isinstance(ready, FunctionsReady)
        return set(ready.weights)

    assert min(weights()) > 1
    assert weights(largest_first=False) == {1}


def test_without_bundles_each_function_is_packed_alone(runner: Runner):
    x = relay.var("x", shape=(2,))
    # So many that what else is sent, such as what a program has registered, is little.
    mod = IRModule({f"f{at}": relay.Function((x,), relay.abs(x)) for at in range(200)})
    passes: list[Pass] = [relay.transform.InferType()]
    together = report(runner, passes, mod)
    alone = report(runner, passes, mod, bundles=False)
    assert alone.bytes_sent > 1.5 * together.bytes_sent
    assert alone.bytes_received > 1.5 * together.bytes_received


def test_without_overlap_all_is_packed_first_and_unpacked_last(retainer: Retainer):
    stage = pooled_stage(retainer, [Add(1)], overlap=False)
    ready = stage.pack_some()
    assert isinstance(ready, FunctionsReady)
    assert len(ready.functions) == len(MOD.functions)
    assert not stage.wanted


class CountedProgram(Program):
    """A module of which it is counted how often a function is packed here."""


class CountingAdapter(ToyAdapter):
    """Counts, in each process for itself."""

    packed = 0

    def encode_function(self, function: Fn, keep_outside: KeepOutside) -> bytes:
        CountingAdapter.packed += 1
        return super().encode_function(function, keep_outside)


register_adapter(CountedProgram, CountingAdapter())


def test_without_retained_bytes_functions_are_packed_for_each_stage(runner: Runner):
    def packed(**switches: Any) -> int:
        CountingAdapter.packed = 0
        mod = CountedProgram(MOD.functions)
        passes = [Add(1), Keep(), Add(2), Keep(), Add(3)]
        runner.run_sync(mod, passes, context=context(**switches))
        return CountingAdapter.packed

    assert packed() == 40
    assert packed(retained_bytes=False) == 120


def test_without_unchanged_marks_all_is_sent_back(runner: Runner):
    large = program(large=Fn(tuple(range(5_000))))
    marks = report(runner, [Add(0)], large)
    assert marks.bytes_received < 2_000
    assert report(runner, [Add(0)], large, unchanged_marks=False).bytes_received > 5_000


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
        work = StageWork(
            passes, context(**switches), adapter, mod, names, mod.__getitem__
        )
        work.signature("f1", 1)
        return Count.runs

    assert (runs(), runs(kept_signatures=False)) == (0, 1)


def test_values_travel_with_functions_below_the_bytes_that_are_large(runner: Runner):
    passes: list[Pass] = [Doubled()]
    mod = relay.transform.InferType()(weighted(3))
    outside = report(runner, passes, mod)
    inside = report(runner, passes, mod, large_value_bytes=10**9)
    assert outside.bytes_sent < 40_000
    assert inside.bytes_sent > 3 * 40_000
    assert inside.bytes_received > 3 * 40_000 > outside.bytes_received


@pytest.mark.parametrize("on_demand", [True, False])
def test_without_demand_values_are_written_down_at_once(on_demand: bool):
    switches = Optimizations(values_on_demand=on_demand)
    mod = weighted(1)
    retainer = Retainer(adapter_of(mod, ""), switches)
    retainer.packed(retainer.hold(mod).held["f0"], retainer.packer())
    retainer.values.writer  # noqa: B018 -- so that there is a file in either case
    path = f"{retainer.folder.path}/values-coordinator"
    with open(path, "rb") as file:
        assert any(file.read()) is not on_demand
    retainer.close()


def test_without_remembered_analyses_types_are_inferred_again():
    x = relay.var("x", shape=(2,))
    function = relay.Function((x,), relay.abs(x))
    remember_typed(function, Typed({}, nodes=3))  # which is wrong: it has no types
    mod = IRModule({"f": function})
    assert relay.transform.InferType()(mod)["f"] is function
    with context(remembered_analyses=False):
        assert relay.transform.InferType()(mod)["f"].checked_type is not None


class Works(FunctionPass):
    """Counts the functions on which the garbage collector works."""

    pass_info = PassInfo(0, "Works")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        ctx.count("works", int(gc.isenabled()))
        return func


class Watched(ToyAdapter):
    """Takes down whether the garbage collector works while it packs and unpacks."""

    def __init__(self) -> None:
        self.works: list[bool] = []

    def encode_function(self, function: Fn, keep_outside: KeepOutside) -> bytes:
        self.works.append(gc.isenabled())
        return super().encode_function(function, keep_outside)

    def decode_function(
        self, encoded: bytes | memoryview, outside: Sequence[Source], mod: Program
    ) -> Fn:
        self.works.append(gc.isenabled())
        return super().decode_function(encoded, outside, mod)


@pytest.mark.parametrize("rests", [True, False])
def test_without_its_rest_the_collector_works_in_workers_and_here(
    runner: Runner, rests: bool
):
    given = context(resting_collector=rests)
    runner.run_sync(MOD, Works(), context=given)
    assert given.statistics["Works"]["works"] == (0 if rests else 40)
    adapter = Watched()
    retainer = Retainer(adapter, Optimizations(resting_collector=rests))
    held = Held(Fn((1,)))
    packer = retainer.packer()
    packed = retainer.packed(held, packer)
    packer.close()
    retainer.function(Held(packed=packed), MOD)
    retainer.close()
    assert adapter.works == [not rests, not rests]
    assert gc.isenabled()
