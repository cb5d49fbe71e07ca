"""The metrics of a run that is traced: they also put what they time on the timeline.

The coordinator has a track for what is done one after the other, and one each for
packing and unpacking, which go on beside it. Each worker has a track, and one that
takes the place of another has its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from parpass.runner.ipc.messages import JobTimeline
from parpass.runner.report.figures import LocalReason
from parpass.runner.report.metrics import (
    RunMetrics,
    TimeCategory,
    TimedSpan,
    Timer,
    TransferMetrics,
)
from parpass.runner.report.timeline import Category, Slice, Tracing, Track
from parpass.runner.stage.call_recorder import (
    LOADING,
    PACKING,
    UNPACKING,
    Call,
    CallRecorder,
    ModuleWalk,
    decoded_calls,
)
from parpass.transform import Pass
from parpass.transform.plan.commands import StageResult

_CATEGORIES = {
    TimeCategory.MODULE_PASS: Category.MODULE_PASS,
    TimeCategory.INSTRUMENT: Category.INSTRUMENT,
    TimeCategory.LOCAL: Category.LOCAL,
    TimeCategory.DECODING: Category.UNPACKING,
}
_OTHER_WORK = {
    LOADING: Slice("loading", Category.LOADING, 0.0, 0.0),
    UNPACKING: Slice("unpacking", Category.UNPACKING, 0.0, 0.0),
    PACKING: Slice("packing", Category.PACKING, 0.0, 0.0),
}
_MIN_WAIT = 1e-6  # seconds; shorter ones are not shown
_MAX_NAMED_PASSES = 4


class TracedMetrics(RunMetrics):
    """The metrics of one run, which is recorded in a trace.

    Args:
        workers: How many workers may be used.
        began: The start of the run, by `time.perf_counter()`.
        tracing: Records it.
    """

    is_traced = True

    def __init__(self, workers: int, began: float, tracing: Tracing) -> None:
        super().__init__(workers, began)
        self._tracing = tracing
        self._place = tracing.begin_run()
        self._track = self._own_track("coordinator")
        self._walk: tuple[Sequence[str], Sequence[str], ModuleWalk] | None = None
        self._calls: list[tuple[Sequence[str], Sequence[str], CallRecorder]] = []

    def _own_track(self, what: str) -> Track:
        name = what if not self._place else f"{what} of run {self._place + 1} at once"
        return self._tracing.timeline.track((what, self._place), name)

    def time_hook(self, instrument: str, *, observes_ir: bool) -> Timer:
        """Return a timer for a hook of an instrument."""
        super().time_hook(instrument, observes_ir=observes_ir)
        return self._timer(TimeCategory.INSTRUMENT, instrument)

    def time_local(self, reason: LocalReason) -> Timer:
        """Return a timer for function passes in this process."""
        return self._timer(TimeCategory.LOCAL, reason)

    def time_decoding(self) -> Timer:
        """Return a timer for decoding functions that are read in this process."""
        return self._timer(TimeCategory.DECODING)

    def time_module_pass(self, name: str) -> Timer:
        """Return a timer for a module pass."""
        return self._timer(TimeCategory.MODULE_PASS, name)

    def _timer(self, category: TimeCategory, name: str = "") -> Timer:
        return _TracedTimer(self._spans, category, name, self)

    def record_local_stage(self, reason: LocalReason, outcome: StageResult) -> None:
        """Record a stage that ran in this process, and its passes."""
        super().record_local_stage(reason, outcome)
        span = TimedSpan(TimeCategory.LOCAL, reason, outcome.ended - outcome.began)
        self.add_span(span, outcome.began, outcome.ended)

    def add_span(self, span: TimedSpan, began: float, ended: float) -> None:
        """Record an activity of the coordinator, and the calls that were made in it."""
        category = _CATEGORIES[span.category]
        name = span.name or "unpacking to look"
        if category is Category.LOCAL:
            name = f"here: {name}"
        self._track.add(name, category, began, ended)
        if category is Category.LOCAL:
            self._add_calls(ended)
            self._tracing.flush()

    def traced_walk(
        self,
        steps: Sequence[Pass],
        names: Sequence[str],
        proceed: Callable[[int, Any], object] | None,
    ) -> Callable[[int, Any], object]:
        """Return what a walk of passes over functions is to call."""
        walk = ModuleWalk(proceed)
        self._walk = _names_of(steps), names, walk
        return walk

    def record_calls(
        self, steps: Sequence[Pass], names: Sequence[str]
    ) -> CallRecorder | None:
        """Return the recorder of passes on functions here."""
        recorder = CallRecorder()
        self._calls.append((_names_of(steps), names, recorder))
        return recorder

    def _add_calls(self, ended: float) -> None:
        """Put on the timeline what passes did here, up to a time."""
        calls, self._calls = self._calls, []
        for steps, names, recorder in calls:
            entries = decoded_calls(recorder.encoded())
            self._track.extend(_slices(entries, steps, names))
        walked, self._walk = self._walk, None
        if walked is not None:
            steps, names, walk = walked
            entries = decoded_calls(walk.encoded(ended))
            self._track.extend(_slices(entries, steps, names))

    def new_transfer(
        self, steps: Sequence[Pass], names: Sequence[str], *, was_warm: bool
    ) -> TransferMetrics:
        """Return the metrics of a stage in the workers."""
        return _TracedTransfer(
            _names_of(steps),
            names,
            self._tracing,
            [self._own_track(what) for what in ("coordinator", "packing", "unpacking")],
            was_warm=was_warm,
        )

    @contextlib.contextmanager
    def recording_end(self) -> Generator[None]:
        """Record how the block ends, which is the run."""
        end = "succeeded"
        try:
            yield
        except BaseException as error:
            end = _end_by(error)
            self._track.mark(end, time.perf_counter(), str(error))
            raise
        finally:
            now = time.perf_counter()
            self._add_calls(now)
            self._track.add("run", Category.RUN, self._began, now, end)
            self._tracing.end_run(self._place)


class _TracedTimer(Timer):
    """A timer that records its block as a slice, too."""

    __slots__ = ("_metrics",)

    def __init__(
        self,
        spans: list[TimedSpan],
        category: TimeCategory,
        name: str,
        metrics: TracedMetrics,
    ) -> None:
        super().__init__(spans, category, name)
        self._metrics = metrics

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        now = time.perf_counter()
        self._metrics.add_span(self._spans[-1], self._began, now)


class _TracedTransfer(TransferMetrics):
    """The metrics of one stage in the workers, which is recorded in a trace."""

    is_traced = True

    def __init__(
        self,
        steps: Sequence[str],
        names: Sequence[str],
        tracing: Tracing,
        tracks: Sequence[Track],
        *,
        was_warm: bool,
    ) -> None:
        super().__init__(was_warm=was_warm)
        self._steps, self._names, self._tracing = steps, names, tracing
        self._own, self._packing, self._unpacking = tracks
        # Since when a worker that was not seen before may have been starting.
        self._replaced = None if was_warm else self._began
        self._jobs: list[tuple[Track, JobTimeline, float]] = []
        self._workers: set[Track] = set()  # that had jobs, and are there

    def packed(self, began: float) -> None:
        """Record that functions were encoded, from a time until now."""
        super().packed(began)
        now = time.perf_counter()
        self._packing.add("packing", Category.PACKING, began, now)

    def unpacked(self, began: float) -> None:
        """Record that functions were decoded, from a time until now."""
        super().unpacked(began)
        now = time.perf_counter()
        self._unpacking.add("unpacking", Category.UNPACKING, began, now)

    def add_timeline(self, timeline: JobTimeline) -> None:
        """Record the timeline of a job, until the end of the stage."""
        now = time.perf_counter()
        shift = 0.0
        if timeline.began < self._began or timeline.ended > now:
            shift = now - timeline.ended  # the clock of another machine
        key = timeline.host, timeline.process, timeline.thread
        track = self._worker(key, timeline.began + shift)
        if not self._tracing.has_others:  # whose job there may not have come back yet
            self._wait_until(track, timeline.began + shift)
        track.until = timeline.ended + shift
        self._jobs.append((track, timeline, shift))

    def worker_ended(
        self, what: str, process: int, since: float = 0.0, during: str = ""
    ) -> None:
        """Record that a worker died or was killed, and its last activity."""
        super().worker_ended(what, process, since, during)
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

    def retried(self, function: str) -> None:
        """Record that a function is run again."""
        super().retried(function)
        self.note(f"retry of {function}")

    def note(self, what: str) -> None:
        """Record an event of the coordinator."""
        self._own.mark(what, time.perf_counter())

    def end(self) -> None:
        """Put the stage on the timeline, and write it."""
        now = time.perf_counter()
        passes = list(dict.fromkeys(self._steps))  # restoring passes are there often
        more = ", ..." if len(passes) > _MAX_NAMED_PASSES else ""
        name = f"stage: {', '.join(passes[:_MAX_NAMED_PASSES])}{more}"
        what = f"{len(self._steps)} passes, {self.jobs} jobs, in the workers"
        self._own.add(name, Category.STAGE, self._began, now, what)
        if not self._tracing.has_others:  # whose jobs may be under way there
            for track in self._workers:
                self._wait_until(track, now)
        jobs, self._jobs = self._jobs, []
        for track, timeline, shift in jobs:
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


def _names_of(steps: Iterable[Pass]) -> Sequence[str]:
    return [step.info.name for step in steps]


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
