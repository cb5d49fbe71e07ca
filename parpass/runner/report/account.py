"""Taking down how the time of a run goes, while it goes; `report` tells it.

The clock is read around whole stages, jobs, module passes and hooks, never around one
function, so that the account costs nothing that could be noticed.
"""

from __future__ import annotations

import enum
import time
from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from parpass.runner.report.figures import Reason, ratio
from parpass.runner.report.report import RunReport
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.messages import JobTimes
from parpass.transform.plan.commands import StageResult, StepRecord


class Part(enum.Enum):
    """What the run's own process does, one after the other."""

    MODULE_PASS = "module pass"
    INSTRUMENT = "instrument"
    HERE = "here"
    LOOKING = "looking"


class Spent(msgspec.Struct, frozen=True):
    """Seconds that something took."""

    part: Part
    name: str
    seconds: float


class Stopwatch:
    """A span of time, of the statements in a `with`."""

    __slots__ = ("_began", "_name", "_part", "_spans")

    def __init__(self, spans: list[Spent], part: Part, name: str = "") -> None:
        self._spans = spans
        self._part = part
        self._name = name

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        seconds = time.perf_counter() - self._began
        self._spans.append(Spent(self._part, self._name, seconds))


class Shares(NamedTuple):
    """What became of the seconds of all workers in a stage."""

    busy: float
    starting: float
    idle_at_end: float
    waiting: float


class Journey:
    """The journey of one stage's functions to the workers and back.

    Attributes:
        packing: Seconds of encoding functions, beside the workers.
        unpacking: Seconds of decoding what came back, beside the workers.
        sent: Bytes to the workers.
        received: Bytes from the workers.
        jobs: How many jobs came back.
        busy: Seconds that workers spent on them.
        processor: Seconds of processors that they took for that.
        queued: Seconds that they were ready for it, and had none.
    """

    def __init__(self) -> None:
        self.packing = self.unpacking = self.busy = 0.0
        self.processor = self.queued = 0.0
        self.sent = self.received = self.jobs = 0
        self._began = self._last = time.perf_counter()
        self._first: float | None = None  # when the first job began
        self._in_flight = 0
        self._idle = 0.0  # seconds of workers since the last job was sent

    def job_sent(self, size: int) -> None:
        """Take down that a job left."""
        self.sent += size
        self._last = time.perf_counter()
        self._idle = 0.0
        self._in_flight += 1

    def job_came_back(self, size: int, times: JobTimes, workers: int) -> None:
        """Take down that a job came back."""
        self.received += size
        self.jobs += 1
        self.busy += times.seconds
        self.processor += times.processor
        self.queued += times.queued
        self._pass_time(workers)
        self._in_flight = max(0, self._in_flight - 1)
        if self._first is None:
            self._first = self._last - times.seconds

    def end(self, workers: int) -> None:
        """Take down that the stage is over."""
        self._pass_time(workers)

    def shares(self, workers: int, *, was_warm: bool) -> Shares:
        """Return what became of the workers' seconds; the parts make up all of them."""
        left = workers * self.seconds
        busy = min(left, self.busy)
        left -= busy
        started = self._last if self._first is None else self._first
        start = 0.0 if was_warm else min(left, workers * (started - self._began))
        end = min(left - start, self._idle)
        return Shares(busy, start, end, left - start - end)

    @property
    def seconds(self) -> float:
        """Seconds from the beginning to what happened last."""
        return self._last - self._began

    def _pass_time(self, workers: int) -> None:
        now = time.perf_counter()
        self._idle += max(0, workers - self._in_flight) * (now - self._last)
        self._last = now


