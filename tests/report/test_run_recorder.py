"""The figures of a report follow from what a run notified its recorder of."""

from __future__ import annotations

import time

import pytest

from parpass.report.run_recorder import RunRecorder
from parpass.runner.ipc.function_outcome import FunctionOutcome
from parpass.runner.ipc.messages import JobResult, JobTimes
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.observers import (
    Activity,
    CacheFigures,
    SentStage,
    Span,
    WorkerEnd,
)
from parpass.runner.placement import PlacementReason
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform.plan.commands import StepRecord
from tests.support.toy.passes import Add


def recorder() -> RunRecorder:
    made = RunRecorder(time.perf_counter())
    made.run_began(2, None)
    return made


def spent(run: RunRecorder, activity: Activity, name: str, seconds: float) -> None:
    run.span_ended(Span(activity, name, 0.0, seconds))


def sent(
    run: RunRecorder,
    *,
    workers: int = 2,
    seconds: float = 0.0,
    functions: int = 2,
) -> None:
    """Send a stage that began so many seconds ago."""
    began = time.perf_counter() - seconds
    names = ["f0", "f1"]
    run.stage_sent(SentStage([Add(1)], names, functions, workers, True, began))


def returned(run: RunRecorder, times: JobTimes, size: int = 0) -> None:
    run.job_returned(size, JobResult({}, times))


def test_seconds_of_functions_add_up_although_module_passes_change_which_there_are():
    run = recorder()
    stages: list[dict[str, float]] = [
        {"a": 1.0, "b": 2.0, "gone": 2.5},
        {"new": 1.0, "b": 2.0, "a": 1.0},
        {"new": 1.0, "b": 2.0, "a": 1.0},
    ]
    for seconds in stages:
        outcomes = StageOutcomes(list(seconds), 1)
        for at, one in enumerate(seconds.values()):
            outcomes.put(at, FunctionHandle(), FunctionOutcome(None, [one]))
        run.stage_ended([StepRecord("Add")], outcomes)
    report = run.report()
    assert (report.largest_function, report.largest_function_seconds) == ("b", 6.0)
    assert report.longest_path == 6.5


def test_functions_of_a_stage_that_failed_are_not_among_the_longest():
    run = recorder()
    outcomes = StageOutcomes(["a"], 1)
    outcomes.put(0, FunctionHandle(), FunctionOutcome(None, [1.0]))
    run.stage_ended([StepRecord("Add", failure=ValueError())], outcomes)
    assert run.report().longest_path == 0.0
    assert run.stages[0][0].failure is None  # which refers to the frames that raised it


def test_hooks_of_instruments_are_told_by_name_and_who_reads_the_module():
    run = recorder()
    spent(run, Activity.INSTRUMENT, "Log", 1.5)
    spent(run, Activity.READING_INSTRUMENT, "Print", 0.5)
    report = run.report()
    assert report.instruments == {"Log": 1.5, "Print": 0.5}
    assert report.observers == ("Print",)


def test_the_start_of_workers_is_told_apart_from_passes_that_ran_meanwhile():
    run = recorder()
    spent(run, Activity.HERE, PlacementReason.STARTING, 5.0)
    run.workers_started(2.0)
    report = run.report()
    assert (report.loading, sum(report.here.values())) == (2.0, 3.0)


def test_what_a_serial_run_takes_is_never_guessed():
    run = recorder()
    spent(run, Activity.HERE, PlacementReason.SMALL, 3.0)
    sent(run, seconds=2.0)
    returned(run, JobTimes(3.0))
    run.stage_returned(0.0)
    report = run.report()
    assert report.serial_seconds is report.speedup is report.warm_speedup is None


def test_the_time_of_workers_is_divided_by_what_they_did():
    run = recorder()
    sent(run, workers=3, seconds=4.0)
    run.job_sent(10)
    returned(run, JobTimes(2.0), 7)
    run.stage_returned(starting=3.0)
    one = run.report()
    assert one.in_workers == pytest.approx(4.0, abs=0.5)
    assert (one.busy, one.starting) == (2.0, 3.0)
    parts = one.busy + one.starting + one.idle_at_end + one.waiting
    assert parts == pytest.approx(3 * one.in_workers)


def test_workers_that_wait_in_vain_were_not_busy_longer_than_there_was_time():
    run = recorder()
    sent(run, workers=1)
    returned(run, JobTimes(9.0))
    run.stage_returned(starting=9.0)
    one = run.report()
    assert one.busy == one.in_workers
    assert one.starting == one.waiting == one.idle_at_end == 0.0


def test_each_stage_in_workers_has_figures_and_those_of_the_run_are_their_sums():
    run = recorder()
    for size in (100, 200):
        sent(run, functions=size)
        run.bytes_sent(size)
        run.job_sent(10)
        returned(run, JobTimes(0.0, copying=0.5), 3 * size)
        run.function_retried("f0")
        run.worker_ended(WorkerEnd("died", 1))
        spent(run, Activity.ENCODING, "", 1.0)
        spent(run, Activity.DECODING, "", 2.0)
        run.stage_returned(0.0)
    run.run_ended(None, copying=0.25)
    report = run.report()
    assert [one.bytes_sent for one in report.stages_in_workers] == [110, 210]
    assert [one.passes for one in report.stages_in_workers] == [["Add"], ["Add"]]
    assert (report.bytes_sent, report.bytes_received) == (320, 900)
    assert (report.functions, report.jobs) == (300, 2)
    assert (report.deaths, report.retries) == (2, 2)
    assert (report.encoding, report.decoding) == (2.0, 4.0)
    assert report.copying == 1.25


def test_the_cores_that_workers_had_are_what_they_had_of_the_time_of_their_jobs():
    run = recorder()
    sent(run, seconds=2.0)
    returned(run, JobTimes(3.0, processor=0.5, queued=2.0))
    returned(run, JobTimes(1.0, processor=1.0))
    run.stage_returned(0.0)
    report = run.report()
    assert (report.processor, report.queued) == (1.5, 2.0)
    assert report.cores == pytest.approx(1.0)
    assert report.lacks_cores


def test_what_cannot_be_sent_and_what_a_cache_gave_is_in_the_report():
    run, cache = recorder(), CacheFigures(3, 4, {})
    run.pass_unsendable("Add", "a lambda")
    run.cache_used(cache)
    report = run.report()
    assert (report.unsendable, report.cache) == ({"Add": "a lambda"}, cache)
