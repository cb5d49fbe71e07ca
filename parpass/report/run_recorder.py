"""The recorder of a run: notes its times and counts; `report_of` adds them up.

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

_INSTRUMENTS = (Activity.INSTRUMENT, Activity.READING_INSTRUMENT)


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
    """Notes the times and counts of one run.

    Noting is an append or a sum; what a report takes besides is computed by it.

    Args:
        began: The start of the run, by `time.perf_counter()`.

    Attributes:
        workers: How many workers might be used.
        seconds: The time of the run.
        stages: The records of the passes of each stage.
        spans: What this process did when.
        sent: The figures of each stage that workers ran.
        unsendable: The passes that cannot be pickled, and why.
        cache: What a function cache gave; None in a run without one.
        copying: The seconds spent on copies of functions in this process.
        starting_here: The seconds of starting workers in the time of passes here.
        longest_path: The sum of the longest function of each stage.
    """

    workers = 0
    seconds = beforehand = copying = 0.0
    starting_here = longest_path = 0.0
    cache: CacheFigures | None = None
    unsendable: Mapping[str, str] = MappingProxyType({})
    sent: Sequence[StageFigures] = ()
    _names: Sequence[str] = ()  # of the functions whose time is known
    _seconds_of: Sequence[float] = ()  # of each of these functions
    _stage: StageInWorkers

    def __init__(self, began: float) -> None:
        self._began = began
        self.spans: list[Span] = []
        self.stages: list[Sequence[StepRecord]] = []

    @property
    def largest_function(self) -> tuple[str | None, float]:
        """The function with the longest time of passes, and that time."""
        most = max(self._seconds_of, default=0.0)
        name = self._names[self._seconds_of.index(most)] if self._names else None
        return name, most

    def run_began(self, workers: int, post: object) -> None:
        del post
        self.workers = workers
        self.beforehand = time.perf_counter() - self._began

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        del error
        self.copying = copying
        self.seconds = time.perf_counter() - self._began

    def span_ended(self, span: Span) -> None:
        """Note the time; of a stage in workers it is that stage's."""
        if span.activity is Activity.ENCODING:
            self._stage.sums["encoding"] += span.seconds
        elif span.activity is Activity.DECODING:
            self._stage.sums["decoding"] += span.seconds
        else:
            self.spans.append(span)

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
        self.longest_path += max(outcomes.seconds, default=0.0)
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
        """Note the part of the last span that no pass took."""
        self.starting_here += seconds

    def stage_sent(self, stage: SentStage) -> None:
        self._stage = StageInWorkers(stage)

    def bytes_sent(self, size: int) -> None:
        """Note the bytes."""
        self._stage.sums["bytes_sent"] += size

    def job_sent(self, size: int) -> None:
        """Note the bytes, and that a worker has something to do."""
        self._stage.sums["bytes_sent"] += size
        self._stage.job_sent(time.perf_counter())

    def job_returned(self, size: int, result: JobResult) -> None:
        """Note the bytes, and the times of the job."""
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
        self.unsendable = {**self.unsendable, pass_name: reason}

    def cache_used(self, figures: CacheFigures) -> None:
        self.cache = figures


class RunEnd(RunObserver):
    """Calls a function when a run is over.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self._function: Callable[[], object] | None = function

    def run_ended(self, error: BaseException | None, copying: float) -> None:
        # Not kept: it is the runner's, and a run may outlive a runner that is dropped.
        function, self._function = self._function, None
        if function is not None:
            function()


def report_of(run: RunRecorder) -> RunReport:
    """Return the report of a run, which is over."""
    spans = run.spans
    in_workers = sum([one.in_workers for one in run.sent])
    here = _by_name(spans, Activity.HERE)
    if run.starting_here:
        here[PlacementReason.STARTING] -= run.starting_here
    loading = sum([one.seconds for one in spans if one.activity is Activity.LOADING])
    timed = sum([one.seconds for one in spans]) + in_workers + run.beforehand
    largest, largest_seconds = run.largest_function
    figures = _sums(run.sent)
    figures["copying"] += run.copying
    return RunReport(
        **figures,
        seconds=run.seconds,
        beforehand=run.beforehand,
        loading=loading + run.starting_here,
        workers=run.workers,
        module_passes=_by_name(spans, Activity.MODULE_PASS),
        instruments=_by_name(spans, *_INSTRUMENTS),
        here=here,
        looking=sum(_by_name(spans, Activity.LOOKING).values()),
        rest=max(0.0, run.seconds - timed),
        passes=_pass_seconds(run.stages),
        largest_function=largest,
        largest_function_seconds=largest_seconds,
        longest_path=run.longest_path,
        stages=len(run.stages),
        unsendable=dict(run.unsendable),
        observers=tuple(_by_name(spans, Activity.READING_INSTRUMENT)),
        cache=run.cache,
        stages_in_workers=run.sent,
    )


def _sums(stages: Sequence[WorkerFigures]) -> dict[str, Any]:
    """Return the sums of the figures that all stages have."""
    none = WorkerFigures()
    return {
        name: sum([getattr(one, name) for one in stages], getattr(none, name))
        for name in WorkerFigures.__struct_fields__
    }


def _by_name(spans: Sequence[Span], *activities: Activity) -> dict[str, float]:
    found: dict[str, float] = {}
    for span in spans:
        if span.activity in activities:
            name = str(span.name)
            found[name] = found.get(name, 0.0) + span.seconds
    return found


def _pass_seconds(stages: Sequence[Sequence[StepRecord]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for stage in stages:
        for record in stage:
            name = record.pass_name
            found[name] = found.get(name, 0.0) + record.seconds
    return found
