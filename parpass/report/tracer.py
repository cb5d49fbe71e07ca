"""The tracer of a run: puts what the run notifies it of on a timeline.

The coordinator has a track for what is done one after the other, and one each for
encoding and decoding, which go on beside it. Each worker has a track, and one that
takes the place of another has its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from parpass.report.figures import StageFigures
from parpass.report.run_recorder import RunRecorder
from parpass.report.timeline import Category, Slice, Tracing, Track
from parpass.runner.ipc.messages import FunctionOutcome, JobResult, JobTimeline
from parpass.runner.observers import Activity, RunObserver, SentStage, Span, WorkerEnd
from parpass.runner.stage.call_recorder import (
    DECODING,
    ENCODING,
    LOADING,
    Call,
    CallRecorder,
    decoded_calls,
)
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.passes import step_names

_CATEGORIES = {
    Activity.MODULE_PASS: Category.MODULE_PASS,
    Activity.INSTRUMENT: Category.INSTRUMENT,
    Activity.READING_INSTRUMENT: Category.INSTRUMENT,
    Activity.HERE: Category.LOCAL,
    Activity.LOOKING: Category.DECODING,
    Activity.ENCODING: Category.ENCODING,
    Activity.DECODING: Category.DECODING,
}
_OTHER_WORK = {
    LOADING: Slice("loading", Category.LOADING, 0.0, 0.0),
    DECODING: Slice("decoding", Category.DECODING, 0.0, 0.0),
    ENCODING: Slice("encoding", Category.ENCODING, 0.0, 0.0),
}
_MIN_WAIT = 1e-6  # seconds; shorter ones are not shown


class Tracer(RunObserver):
    """Puts one run on a timeline.

    It began at `began`, by `time.perf_counter()`. Its recorder is notified before this.
    """

    watches_functions = traces_calls = True

    def __init__(self, began: float, tracing: Tracing, recorder: RunRecorder) -> None:
        self._began, self._tracing, self._recorder = began, tracing, recorder
        self._steps: Sequence[str] = ()  # of what runs here
        self._names: Sequence[str] = ()
        self._calls = CallRecorder()
        self._function_began = 0.0
        self._stage: _StageTracks | None = None

    def run_began(self, workers: int, post: object) -> None:
        self._place = self._tracing.begin_run()
        self._track = self._own_track("coordinator")

    def _own_track(self, what: str) -> Track:
        name = what if not self._place else f"{what} of run {self._place + 1} at once"
        return self._tracing.timeline.track((what, self._place), name)

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        end, now = "succeeded", time.perf_counter()
        if error is not None:
            end = _end_by(error)
            self._track.mark(end, now, str(error))
        self._add_calls()
        self._track.add("run", Category.RUN, self._began, now, end)
        self._tracing.end_run(self._place)

    def span_ended(self, span: Span) -> None:
        category, name, track = _CATEGORIES.get(span.activity), span.name, self._track
        if category is None:
            return
        if span.activity in (Activity.ENCODING, Activity.DECODING):
            name = category.value
            track = self._own_track(name)
        elif span.activity is Activity.LOOKING:
            name = "decoding on demand"
        elif span.activity is Activity.HERE:
            name = f"local: {name}"
        track.add(name, category, span.began, span.ended)
        if span.activity is Activity.HERE:
            self._add_calls()
            self._tracing.flush()

    def walk_began(self, steps: Sequence[Pass], names: Sequence[str]) -> None:
        self._steps, self._names = step_names(steps), names

    def stage_began(self, steps: Sequence[Pass], outcomes: StageOutcomes) -> None:
        self._steps, self._names = step_names(steps), outcomes.names

    def function_began(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        self._function_began = time.perf_counter()

    def function_ended(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        if outcome is None:
            self._calls.add(self._function_began, step, function)
        else:
            self._calls.add_steps(function, outcome.seconds, step)

    def _add_calls(self) -> None:
        """Put on the timeline what passes did here since the last time."""
        entries = decoded_calls(self._calls.encoded())
        self._track.extend(_slices(entries, self._steps, self._names))
        self._calls = CallRecorder()

    def stage_sent(self, stage: SentStage) -> None:
        for what in ("encoding", "decoding"):
            self._own_track(what)
        self._stage = _StageTracks(stage, self._tracing, self._track)

    def job_returned(self, size: int, result: JobResult) -> None:
        """Keep what the worker did, until the end of the stage."""
        assert self._stage is not None
        if result.timeline is not None:
            self._stage.add_timeline(result.timeline)

    def worker_ended(self, end: WorkerEnd) -> None:
        assert self._stage is not None
        self._stage.end_worker(end)

    def function_retried(self, function: str) -> None:
        self.noted(f"retry of {function}")

    def noted(self, what: str) -> None:
        self._track.mark(what, time.perf_counter())

    def stage_returned(self, starting: float) -> None:
        assert self._stage is not None
        self._stage.end(self._recorder.sent[-1])


class _StageTracks:
    """A stage in the workers, on their tracks and on that of the coordinator."""

    def __init__(self, stage: SentStage, tracing: Tracing, own: Track) -> None:
        self._steps, self._names = step_names(stage.steps), stage.names
        self._tracing, self._own, self._began = tracing, own, stage.began
        # Since when a worker that was not seen before may have been starting.
        self._replaced = None if stage.was_warm else self._began
        self._timelines: list[tuple[Track, JobTimeline, float]] = []
        self._workers: set[Track] = set()  # that had jobs, and are there

    def add_timeline(self, timeline: JobTimeline) -> None:
        now = time.perf_counter()
        shift = 0.0
        if timeline.began < self._began or timeline.ended > now:
            shift = now - timeline.ended  # the clock of another machine
        key = timeline.host, timeline.process, timeline.thread
        track = self._worker(key, timeline.began + shift)
        if not self._tracing.has_several_runs:  # whose jobs there may come back later
            self._wait_until(track, timeline.began + shift)
        track.until = timeline.ended + shift
        self._timelines.append((track, timeline, shift))

    def end_worker(self, end: WorkerEnd) -> None:
        what, process, since, during = end
        now = time.perf_counter()
        track = self._worker(("", process, 0), since or now)
        began = min(now, max(since, track.until, self._began))
        if during:
            self._wait_until(track, began)
            track.add(during, Category.LOST, began, now, what)
        track.until = now
        track.mark(what, now, during)
        self._workers.discard(track)
        self._replaced = now

    def end(self, figures: StageFigures) -> None:
        now = time.perf_counter()
        what = f"in the workers: {figures.counts}"
        self._own.add(figures.name, Category.STAGE, self._began, now, what)
        if not self._tracing.has_several_runs:  # whose jobs may be under way there
            for track in self._workers:
                self._wait_until(track, now)
        for track, timeline, shift in self._timelines:
            began, ended = timeline.began + shift, timeline.ended + shift
            calls = decoded_calls(timeline.calls)
            if shift:
                calls = ((a + shift, b + shift, c, d) for a, b, c, d in calls)
            track.add("job", Category.JOB, began, ended)
            track.extend(_slices(calls, self._steps, self._names))
        self._tracing.flush()

    def _worker(self, key: tuple[str, int, int], began: float) -> Track:
        """Return the track of a worker, whose first job of the stage begins then."""
        timeline = self._tracing.timeline
        is_new = not timeline.has_track(key)
        host, process, thread = key
        where = f"process {process}" + f" of {host}" * bool(host)
        if is_new:
            self._tracing.workers += 1
        number = self._tracing.workers
        name = f"worker {number} ({where}{', a thread' * bool(thread)})"
        track = timeline.track(key, name)
        self._workers.add(track)
        if is_new and self._replaced is not None and began > self._replaced:
            track.add("starting", Category.STARTING, self._replaced, began)
        return track

    def _wait_until(self, track: Track, now: float) -> None:
        """Record that a worker had no job since its last one, or since the start."""
        began = max(self._began, track.until)
        if now - began > _MIN_WAIT:
            track.add("waiting", Category.WAITING, began, now)


def _end_by(error: BaseException) -> str:
    if isinstance(error, Exception | SystemExit):  # of a pass
        return f"failed: {type(error).__name__}"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "cancelled"


def _slices(
    calls: Iterable[Call], steps: Sequence[str], names: Sequence[str]
) -> Iterator[Slice]:
    """Yield calls as slices: a pass on consecutive functions, and these in it."""
    for what, group in groupby(calls, _what):
        if what < 0:
            for began, ended, _, _ in group:
                yield _OTHER_WORK[what]._replace(began=began, ended=ended)
            continue
        inside = [
            Slice(names[function], Category.FUNCTION, began, ended)
            for began, ended, _, function in group
        ]
        first, last = inside[0], inside[-1]
        yield Slice(steps[what], Category.PASS, first.began, last.ended)
        yield from inside


def _what(call: Call) -> int:
    return call[2]
