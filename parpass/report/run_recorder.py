"""The recorder of a run: notes its times and counts, and makes its report of them.

The clock is read around whole stages, jobs, module passes and hooks, never around one
function, so the cost of it is not measurable.
"""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from parpass.report.figures import StageFigures, WorkerFigures
from parpass.report.report import RunReport
from parpass.runner.ipc.messages import JobResult
from parpass.runner.observers import (
    Activity,
    CacheFigures,
    RunObserver,
    SentStage,
    Span,
    WorkerEnd,
)
from parpass.runner.placement import PlacementReason
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform.passes import step_names
from parpass.transform.plan.commands import StepRecord
from parpass.transform.plan.serial import ends_stage


class StageInWorkers:
    """A stage that workers run: its figures so far, and since when they are idle.

    `sums` are the figures that add up, by the names of `StageFigures`.
    """

    def __init__(self, sent: SentStage) -> None:
        self.sums = defaultdict[str, Any](int, functions=sent.functions)
        self._sent = sent
        self._last = sent.began
        self._in_flight = 0
        self._idle = 0.0  # of workers, since the last job was sent

    def job_sent(self, now: float) -> None:
        self._last, self._idle = now, 0.0
        self._in_flight += 1

    def job_returned(self, now: float) -> None:
        self._add_idle_time(now)
        self._in_flight = max(0, self._in_flight - 1)

    def figures(self, now: float, starting: float) -> StageFigures:
        """Return the figures of the stage, which is over: the workers' time divided."""
        self._add_idle_time(now)
        in_workers = self._last - self._sent.began
        left = self._sent.workers * in_workers
        self.sums["in_workers"] = in_workers
        for name, seconds in (
            ("busy", self.sums["busy"]),
            ("starting", starting),
            ("idle_at_end", self._idle),
            ("waiting", left),
        ):
            self.sums[name] = min(left, seconds)
            left -= self.sums[name]
        return StageFigures(passes=step_names(self._sent.steps), **self.sums)

    def _add_idle_time(self, now: float) -> None:
        idle = max(0, self._sent.workers - self._in_flight)
        self._idle += idle * (now - self._last)
        self._last = now