class Account:
    """How the time of one run goes.

    Taking down is an `append`; what it comes to is worked out when somebody asks.

    Args:
        workers: How many may be used.
        began: When the run began, by `time.perf_counter()`; by default now.

    Attributes:
        workers: The same.
        starting: Seconds until workers were there that had to be started.
    """

    _seconds = 0.0
    _names: Sequence[str] = ()  # of the functions that workers were given
    _seconds_of: Sequence[float] = ()  # of each of them
    _longest = 0.0
    _journeys: Sequence[tuple[Journey, int, bool]] = ()
    _under_way: Sequence[Journey] = ()  # those of the stage that workers are given
    starting = 0.0
    _unsendable: Mapping[str, str] = MappingProxyType({})
    _observers: tuple[str, ...] = ()
    _in_their_place: float | None = 0.0  # what took workers, done in this process

    def __init__(self, workers: int, began: float | None = None) -> None:
        self.workers = workers
        now = time.perf_counter()
        self._began = now if began is None else began
        self._beforehand = now - self._began
        self._spans: list[Spent] = []  # one after the other, in the run's own process
        self._stages: list[Sequence[StepRecord]] = []  # of the passes in each

    def hook(self, instrument: str, *, observes_ir: bool) -> Stopwatch:
        """Return what takes down the time of a hook."""
        if observes_ir and instrument not in self._observers:
            self._observers = (*self._observers, instrument)
        return Stopwatch(self._spans, Part.INSTRUMENT, instrument)

    def here(self, reason: Reason) -> Stopwatch:
        """Return what takes down the time of function passes in this process."""
        return Stopwatch(self._spans, Part.HERE, reason)

    def stayed(self, reason: Reason, outcome: StageResult) -> None:
        """Take down a stage that was run in this process."""
        self._spans.append(Spent(Part.HERE, reason, outcome.ended - outcome.began))
        records = outcome.records
        if records and records[-1].failure is not None:
            self.work(records)
        else:  # as it is, for this is where small runs come by
            self._stages.append(records)

    def looking(self) -> Stopwatch:
        """Return what takes down the time of unpacking because somebody looks."""
        return Stopwatch(self._spans, Part.LOOKING)

    def module_pass(self, name: str) -> Stopwatch:
        """Return what takes down the time of a module pass."""
        return Stopwatch(self._spans, Part.MODULE_PASS, name)

    def work(self, records: Sequence[StepRecord]) -> None:
        """Take down what the passes of a stage left behind."""
        # Not the records: a failure holds on to all that was there when it was raised.
        kept = [StepRecord(one.pass_name, seconds=one.seconds) for one in records]
        self._stages.append(kept)

    def functions(self, outcomes: StageOutcomes) -> None:
        """Take down how long the functions of a stage took."""
        self._longest += max(outcomes.seconds, default=0.0)
        if self._names != outcomes.names:  # a module pass added some, or removed some
            known = dict(zip(self._names, self._seconds_of, strict=True))
            before = [known.pop(name, 0.0) for name in outcomes.names]
            self._names = [*outcomes.names, *known]
            self._seconds_of = [*before, *known.values()]
        sums = array("d", self._seconds_of)
        for function, seconds in enumerate(outcomes.seconds):
            sums[function] += seconds
        self._seconds_of = sums

    def journey(self, journey: Journey, functions: int, *, was_warm: bool) -> None:
        """Take down a stage in the workers, which is over."""
        journey.end(self.workers)
        self._journeys = [*self._journeys, (journey, functions, was_warm)]
        self._under_way = [*self._under_way, journey]
        if not was_warm:
            shares = journey.shares(self.workers, was_warm=False)
            self.starting += shares.starting / self.workers

    def would_take(self, seconds: float | None, took: float = 0.0) -> None:
        """Take down what functions that workers were given would take here.

        Args:
            seconds: That, by what passes took here before; None if it is not known.
            took: What passes took on them now, by the clock. They take no longer here,
                where they need not queue for a processor: what they took before was an
                unlucky moment then.
        """
        busy = sum([one.busy for one in self._under_way])
        queued = sum([one.queued for one in self._under_way])
        self._under_way = ()
        if seconds is None or self._in_their_place is None:
            self._in_their_place = None
        else:
            share = 1.0 - ratio(queued, busy, none=0.0)
            self._in_their_place += min(seconds, share * took)

    def stays(self, pass_name: str, reason: str) -> None:
        """Take down that a pass cannot be sent to the workers."""
        self._unsendable = {**self._unsendable, pass_name: reason}

    def end(self) -> None:
        """Take down that the run is over."""
        self._seconds = time.perf_counter() - self._began

    def report(self) -> RunReport:
        """Return the account of the run, which is over."""
        journeys = [one for one, _, _ in self._journeys]
        shares = [one.shares(self.workers, was_warm=w) for one, _, w in self._journeys]
        in_workers = sum([one.seconds for one in journeys])
        alone = sum([s.seconds for s in self._spans if _is_of_a_serial_run(s)])
        told = sum([span.seconds for span in self._spans]) + in_workers
        told += self._beforehand
        others = self._in_their_place
        most = max(self._seconds_of, default=0.0)
        largest = self._names[self._seconds_of.index(most)] if self._names else None
        return RunReport(
            seconds=self._seconds,
            beforehand=self._beforehand,
            workers=self.workers,
            module_passes=self._by_name(Part.MODULE_PASS),
            instruments=self._by_name(Part.INSTRUMENT),
            here=self._by_name(Part.HERE),
            in_workers=in_workers,
            looking=sum(self._by_name(Part.LOOKING).values()),
            rest=max(0.0, self._seconds - told),
            busy=sum([share.busy for share in shares]),
            processor=sum([one.processor for one in journeys]),
            queued=sum([one.queued for one in journeys]),
            starting=sum([share.starting for share in shares]),
            idle_at_end=sum([share.idle_at_end for share in shares]),
            waiting=sum([share.waiting for share in shares]),
            packing=sum([one.packing for one in journeys]),
            unpacking=sum([one.unpacking for one in journeys]),
            passes=self._passes(),
            largest_function=largest,
            largest_function_seconds=most,
            longest_path=self._longest,
            stages=len(self._stages),
            jobs=sum([one.jobs for one in journeys]),
            functions=sum([count for _, count, _ in self._journeys]),
            bytes_sent=sum([one.sent for one in journeys]),
            bytes_received=sum([one.received for one in journeys]),
            unsendable=dict(self._unsendable),
            observers=self._observers,
            serial_seconds=None if others is None else alone + others,
        )

    def _by_name(self, part: Part) -> dict[str, float]:
        found: dict[str, float] = {}
        for span in self._spans:
            if span.part is part:
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


def _is_of_a_serial_run(span: Spent) -> bool:
    """Return whether a serial run takes that time as well.

    What was taken over from workers is among what these would have taken here.
    """
    if span.part is Part.HERE:
        return span.name not in (Reason.BEHIND, Reason.AGAIN)
    return span.part is not Part.LOOKING
