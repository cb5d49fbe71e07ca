from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from parpass.errors import FunctionTimeoutError, TraceWarning, WorkerDiedError
from parpass.report.figures import size_text
from parpass.report.timeline import Timeline
from parpass.report.trace import TraceFile
from parpass.report.tracer import Tracer
from parpass.runner import Runner, open_runner, run_pipeline, run_pipeline_sync
from parpass.runner.ipc.messages import JobResult, JobTimeline, JobTimes
from parpass.runner.observers import SentStage
from parpass.runner.stage.call_recorder import CallRecorder
from parpass.transform import Pass, PassContext, Sequential
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import new_pipe, pooled, run_pooled
from tests.support.runner.traces import ReadTrace
from tests.support.toy.ending import EndIn
from tests.support.toy.hard_passes import Hang
from tests.support.toy.ir import program
from tests.support.toy.passes import Add, AddFrom, Duplicate, FailOn
from tests.support.watching import Log

PASSES = Sequential([Add(1), AddFrom("f1"), Duplicate(), Add(2)])
COUNT = 30
CALLS = Counter(
    {
        **{(one, f"f{at}"): 1 for one in ("Add", "AddFrom") for at in range(COUNT)},
        **{("Add", f"f{at}"): 2 for at in range(COUNT)},
        **{("Add", f"f{at}_copy"): 1 for at in range(COUNT)},
    }
)


def traced(runner: Runner, file: Path, root: Pass, mod: Any, **settings: Any) -> Any:
    with runner.trace(file):
        return run_pooled(runner, root, mod, **settings)


def test_each_pass_on_each_function_is_on_a_track_of_a_worker_once(
    runner: Runner, tmp_path: Path
):
    mod, log = program(*range(COUNT)), Log()
    file = tmp_path / "out.json.gz"
    made = traced(runner, file, PASSES, mod, instruments=[log])
    assert made == PASSES(mod)
    trace = ReadTrace(file)
    assert trace.calls() == CALLS
    assert set(trace.tracks) - set(trace.workers) == {
        "coordinator",
        "encoding",
        "decoding",
    }
    assert 1 <= len(trace.workers) <= 2
    own = [one for name in trace.workers for one in trace.tracks[name]]
    kinds = {one["cat"] for one in own}
    assert kinds >= {"job", "pass", "function", "encoding", "decoding", "waiting"}
    assert not {one["name"] for one in own} & {"run", "Duplicate"}
    here = {one["cat"] for one in trace.tracks["coordinator"]}
    assert here >= {"run", "stage", "module pass", "instrument", "decoding"}
    colours = {one["name"]: one["cname"] for one in trace.slices("pass")}
    assert len(set(colours.values())) == len(colours)


@pytest.mark.parametrize("workers", [0, 2])
def test_what_runs_in_this_process_is_on_the_track_of_the_coordinator(
    workers: int, tmp_path: Path
):
    file = tmp_path / "out.json"
    with open_runner(workers=workers) as runner, runner.trace(file):
        runner.run_sync(program(*range(COUNT)), PASSES)  # small, so it stays here
    trace = ReadTrace(file)
    assert list(trace.tracks) == ["coordinator"]
    assert trace.calls() == CALLS
    local = trace.slices("in this process")
    reason = "too little work" if workers else "without workers"
    # On a busy machine it is no small work, and goes on here until workers are there.
    names = {one["name"] for one in local} - {"local: while workers were starting"}
    assert names == {f"local: {reason}"}


def test_a_stage_has_the_figures_that_the_report_has_of_it(
    runner: Runner, tmp_path: Path
):
    file = tmp_path / "out.json"
    traced(runner, file, PASSES, program(*range(COUNT)))
    report = runner.last_report
    assert report is not None
    shown = [
        (one["name"], one["args"]["detail"]) for one in ReadTrace(file).slices("stage")
    ]
    assert shown == [
        (one.name, f"in the workers: {one.counts}") for one in report.stages_in_workers
    ]
    for one in report.stages_in_workers:
        assert min(one.bytes_sent, one.bytes_received) > 0
        assert f"{size_text(one.bytes_sent)} out" in one.counts
        assert f"{size_text(one.bytes_received)} back" in one.counts
    assert shown[0][0] == "stage: Add, AddFrom"
    assert shown[1][1].startswith(f"in the workers: 1 pass, {2 * COUNT} functions, ")


