"""The metrics of a run, collected while it runs; `RunReport` is made from them.

The clock is read around whole stages, jobs, module passes and hooks, never around one
function, so the cost of the metrics is not measurable.
"""

from __future__ import annotations

import contextlib
import enum
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec

from parpass.runner.ipc.messages import JobTimeline, JobTimes
from parpass.runner.report.figures import CacheFigures, LocalReason, ratio
from parpass.runner.report.report import RunReport
from parpass.runner.stage.call_recorder import CallRecorder
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.plan.commands import StageResult, StepRecord


class TimeCategory(enum.Enum):
    """The activities of the coordinator's process that are timed."""

    MODULE_PASS = "module pass"
    INSTRUMENT = "instrument"
    LOCAL = "local"
    DECODING = "decoding"


class TimedSpan(msgspec.Struct, frozen=True):
    """The seconds of one activity."""

    category: TimeCategory
    name: str
    seconds: float


class Timer:
    """A context manager that appends the time of its block to the spans.

    Attributes:
        name: The name of the span; may be set until the block ends.
    """

    __slots__ = ("_began", "_category", "_spans", "name")

    def __init__(
        self, spans: list[TimedSpan], category: TimeCategory, name: str = ""
    ) -> None:
        self._spans = spans
        self._category = category
        self.name = name

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        seconds = time.perf_counter() - self._began
        self._spans.append(TimedSpan(self._category, self.name, seconds))


class WorkerTimeShares(NamedTuple):
    """The seconds of all workers in a stage, by what they did; see `RunFigures`."""

    busy: float
    starting: float
    idle_at_end: float
    waiting: float


class TransferMetrics:
    """The metrics of one stage in the workers. All times are seconds.

    Attributes:
        packing: The time of encoding functions, parallel to the workers.
        unpacking: The time of decoding results, parallel to the workers.
        sent: The bytes sent to workers.
        received: The bytes received from workers.
        jobs: The number of jobs that are finished.
        busy: The time of workers on these jobs.
        processor: The processor time of these jobs.
        queued: The part of `busy` in which the worker waited for a processor.
        deaths: How many workers died, or were killed.
        retries: How many functions were run again because of `on_failure="retry"`.

    Args:
        was_warm: Whether there were workers when the stage began.
    """

    is_traced = False  # whether results have a timeline

    def __init__(self, *, was_warm: bool = True) -> None:
        self.was_warm = was_warm
        self.packing = self.unpacking = self.busy = 0.0
        self.processor = self.queued = 0.0
        self.sent = self.received = self.jobs = 0
        self.deaths = self.retries = 0
        self._began = self._last = time.perf_counter()
        self._first: dict[int, float] = {}  # when each worker's first job began
        self._in_flight = 0
        self._idle = 0.0  # of workers, since the last job was sent

    def job_sent(self, size: int) -> None:
        """Record that a job was sent; `size` is in bytes."""
        self.sent += size
        self._last = time.perf_counter()
        self._idle = 0.0
        self._in_flight += 1

    def packed(self, began: float) -> None:
        """Record that functions were encoded, from a time until now."""
        self.packing += time.perf_counter() - began

    def unpacked(self, began: float) -> None:
        """Record that functions were decoded, from a time until now."""
        self.unpacking += time.perf_counter() - began

    def add_timeline(self, timeline: JobTimeline) -> None:
        """Record the timeline of a job in a trace."""

    def worker_ended(
        self, what: str, process: int, since: float = 0.0, during: str = ""
    ) -> None:
        """Record that a worker died or was killed.

        Args:
            what: How it ended.
            process: Its process ID.
            since: The start of its last activity; 0 if not known.
            during: That activity: pass and function.
        """
        del what, process, since, during  # for a trace
        self.deaths += 1

    def retried(self, function: str) -> None:
        """Record that a function is run again because of `on_failure="retry"`."""
        del function
        self.retries += 1

    def end(self) -> None:
        """Write the stage, which is over, to a trace."""

    def note(self, what: str) -> None:
        """Record an event of the coordinator in a trace."""

    def job_finished(self, size: int, times: JobTimes, workers: int) -> None:
        """Record that the result of a job arrived; `size` is in bytes."""
        self.received += size
        self.jobs += 1
        self.busy += times.seconds
        self.processor += times.processor
        self.queued += times.queued
        self.accrue_idle(workers)
        self._in_flight = max(0, self._in_flight - 1)
        self._first.setdefault(times.process, self._last - times.seconds)

    def accrue_idle(self, workers: int) -> None:
        """Add the time of workers without a job since the last event."""
        now = time.perf_counter()
        self._idle += max(0, workers - self._in_flight) * (now - self._last)
        self._last = now

    def shares(self, workers: int) -> WorkerTimeShares:
        """Return the shares of the time of the workers, which add up to all of it."""
        left = workers * self.seconds
        busy = min(left, self.busy)
        left -= busy
        start = 0.0
        if not self.was_warm:
            first = min(self._first.values(), default=self._last)
            began = [*self._first.values(), *[first] * (workers - len(self._first))]
            start = min(left, sum(began) - len(began) * self._began)
        end = min(left - start, self._idle)
        return WorkerTimeShares(busy, start, end, left - start - end)

    @property
    def seconds(self) -> float:
        """The seconds from the start of the stage to the last event."""
        return self._last - self._began


