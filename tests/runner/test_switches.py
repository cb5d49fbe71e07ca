"""Each switch of `parpass.optimizations` does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parpass import IRModule, PassContext, relay
from parpass.ir.ledger import LedgerEntry, enter_in_ledger
from parpass.runner import Runner, RunReport
from parpass.runner.placing.forecasts import Ledger, Place, best_place
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.retained import Retainer
from parpass.transform import (
    FunctionPass,
    KeepOutside,
    Pass,
    PassInfo,
    adapter_of,
    register_adapter,
)
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


def test_without_bundles_each_function_is_packed_alone(runner: Runner):
    x = relay.var("x", shape=(2,))
    # So many that what else is sent, such as what a program has registered, is little.
    mod = IRModule({f"f{at}": relay.Function((x,), relay.abs(x)) for at in range(200)})
    passes: list[Pass] = [relay.transform.InferType()]
    together = report(runner, passes, mod)
    alone = report(runner, passes, mod, bundles=False)
    assert alone.bytes_sent > 1.5 * together.bytes_sent
    assert alone.bytes_received > 1.5 * together.bytes_received


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


def test_without_remembered_analyses_types_are_inferred_again():
    x = relay.var("x", shape=(2,))
    function = relay.Function((x,), relay.abs(x))
    enter_in_ledger(
        function, LedgerEntry({}, nodes=3)
    )  # which is wrong: it has no types
    mod = IRModule({"f": function})
    assert relay.transform.InferType()(mod)["f"] is function
    with context(remembered_analyses=False):
        assert relay.transform.InferType()(mod)["f"].checked_type is not None