def test_an_isolated_function_is_on_the_track_of_its_worker(tmp_path: Path):
    file = tmp_path / "out.json"
    run_pipeline_sync(program(1), Add(1), workers=1, isolated=True, trace=file)
    trace = ReadTrace(file)
    assert trace.calls() == {("Add", "f0"): 1}
    assert len(trace.workers) == 1


def test_workers_that_are_threads_have_tracks_of_their_own(tmp_path: Path):
    with open_runner(executor=ThreadExecutor(2, 1)) as runner:
        traced(runner, tmp_path / "out.json", PASSES, program(*range(COUNT)))
    trace = ReadTrace(tmp_path / "out.json")
    assert trace.calls() == CALLS
    assert all("a thread" in name for name in trace.workers)


def test_runs_at_once_have_a_coordinator_each_and_share_the_workers(
    runner: Runner, tmp_path: Path
):
    file = tmp_path / "out.json"

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(run)

    async def run() -> None:
        await runner.run(program(*range(COUNT)), PASSES, context=pooled())

    with runner.trace(file):
        trio.run(main)
    trace = ReadTrace(file)
    assert trace.calls() == Counter({call: 3 * count for call, count in CALLS.items()})
    assert len(trace.slices("run")) == 3
    assert len(trace.workers) <= 2


def test_a_run_that_fails_leaves_a_trace_that_says_so(runner: Runner, tmp_path: Path):
    file = tmp_path / "out.json"
    with pytest.raises(ValueError, match="met 7"):
        traced(runner, file, Sequential([Add(0), FailOn(7)]), program(*range(9)))
    trace = ReadTrace(file)
    assert ("coordinator", "failed: ValueError") in trace.instants
    (run,) = trace.slices("run")
    assert run["args"]["detail"] == "failed: ValueError"
    assert trace.calls()["FailOn", "f7"] == 1


def test_a_run_that_is_cancelled_leaves_a_trace_that_says_so(tmp_path: Path):
    file, begun = tmp_path / "out.json", new_pipe(tmp_path)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.to_thread.run_sync(begun.read_bytes)
            nursery.cancel_scope.cancel()

    async def run() -> None:
        await run_pipeline(
            program(1, 2, 3), Hang(str(begun)), context=pooled(), workers=1, trace=file
        )

    trio.run(main)
    trace = ReadTrace(file)
    assert ("coordinator", "cancelled") in trace.instants


def test_a_worker_that_dies_is_told_of_and_the_next_one_has_its_own_track(
    tmp_path: Path,
):
    file = tmp_path / "out.json"
    with open_runner(workers=1) as runner, pytest.raises(WorkerDiedError):
        traced(runner, file, EndIn("segfault", 4), program(*range(9)))
    trace = ReadTrace(file)
    deaths = [name for name, what in trace.instants if "died: SIGSEGV" in what]
    assert len(deaths) >= 2  # with others, and alone
    assert len(set(deaths)) == len(deaths)
    assert {one["name"] for one in trace.slices("lost")} == {"EndIn on f4"}


def test_what_the_watchdog_ends_and_what_is_tried_again_is_told_of(tmp_path: Path):
    file = tmp_path / "out.json"
    with (
        open_runner(workers=1) as runner,
        runner.trace(file),
        pytest.raises(FunctionTimeoutError),
    ):
        runner.run_sync(
            program(*range(3)),
            EndIn("hang", 1),
            function_timeout=0.2,
            on_failure="retry",
        )
    trace = ReadTrace(file)
    told = [what for _, what in trace.instants]
    assert "killed by the watchdog" in told
    assert "retry of f1" in told
    assert "EndIn on f1" in {one["name"] for one in trace.slices("lost")}


