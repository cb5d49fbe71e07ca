"""The tracer of a run: puts what the run notifies it of on a timeline.

The coordinator has a track for what is done one after the other, and one each for
encoding and decoding, which go on beside it. Each worker has a track, and one that
takes the place of another has its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from parpass.report.figures import StageFigures
from parpass.report.run_recorder import RunRecorder
from parpass.report.timeline import Category, Slice, Timeline, Track
from parpass.runner.ipc.function_outcome import FunctionOutcome
from parpass.runner.ipc.messages import JobResult, JobTimeline
from parpass.runner.observers import Activity, SentStage, Span, WorkerEnd
from parpass.runner.stage.call_recorder import (
    DECODING,
    ENCODING,
    LOADING,
    Call,
    calls_until_now,
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
    LOADING: Category.LOADING,
    DECODING: Category.DECODING,
    ENCODING: Category.ENCODING,
}
_MIN_WAIT = 1e-6  # seconds; shorter ones are not shown


class Tracer(RunRecorder):
    """A recorder that also puts what it notes on a timeline, and each function."""

    watches_functions = traces_calls = True
    _stage_tracks: _StageTracks

    def __init__(
        self,
        began: float,
        timeline: Timeline,
        ended: Callable[[RunRecorder], object] | None = None,
    ) -> None:
        super().__init__(began, ended)
        self._timeline = timeline
        self._steps: Sequence[str] = ()  # of what runs here
        self._function_names: Sequence[str] = ()  # likewise
        self._calls: list[Call] = []
        self._function_began = 0.0

    def run_began(self, workers: int, post: object) -> None:
        super().run_began(workers, post)
        self._place = self._timeline.begin_run()
        self._track = self._own_track("coordinator")

    def _own_track(self, what: str) -> Track:
        name = what if not self._place else f"{what} of run {self._place + 1} at once"
        return self._timeline.track((what, self._place), name)

    def _end(self, error: BaseException | None) -> None:
        end, now = "succeeded", self._began + self._seconds
        if error is not None:
            end = _end_by(error)
            self._track.mark(end, now, str(error))
        self._add_calls()
        self._track.add("run", Category.RUN, self._began, now, end)
        self._timeline.end_run(self._place)
        super()._end(error)

    def span_ended(self, span: Span) -> None:
        super().span_ended(span)
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
            self._timeline.flush()

    def stage_began(
        self,
        steps: Sequence[Pass],
        names: Sequence[str],
        outcomes: StageOutcomes | None,
    ) -> None:
        self._steps, self._function_names = step_names(steps), names

    def function_began(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        self._function_began = time.perf_counter()

    def function_ended(
        self, step: int, function: int, outcome: FunctionOutcome | None
    ) -> None:
        if outcome is None:
            now = time.perf_counter()
            self._calls.append((self._function_began, now, step, function))
        else:
            self._calls += calls_until_now(function, outcome.seconds, step)

    def _add_calls(self) -> None:
        """Put on the timeline what passes did here since the last time."""
        self._track.extend(_slices(self._calls, self._steps, self._function_names))
        self._calls.clear()

    def stage_sent(self, stage: SentStage) -> None:
        super().stage_sent(stage)
        for what in ("encoding", "decoding"):
            self._own_track(what)
        self._stage_tracks = _StageTracks(stage, self._timeline, self._track)

    def job_returned(self, size: int, result: JobResult) -> None:
        super().job_returned(size, result)
        if result.timeline is not None:
            self._stage_tracks.add_job(result.timeline)

    def worker_ended(self, end: WorkerEnd) -> None:
        super().worker_ended(end)
        self._stage_tracks.end_worker(end)

    def function_retried(self, function: str) -> None:
        super().function_retried(function)
        self.noted(f"retry of {function}")

    def noted(self, what: str) -> None:
        self._track.mark(what, time.perf_counter())

    def stage_returned(self, starting: float) -> None:
        super().stage_returned(starting)
        self._stage_tracks.end(self.sent[-1])


class _StageTracks:
    """A stage in the workers, on their tracks and on that of the coordinator."""

    def __init__(self, stage: SentStage, timeline: Timeline, own: Track) -> None:
        self._steps, self._names = step_names(stage.steps), stage.names
        self._timeline, self._own, self._began = timeline, own, stage.began
        # Since when a worker that was not seen before may have been starting.
        self._replaced = None if stage.was_warm else self._began
        self._jobs: list[tuple[Track, JobTimeline, float]] = []
        self._workers: set[Track] = set()  # that had jobs, and are there

    def add_job(self, job: JobTimeline) -> None:
        now = time.perf_counter()
        shift = 0.0
        if job.began < self._began or job.ended > now:
            shift = now - job.ended  # the clock of another machine
        key = job.host, job.process, job.thread
        track = self._worker(key, job.began + shift)
        if not self._timeline.has_several_runs:  # whose jobs there may come back later
            self._wait_until(track, job.began + shift)
        track.until = job.ended + shift
        self._jobs.append((track, job, shift))

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
        if not self._timeline.has_several_runs:  # whose jobs may be under way there
            for track in self._workers:
                self._wait_until(track, now)
        for track, job, shift in self._jobs:
            began, ended = job.began + shift, job.ended + shift
            calls = decoded_calls(job.calls)
            if shift:
                calls = ((a + shift, b + shift, c, d) for a, b, c, d in calls)
            track.add("job", Category.JOB, began, ended)
            track.extend(_slices(calls, self._steps, self._names))
        self._timeline.flush()

    def _worker(self, key: tuple[str, int, int], began: float) -> Track:
        """Return the track of a worker, whose first job of the stage begins then."""
        timeline, (host, process, thread) = self._timeline, key
        is_new = not timeline.has_track(key)
        timeline.workers += is_new
        where = f"process {process}" + f" of {host}" * bool(host)
        name = f"worker {timeline.workers} ({where}{', a thread' * bool(thread)})"
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
    for what, group in groupby(calls, lambda call: call[2]):
        if what < 0:
            category = _OTHER_WORK[what]
            for began, ended, _, _ in group:
                yield Slice(category.value, category, began, ended)
            continue
        inside = [
            Slice(names[function], Category.FUNCTION, began, ended)
            for began, ended, _, function in group
        ]
        first, last = inside[0], inside[-1]
        yield Slice(steps[what], Category.PASS, first.began, last.ended)
        yield from inside