class RunMetrics:
    """The metrics of one run.

    Recording is an append; sums are made by `report`.

    Args:
        workers: How many workers may be used.
        began: The start of the run, by `time.perf_counter()`; by default now.

    Attributes:
        workers: How many workers may be used.
        starting: The seconds of waiting for workers to start.
        is_traced: Whether calls of passes on functions are recorded.
    """

    _seconds = 0.0
    _names: Sequence[str] = ()  # of the functions whose time is known
    _seconds_of: Sequence[float] = ()  # of each of these functions
    _longest = 0.0
    _transfers: Sequence[tuple[TransferMetrics, int]] = ()
    # Of the stage that workers run now.
    _current_transfers: Sequence[TransferMetrics] = ()
    starting = 0.0
    _loading = 0.0  # of this process, besides what is timed
    _contended = 0.0  # that passes took longer here because workers were starting
    _unsendable: Mapping[str, str] = MappingProxyType({})
    _cache: CacheFigures | None = None
    _observers: tuple[str, ...] = ()
    is_traced = False
    # What functions that ran in workers would have taken in this process.
    _counterfactual_seconds: float | None = 0.0

    def __init__(self, workers: int, began: float | None = None) -> None:
        self.workers = workers
        now = time.perf_counter()
        self._began = now if began is None else began
        self._beforehand = now - self._began
        self._spans: list[TimedSpan] = []
        self._stages: list[Sequence[StepRecord]] = []

    def time_hook(self, instrument: str, *, observes_ir: bool) -> Timer:
        """Return a timer for a hook of an instrument."""
        if observes_ir and instrument not in self._observers:
            self._observers = (*self._observers, instrument)
        return Timer(self._spans, TimeCategory.INSTRUMENT, instrument)

    def time_local(self, reason: LocalReason) -> Timer:
        """Return a timer for function passes in this process."""
        return Timer(self._spans, TimeCategory.LOCAL, reason)

    def record_loading(self, seconds: float) -> None:
        """Record the time of loading what sends functions to workers."""
        self._loading += seconds

    def record_start(self, seconds: float, expected: float | None) -> None:
        """Record that workers were started in the span of passes that just ended.

        Args:
            seconds: The part of it in which workers were started, and no pass ran.
            expected: The time that the passes take when none start; None if unknown.
        """
        span = self._spans.pop()
        spent = max(0.0, span.seconds - seconds)
        self._spans.append(TimedSpan(span.category, span.name, spent))
        self._loading += span.seconds - spent
        if expected is not None:
            self._contended += max(0.0, spent - expected)

    def new_transfer(
        self, steps: Sequence[Pass], names: Sequence[str], *, was_warm: bool
    ) -> TransferMetrics:
        """Return the metrics of a stage in the workers, of which a trace tells more.

        Args:
            steps: The passes.
            names: The names of all functions.
            was_warm: Whether workers have been started before.
        """
        del steps, names
        return TransferMetrics(was_warm=was_warm)

    def traced_walk(
        self,
        steps: Sequence[Pass],
        names: Sequence[str],
        proceed: Callable[[int, Any], object] | None,
    ) -> Callable[[int, Any], object]:
        """Return what a walk of passes over functions calls, in a run that is traced.

        Args:
            steps: The passes, each of which runs on all functions in turn.
            names: The names of the functions.
            proceed: What the walk would call, before each function; its answer is kept.
        """
        raise NotImplementedError

    def record_calls(
        self, steps: Sequence[Pass], names: Sequence[str]
    ) -> CallRecorder | None:
        """Return the recorder of passes on functions here; None unless traced."""
        del steps, names
        return None

    def recording_end(self) -> contextlib.AbstractContextManager[None]:
        """Return a block around the run, which a trace tells the end of."""
        return contextlib.nullcontext()

    def record_local_stage(self, reason: LocalReason, outcome: StageResult) -> None:
        """Record a stage that ran in this process, and its passes."""
        self._spans.append(
            TimedSpan(TimeCategory.LOCAL, reason, outcome.ended - outcome.began)
        )
        records = outcome.records
        if records and records[-1].failure is not None:
            self.record_passes(records)
        else:  # not copied: small runs pass here, and take microseconds
            self._stages.append(records)

    def time_decoding(self) -> Timer:
        """Return a timer for decoding functions that are read in this process."""
        return Timer(self._spans, TimeCategory.DECODING)

    def time_module_pass(self, name: str) -> Timer:
        """Return a timer for a module pass."""
        return Timer(self._spans, TimeCategory.MODULE_PASS, name)

    def record_passes(self, records: Sequence[StepRecord]) -> None:
        """Record the times of the passes of a stage."""
        # Not the records themselves: a failure refers to the frames that raised it.
        kept = [StepRecord(one.pass_name, seconds=one.seconds) for one in records]
        self._stages.append(kept)

    def record_functions(self, outcomes: StageOutcomes) -> None:
        """Record the times of the functions of a stage."""
        self._longest += max(outcomes.seconds, default=0.0)
        if self._names != outcomes.names:  # a module pass added or removed some
            known = dict(zip(self._names, self._seconds_of, strict=True))
            before = [known.pop(name, 0.0) for name in outcomes.names]
            self._names = [*outcomes.names, *known]
            self._seconds_of = [*before, *known.values()]
        sums = array("d", self._seconds_of)
        for function, seconds in enumerate(outcomes.seconds):
            sums[function] += seconds
        self._seconds_of = sums

    def record_transfer(self, transfer: TransferMetrics, functions: int) -> None:
        """Record a stage in the workers, which is over."""
        transfer.accrue_idle(self.workers)
        self._transfers = [*self._transfers, (transfer, functions)]
        self._current_transfers = [*self._current_transfers, transfer]
        if not transfer.was_warm:
            shares = transfer.shares(self.workers)
            self.starting += shares.starting / self.workers

    def record_counterfactual(self, seconds: float | None, took: float = 0.0) -> None:
        """Record the estimated time in this process of functions that ran in workers.

        It is used for the reported speed-up. The estimate is bounded by the time in the
        workers without waiting for processors, since an earlier measurement may have
        been slow by accident.

        Args:
            seconds: The estimate from earlier times in this process; None if unknown.
            took: The elapsed time of passes on these functions in the workers.
        """
        busy = sum([one.busy for one in self._current_transfers])
        queued = sum([one.queued for one in self._current_transfers])
        self._current_transfers = ()
        if seconds is None or self._counterfactual_seconds is None:
            self._counterfactual_seconds = None
        else:
            share = 1.0 - ratio(queued, busy, none=0.0)
            self._counterfactual_seconds += min(seconds, share * took)

    def record_unsendable(self, pass_name: str, reason: str) -> None:
        """Record that a pass cannot be sent to workers, and why."""
        self._unsendable = {**self._unsendable, pass_name: reason}

    def record_cache(self, figures: CacheFigures) -> None:
        """Record what a cache gave to the run."""
        self._cache = figures

    def finish(self) -> None:
        """Record that the run is over."""
        self._seconds = time.perf_counter() - self._began

    def report(self) -> RunReport:
        """Return the report of the run, which is over."""
        transfers = [one for one, _ in self._transfers]
        shares = [one.shares(self.workers) for one in transfers]
        in_workers = sum([one.seconds for one in transfers])
        alone = sum([s.seconds for s in self._spans if _is_serial_time(s)])
        known = sum([span.seconds for span in self._spans]) + in_workers
        known += self._beforehand + self._loading
        alone -= self._contended
        others = self._counterfactual_seconds
        most = max(self._seconds_of, default=0.0)
        largest = self._names[self._seconds_of.index(most)] if self._names else None
        return RunReport(
            seconds=self._seconds,
            beforehand=self._beforehand,
            loading=self._loading,
            workers=self.workers,
            module_passes=self._by_name(TimeCategory.MODULE_PASS),
            instruments=self._by_name(TimeCategory.INSTRUMENT),
            here=self._by_name(TimeCategory.LOCAL),
            in_workers=in_workers,
            looking=sum(self._by_name(TimeCategory.DECODING).values()),
            rest=max(0.0, self._seconds - known),
            busy=sum([share.busy for share in shares]),
            processor=sum([one.processor for one in transfers]),
            queued=sum([one.queued for one in transfers]),
            starting=sum([share.starting for share in shares]),
            idle_at_end=sum([share.idle_at_end for share in shares]),
            waiting=sum([share.waiting for share in shares]),
            packing=sum([one.packing for one in transfers]),
            unpacking=sum([one.unpacking for one in transfers]),
            passes=self._passes(),
            largest_function=largest,
            largest_function_seconds=most,
            longest_path=self._longest,
            stages=len(self._stages),
            jobs=sum([one.jobs for one in transfers]),
            deaths=sum([one.deaths for one in transfers]),
            retries=sum([one.retries for one in transfers]),
            functions=sum([count for _, count in self._transfers]),
            bytes_sent=sum([one.sent for one in transfers]),
            bytes_received=sum([one.received for one in transfers]),
            unsendable=dict(self._unsendable),
            observers=self._observers,
            cache=self._cache,
            serial_seconds=None if others is None else alone + others,
        )

    def _by_name(self, category: TimeCategory) -> dict[str, float]:
        found: dict[str, float] = {}
        for span in self._spans:
            if span.category is category:
                name = str(span.name)
                found[name] = found.get(name, 0.0) + span.seconds
        return found

    def _passes(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for stage in self._stages:
            for record in stage:
                name = record.pass_name
                found[name] = found.get(name, 0.0) + record.seconds
        return found


def _is_serial_time(span: TimedSpan) -> bool:
    """Return whether a serial run has that time, too.

    The time of functions that were run here in place of workers is left out: it is part
    of the counterfactual time.
    """
    if span.category is TimeCategory.LOCAL:
        return span.name not in (LocalReason.WORKERS_SLOWER, LocalReason.REVALIDATED)
    return span.category is not TimeCategory.DECODING