class RunRecorder(RunObserver):
    """Notes the times and counts of one run, of which `report` makes a report.

    Noting is an append or a sum; what a report takes besides is computed by it.

    Args:
        began: The start of the run, by `time.perf_counter()`.
        ended: Called with this at its end.

    Attributes:
        stages: The records of the passes of each stage.
        sent: The figures of each stage that workers ran.
    """

    sent: Sequence[StageFigures] = ()
    _workers = 0
    _seconds = _beforehand = _copying = 0.0
    _starting_here = 0.0  # of the time of passes here, for the start of workers
    _longest_path = 0.0
    _cache: CacheFigures | None = None
    _unsendable: Mapping[str, str] = MappingProxyType({})
    _names: Sequence[str] = ()  # of the functions whose time is known
    _seconds_of: Sequence[float] = ()  # of each of these functions
    _stage: StageInWorkers

    def __init__(
        self, began: float, ended: Callable[[RunRecorder], object] | None = None
    ) -> None:
        self._began, self._ended = began, ended
        self._spans: list[Span] = []
        self.stages: list[Sequence[StepRecord]] = []

    def report(self) -> RunReport:
        """Return the report of the run, which is over."""
        here = self._seconds_by_name(Activity.HERE)
        if self._starting_here:
            here[PlacementReason.STARTING] -= self._starting_here
        loading = sum(self._seconds_by_name(Activity.LOADING).values())
        in_workers = sum([one.in_workers for one in self.sent])
        timed = sum([one.seconds for one in self._spans]) + in_workers
        largest, largest_seconds = self._largest_function()
        reading = self._seconds_by_name(Activity.READING_INSTRUMENT)
        figures = _sums(self.sent)
        figures["copying"] += self._copying
        return RunReport(
            **figures,
            seconds=self._seconds,
            beforehand=self._beforehand,
            loading=loading + self._starting_here,
            workers=self._workers,
            module_passes=self._seconds_by_name(Activity.MODULE_PASS),
            instruments=self._seconds_by_name(
                Activity.INSTRUMENT, Activity.READING_INSTRUMENT
            ),
            here=here,
            looking=sum(self._seconds_by_name(Activity.LOOKING).values()),
            rest=max(0.0, self._seconds - timed - self._beforehand),
            passes=_pass_seconds(self.stages),
            largest_function=largest,
            largest_function_seconds=largest_seconds,
            longest_path=self._longest_path,
            stages=len(self.stages),
            unsendable=dict(self._unsendable),
            observers=tuple(reading),
            cache=self._cache,
            stages_in_workers=self.sent,
        )

    def _seconds_by_name(self, *activities: Activity) -> dict[str, float]:
        found: dict[str, float] = {}
        for span in self._spans:
            if span.activity in activities:
                name = str(span.name)
                found[name] = found.get(name, 0.0) + span.seconds
        return found

    def _largest_function(self) -> tuple[str | None, float]:
        """Return the function with the longest time of passes, and that time."""
        most = max(self._seconds_of, default=0.0)
        name = self._names[self._seconds_of.index(most)] if self._names else None
        return name, most

    def run_began(self, workers: int, post: object) -> None:
        self._workers = workers
        self._beforehand = time.perf_counter() - self._began

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        self._copying = copying
        self._seconds = time.perf_counter() - self._began
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """Hand over what was noted of the run, whose time is over."""
        # Not kept: it is the runner's, and a run may outlive a runner that is dropped.
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(self)

    def span_ended(self, span: Span) -> None:
        if span.activity is Activity.ENCODING:
            self._stage.sums["encoding"] += span.seconds
        elif span.activity is Activity.DECODING:
            self._stage.sums["decoding"] += span.seconds
        else:
            self._spans.append(span)

    def stage_ended(
        self, records: Sequence[StepRecord], outcomes: StageOutcomes | None
    ) -> None:
        if outcomes is None and not (records and records[-1].failure is not None):
            # Not copied: small runs pass here, and take microseconds.
            self.stages.append(records)
            return
        # Not the records themselves: a failure refers to the frames that raised it.
        kept = [StepRecord(one.pass_name, seconds=one.seconds) for one in records]
        self.stages.append(kept)
        # Else the functions have times of passes behind it, too.
        if outcomes is not None and not ends_stage(records[-1]):
            self._add_functions(outcomes)

    def _add_functions(self, outcomes: StageOutcomes) -> None:
        self._longest_path += max(outcomes.seconds, default=0.0)
        if self._names != outcomes.names:  # a module pass added or removed some
            known = dict(zip(self._names, self._seconds_of, strict=True))
            before = [known.pop(name, 0.0) for name in outcomes.names]
            self._names = [*outcomes.names, *known]
            self._seconds_of = [*before, *known.values()]
        sums = array("d", self._seconds_of)
        for function, seconds in enumerate(outcomes.seconds):
            sums[function] += seconds
        self._seconds_of = sums

    def workers_started(self, seconds: float) -> None:
        self._starting_here += seconds

    def stage_sent(self, stage: SentStage) -> None:
        self._stage = StageInWorkers(stage)

    def bytes_sent(self, size: int) -> None:
        self._stage.sums["bytes_sent"] += size

    def job_sent(self, size: int) -> None:
        self._stage.sums["bytes_sent"] += size
        self._stage.job_sent(time.perf_counter())

    def job_returned(self, size: int, result: JobResult) -> None:
        self._stage.job_returned(time.perf_counter())
        sums, times = self._stage.sums, result.times
        sums["jobs"] += 1
        sums["bytes_received"] += size
        sums["busy"] += times.seconds
        sums["processor"] += times.processor
        sums["queued"] += times.queued
        sums["copying"] += times.copying

    def function_retried(self, function: str) -> None:
        self._stage.sums["retries"] += 1

    def worker_ended(self, end: WorkerEnd) -> None:
        self._stage.sums["deaths"] += 1

    def stage_returned(self, starting: float) -> None:
        figures = self._stage.figures(time.perf_counter(), starting)
        self.sent = [*self.sent, figures]

    def pass_unsendable(self, pass_name: str, reason: str) -> None:
        self._unsendable = {**self._unsendable, pass_name: reason}

    def cache_used(self, figures: CacheFigures) -> None:
        self._cache = figures


def _sums(stages: Sequence[WorkerFigures]) -> dict[str, Any]:
    """Return the sums of the figures that all stages have."""
    none = WorkerFigures()
    return {
        name: sum([getattr(one, name) for one in stages], getattr(none, name))
        for name in WorkerFigures.__struct_fields__
    }


def _pass_seconds(stages: Sequence[Sequence[StepRecord]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for stage in stages:
        for record in stage:
            name = record.pass_name
            found[name] = found.get(name, 0.0) + record.seconds
    return found
