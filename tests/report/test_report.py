"""The metrics of a run: shares add up, and each kind of problem is reported.

Times are never held against the clock: what is asked is which parts there are, whether
they add up, and which advice follows from given times.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from msgspec.structs import replace

from parpass.errors import UnpicklablePassWarning
from parpass.runner import (
    FunctionCache,
    Runner,
    RunReport,
    open_runner,
    run_pipeline_sync,
)
from parpass.transform import ModulePass, PassContext, PassInfo, Sequential
from tests.support.runner.pooled import HERE, pooled, run_pooled, settled_processes
from tests.support.toy.hard_passes import Locked
from tests.support.toy.ir import Fn, Program, program
from tests.support.toy.passes import Add, AddFrom, FailOn, Keep
from tests.support.watching import Blind, Log

WAIT_SECONDS = 0.01


class Spin(Add):
    """Computes for each number of a function, as many steps as that says."""

    pass_info = PassInfo(0, "Spin")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        sum(range(sum(func.values)))
        return super().transform_function(func, mod, ctx)


class Waiting(Add):
    """Waits for something, and needs no core for that."""

    pass_info = PassInfo(0, "Waiting")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        threading.Event().wait(WAIT_SECONDS)
        return super().transform_function(func, mod, ctx)


class SpinWhole(ModulePass):
    """Computes, and keeps the module."""

    pass_info = PassInfo(0, "SpinWhole")

    def transform_module(self, mod: Program, ctx: PassContext) -> Program:
        sum(range(1_000_000))
        return mod


def reported(runner: Runner) -> RunReport:
    report = runner.last_report
    assert report is not None
    return report


class Slow(Add):
    """Takes a millisecond."""

    pass_info = PassInfo(0, "Slow")

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass
        return super().transform_function(func, mod, ctx)


def advises(report: RunReport, beginning: str) -> bool:
    """Return whether an advice begins so; which comes first is for the clock to say."""
    return any(text.startswith(beginning) for text in report.advice)


def test_before_the_first_run_there_is_none():
    with open_runner(workers=0) as runner:
        assert runner.last_report is None


@pytest.mark.parametrize(
    "passes",
    [[Add(), AddFrom("f1"), Keep(), Add()], [Keep()], [Add()] * 20],
)
@pytest.mark.parametrize("instruments", [[], [Log()], [Blind()]])
def test_the_parts_add_up(runner: Runner, passes: list[Any], instruments: list[Any]):
    run_pooled(runner, Sequential(passes), program(*range(50)), instruments=instruments)
    report = reported(runner)
    parts = [report.module_passes, report.instruments, report.here]
    whole = sum(sum(part.values()) for part in parts)
    whole += report.beforehand + report.loading
    whole += report.in_workers + report.looking + report.rest
    assert whole == pytest.approx(report.seconds)
    shares = (report.busy, report.starting, report.idle_at_end, report.waiting)
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(report.workers * report.in_workers)
    assert sum(line.seconds for line in report.lines()) == pytest.approx(report.seconds)
    assert report.longest_path <= report.work + 1e-9
    assert report.limit <= report.ceiling


def test_what_was_done_is_counted(runner: Runner):
    run_pooled(runner, Sequential([Add(), Keep(), Add()]), program(*range(30)))
    report = reported(runner)
    assert (report.stages, report.functions, report.workers) == (2, 60, 2)
    assert 2 <= report.jobs <= 60
    assert report.bytes_sent > 0
    assert report.bytes_received > 0
    assert set(report.passes) == {"Add"}
    assert set(report.module_passes) == {"Keep"}
    assert report.here == {}


def test_several_stages_in_workers_have_a_line_each_the_longest_first(runner: Runner):
    mod = program(*range(30))
    run_pooled(runner, Sequential([Add(), Keep(), Slow(), Slow()]), mod)
    report = reported(runner)
    light, heavy = report.stages_in_workers
    assert report.jobs == light.jobs + heavy.jobs
    assert report.bytes_sent == light.bytes_sent + heavy.bytes_sent
    # The first has less to do, and on a busy machine may take longer.
    longest_first = sorted((light, heavy), key=lambda one: -one.in_workers)
    for line, stage in zip(report.stage_counts, longest_first, strict=True):
        assert line.startswith(f"{stage.name}: {stage.counts}; ")
        assert line in str(report)
    assert light.name == "stage: Add"
    assert heavy.counts.startswith("2 passes, 30 functions, ")
    run_pooled(runner, Add(), mod)
    assert reported(runner).stage_counts == ()  # its counts are those of the run


def test_what_ran_here_says_why(runner: Runner):
    runner.run_sync(program(1, 2), Add(), context=PassContext(config=HERE))
    assert set(reported(runner).here) == {"too little work"}
    assert reported(runner).advice[0].startswith("none; ")
    runner.run_sync(program(1), Add())
    assert set(reported(runner).here) == {"a single function"}
    with open_runner(workers=0) as alone:
        alone.run_sync(program(20_000, 2), Spin())
        assert set(reported(alone).here) == {"without workers"}
        # To start workers for it would take longer.
        (told,) = reported(alone).advice
        assert told.startswith("no single bottleneck")


def test_a_run_that_failed_has_a_report(runner: Runner):
    with pytest.raises(ValueError, match="met 1"):
        run_pooled(runner, Sequential([Keep(), FailOn(1)]), program(1, 2))
    assert set(reported(runner).passes) == {"FailOn"}


def test_passes_that_a_failed_run_did_not_come_to_are_no_part_of_its_work(
    runner: Runner,
):
    # Large functions are handed out first, and go through both passes.
    large = {f"g{at}": Fn((at + 1,) * 50) for at in range(20)}
    with pytest.raises(ValueError, match="met 0"):
        run_pooled(runner, Sequential([FailOn(0), Slow()]), program(0, **large))
    report = reported(runner)
    assert report.largest_function_seconds <= report.work
    assert report.longest_path <= report.work
    assert report.limit >= 1


def test_a_module_pass_is_named_as_what_to_change(runner: Runner):
    runner.run_sync(program(1, 2), [SpinWhole(), Add()])
    report = reported(runner)
    assert advises(report, "module pass 'SpinWhole' takes ")
    assert report.serial_share > 0.5


def test_the_largest_function_is_named_as_what_to_cut(runner: Runner):
    mod = program(*[1000] * 20, large=Fn((20_000_000,)))
    run_pooled(runner, Spin(), mod)  # starting both workers may take longer
    run_pooled(runner, Spin(), mod)
    report = reported(runner)
    assert report.largest_function == "large"
    assert report.limit < report.ceiling
    assert advises(report, "function 'large' holds ")


def test_a_speedup_is_told_only_where_a_serial_run_was_measured(runner: Runner):
    run_pooled(runner, Add(1), program(*range(200)))
    told = reported(runner)
    assert told.speedup is None
    assert "Speed-up over a serial run not measured, ideal " in told.headline
    # Workers that were started for it may have taken most of the time.
    warm = replace(told, beforehand=0.0, loading=0.0, starting=0.0)
    measured = replace(warm, serial_seconds=2 * told.seconds)
    assert measured.speedup == 2.0
    assert "Measured speed-up 2.00x" in measured.headline


def test_a_pass_that_waits_for_something_does_not_lack_a_core(runner: Runner):
    run_pooled(runner, Waiting(), program(*range(8)))
    report = reported(runner)
    assert report.processor < 0.5 * report.busy
    # A busy machine may make it lack one besides, before each wait and after it.
    assert report.queued <= report.busy - 8 * WAIT_SECONDS


@pytest.mark.slow
def test_workers_that_share_a_core_are_reported():
    before = settled_processes()  # such as those of the runner that tests share
    with open_runner(workers=2) as runner:
        run_pooled(runner, Slow(), program(1, 2))
        first = reported(runner)
        assert first.start_up > 0
        whole = sum(line.seconds for line in first.lines())
        assert whole == pytest.approx(first.seconds)
        for pid in settled_processes() - before:
            os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
        run_pooled(runner, Slow(), program(*range(300)))
    report = reported(runner)
    assert report.cores < 1.5
    assert ", the workers had " in report.headline


def test_what_a_cache_keeps_in_memory_alone_is_told_with_its_reason(tmp_path: Path):
    for folder, told in ((None, ()), (tmp_path, ("Not on disk: 9 results; ",))):
        with open_runner(workers=0, cache=FunctionCache(folder)) as runner:
            runner.run_sync(program(*range(9)), Add())
            notes = reported(runner).notes
        assert tuple(note[: len("Not on disk: 9 results; ")] for note in notes) == told
        assert all("may be changed in place" in note for note in notes)


def test_text_table_and_page_show_the_same(tmp_path: Path):
    with open_runner(workers=0, cache=FunctionCache(tmp_path)) as runner:
        runner.run_sync(program(*range(9)), Add())
        report = reported(runner)
    text, page = str(report), report.to_html()
    table = report._repr_html_()  # pyright: ignore[reportPrivateUsage] -- Jupyter's
    shown = report.sections()
    assert any("Not on disk" in fact for fact in shown.facts)
    for one in (shown.headline, *shown.facts, *shown.advice):
        assert one in text
        assert escape(one) in table
        assert json.dumps(one) in page
    for one in shown.times:
        assert one.what in text
        assert one.what in table
        assert json.dumps(one.what) in page


def test_what_came_from_a_cache_makes_the_speedup_unknown():
    mod = program(*range(20))
    with open_runner(workers=2, cache=FunctionCache()) as runner:
        for _ in range(2):
            run_pooled(runner, Add(), mod)
    report = reported(runner)
    assert report.speedup is None
    assert report.headline.endswith(". Speed-up over a serial run not measured")
    assert "20 of 20 functions from the cache" in report.counts


def test_a_pass_that_cannot_be_pickled_is_named(runner: Runner):
    run_pooled(runner, Add(), program(1, 2))  # starting the workers may take longest
    locked, mod = Locked(), program(*[2_000_000] * 3)
    spin = Spin()
    spin.part = threading.Lock()  # pyright: ignore[reportAttributeAccessIssue] -- a user's own
    with pytest.warns(UnpicklablePassWarning):
        run_pooled(runner, Sequential([Add(), locked, spin]), mod)
    report = reported(runner)
    assert set(report.unsendable) == {"Locked", "Spin"}
    assert advises(report, "pass 'Spin' cannot be pickled, so it ran in")
    assert set(report.here) == {"could not be sent to workers"}


def test_observing_instruments_are_named(runner: Runner):
    passes = Sequential([Add()] * 20)
    run_pooled(runner, passes, program(*range(50)), instruments=[Log(), Blind()])
    report = reported(runner)
    assert report.observers == ("Log",)
    assert report.stages == 20
    assert any("('Log') makes every pass a barrier" in text for text in report.advice)


def test_light_passes_are_advised_to_share_a_transfer(runner: Runner):
    run_pooled(runner, Add(), program(*range(2000)))
    assert any("put more passes in one pipeline" in a for a in reported(runner).advice)


@pytest.mark.slow
def test_the_start_of_the_workers_is_reported_once():
    with open_runner(workers=2) as runner:
        run_pooled(runner, Add(), program(1, 2))
        assert any("starting the workers took" in a for a in reported(runner).advice)
        run_pooled(runner, Add(), program(1, 2))
        assert reported(runner).starting == 0


def test_a_report_is_text_and_json(runner: Runner):
    run_pooled(runner, Sequential([Keep(), Add()]), program(1, 2))
    report = reported(runner)
    text = str(report)
    assert re.search("(, ideal|Ideal speed-up) ", text)
    assert "in the workers" in text
    assert "Advice: " in text
    assert json.loads(msgspec.json.encode(report))["stages"] == 1


def test_an_empty_run_divides_by_nothing():
    with open_runner(workers=2) as runner:
        runner.run_sync(program(), [])
        assert reported(runner).speedup is None
        assert "Advice: " in str(reported(runner))


def test_each_run_has_its_own_report_on_request(runner: Runner):
    reports: list[RunReport] = []
    runner.run_sync(program(1, 2), [Add(1)], report=reports.append)
    runner.run_sync(program(1), [Add(2), Keep()], report=reports.append)
    first, second = reports
    assert list(first.passes) == ["Add"]
    assert list(second.module_passes) == ["Keep"]
    assert second == runner.last_report


def test_a_run_that_fails_has_a_report_too(runner: Runner):
    reports: list[RunReport] = []
    with pytest.raises(ValueError, match="met 1"):
        runner.run_sync(program(1), FailOn(1), report=reports.append)
    assert len(reports) == 1


async def test_runs_that_go_on_at_once_each_have_their_report(runner: Runner):
    reports: dict[int, RunReport] = {}

    async def run(functions: int) -> None:
        mod = program(*range(functions))
        told: list[RunReport] = []
        await runner.run(mod, Add(1), context=pooled(), report=told.append)
        (reports[functions],) = told

    async with trio.open_nursery() as nursery:
        for functions in (3, 5, 7):
            nursery.start_soon(run, functions)
    assert {at: one.functions for at, one in reports.items()} == {3: 3, 5: 5, 7: 7}


def test_a_report_is_handed_on_by_the_function_without_a_runner():
    reports: list[RunReport] = []
    run_pipeline_sync(program(1), Add(1), workers=0, report=reports.append)
    assert [one.workers for one in reports] == [0]