@pytest.mark.parametrize("name", ["/dev/full", "/nowhere/out.json", "/dev"])
def test_a_trace_that_cannot_be_written_is_one_warning(runner: Runner, name: str):
    mod = program(*range(COUNT))
    with pytest.warns(TraceWarning, match=f"cannot write the trace '{name}': ") as told:
        made = traced(runner, Path(name), PASSES, mod)
    assert made == PASSES(mod)
    assert len(told) == 1


def test_the_clock_of_another_machine_is_moved_onto_that_of_the_run(tmp_path: Path):
    file = tmp_path / "out.json"
    timeline, trace = Timeline(), TraceFile(file)
    timeline.sinks.append(trace.write)
    tracer = Tracer(time.perf_counter(), timeline)
    tracer.run_began(2, None)
    began = time.perf_counter()
    tracer.stage_sent(SentStage([Add(1)], ["f0"], 1, 2, was_warm=True, began=began))
    for behind in (-1e6, 1e6):
        recorder = CallRecorder()
        recorder.add_steps(0, [0.0], 0)
        entries = memoryview(recorder.encoded()).cast("d").tolist()
        moved = [one + behind for one in entries[:2]] + entries[2:]
        began, ended = moved[:2]
        calls = memoryview(bytearray(32)).cast("d")
        for at, one in enumerate(moved):
            calls[at] = one
        job = JobTimeline(1, 0, f"host{behind}", began, ended, calls.tobytes())
        tracer.job_returned(0, JobResult({}, JobTimes(0.0), timeline=job))
    tracer.stage_returned(0.0)
    tracer.run_ended(None, 0.0)
    trace.close()
    read = ReadTrace(file)
    (whole,) = read.slices("run")
    for one in read.slices("function"):
        assert whole["ts"] <= one["ts"] <= whole["ts"] + whole["dur"]
    assert len(read.workers) == 2


def test_a_trace_ends_with_its_block_and_other_runs_are_not_in_it(
    runner: Runner, tmp_path: Path
):
    file = tmp_path / "out.json"
    with runner.trace(file):
        pass
    run_pooled(runner, Add(1), program(*range(4)))
    assert ReadTrace(file).tracks == {}


def test_what_is_traced_to_sinks_whose_blocks_overlap_ends_with_the_last():
    got: list[list[str]] = [[], []]
    with open_runner(workers=0) as runner, ExitStack() as first, ExitStack() as second:
        for stack, names in zip((first, second), got, strict=True):
            sink = runner.traced_to(lambda one, to=names: to.append(one.track.name))
            stack.enter_context(sink)
        first.close()
        runner.run_sync(program(1), Add(1))
        second.close()
        runner.run_sync(program(1), Add(1))
        private = vars(runner)["timeline"]
        assert private is None  # a trace that goes on would cost later runs time
    assert [bool(names) for names in got] == [False, True]


def test_names_are_quoted_and_a_context_may_be_given(tmp_path: Path):
    file = tmp_path / "out.json"
    with open_runner(workers=0) as runner, runner.trace(file):
        mod = program(1)
        odd = type(mod)({'a "quoted" ü\n': mod.functions["f0"]})
        runner.run_sync(odd, Add(1), context=PassContext())
    assert ReadTrace(file).calls() == {("Add", 'a "quoted" ü\n'): 1}


@pytest.mark.slow
def test_a_run_without_a_trace_loads_nothing_of_it():
    script = (
        "import sys, json; from tests.support.toy.ir import program;"
        "from tests.support.toy.passes import Add; import parpass;"
        "parpass.run_pipeline_sync(program(1, 2), Add(1));"
        "print(json.dumps([one for one in sys.modules if 'trace' in one"
        " and one.startswith('parpass.runner')]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == []
