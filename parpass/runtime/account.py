"""Taking down how the time of a run goes, while it goes; `report` tells it.

The clock is read around whole stages, jobs, module passes and hooks, never around one
function, so that the account costs nothing that could be noticed.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence

from parpass.runtime.report import Reason, RunReport
from parpass.runtime.stage import FunctionOutcome
from parpass.transform.plan import StepRecord


class Journey:
    """The journey of one stage's functions to the workers and back.

    Attributes:
        packing: Seconds of encoding functions, beside the workers.
        unpacking: Seconds of decoding what came back, beside the workers.
        sent: Bytes to the workers.
        received: Bytes from the workers.
        jobs: How many jobs came back.
        busy: Seconds that workers spent on them.
    """

    def __init__(self) -> None:
        self.packing = self.unpacking = self.busy = 0.0
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

    def job_came_back(self, size: int, seconds: float, workers: int) -> None:
        """Take down that a job of so many seconds came back."""
        self.received += size
        self.jobs += 1
        self.busy += seconds
        self._pass_time(workers)
        self._in_flight = max(0, self._in_flight - 1)
        if self._first is None:
            self._first = self._last - seconds

    def shares(self, workers: int, *, was_warm: bool) -> tuple[float, float, float]:
        """Return the worker seconds that went to starting, to the end, to waiting.

        Call it when the stage is over. With `busy` they make all of its worker seconds.
        """
        self._pass_time(workers)
        left = workers * (self._last - self._began)
        self.busy = min(self.busy, left)
        left -= self.busy
        started = self._last if self._first is None else self._first
        start = 0.0 if was_warm else min(left, workers * (started - self._began))
        end = min(left - start, self._idle)
        return start, end, left - start - end

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

    Args:
        workers: How many may be used.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._began = time.perf_counter()
        self._module_passes: defaultdict[str, float] = defaultdict(float)
        self._instruments: defaultdict[str, float] = defaultdict(float)
        self._here: defaultdict[Reason, float] = defaultdict(float)
        self._passes: defaultdict[str, float] = defaultdict(float)
        self._functions: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._longest = 0.0
        self._unsendable: dict[str, str] = {}
        self._observers: dict[str, None] = {}

    @contextlib.contextmanager
    def hook(self, instrument: str, *, observes_ir: bool) -> Generator[None]:
        """Take down the time of a hook."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._instruments[instrument] += time.perf_counter() - began
            if observes_ir:
                self._observers[instrument] = None

    @contextlib.contextmanager
    def here(self, reason: Reason) -> Generator[None]:
        """Take down the time of function passes in this process, and why it is here."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._here[reason] += time.perf_counter() - began

    @contextlib.contextmanager
    def looking(self) -> Generator[None]:
        """Take down the time of unpacking because somebody looks."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._seconds["looking"] += time.perf_counter() - began

    @contextlib.contextmanager
    def module_pass(self, name: str) -> Generator[None]:
        """Take down the time of a module pass."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._module_passes[name] += time.perf_counter() - began

    def work(self, records: Sequence[StepRecord]) -> None:
        """Take down how long the passes of a stage took."""
        self._counts["stages"] += 1
        for record in records:
            self._passes[record.pass_name] += record.seconds

    def functions(self, outcomes: Iterable[tuple[str, FunctionOutcome]]) -> None:
        """Take down how long the functions of a stage took."""
        longest = 0.0
        for name, outcome in outcomes:
            seconds = 0.0
            for step in outcome.steps:
                seconds += step.seconds
            self._functions[name] += seconds
            longest = max(longest, seconds)
        self._longest += longest

    def journey(self, journey: Journey, functions: int, *, was_warm: bool) -> None:
        """Take down a stage in the workers, which is over."""
        start, end, waiting = journey.shares(self._workers, was_warm=was_warm)
        self._seconds["in_workers"] += journey.seconds
        self._seconds["starting"] += start
        self._seconds["idle_at_end"] += end
        self._seconds["waiting"] += waiting
        self._seconds["busy"] += journey.busy
        self._seconds["packing"] += journey.packing
        self._seconds["unpacking"] += journey.unpacking
        self._counts["jobs"] += journey.jobs
        self._counts["functions"] += functions
        self._counts["bytes_sent"] += journey.sent
        self._counts["bytes_received"] += journey.received

    def stays(self, pass_name: str, reason: str) -> None:
        """Take down that a pass cannot be sent to the workers."""
        self._unsendable[pass_name] = reason

    def report(self) -> RunReport:
        """Return the account, when the run is over."""
        seconds = time.perf_counter() - self._began
        parts = (self._module_passes, self._instruments, self._here)
        told = sum([sum(part.values()) for part in parts])
        told += self._seconds["in_workers"] + self._seconds["looking"]
        functions = self._functions
        largest = max(functions, key=functions.__getitem__, default=None)
        return RunReport(
            seconds=seconds,
            workers=self._workers,
            module_passes=dict(self._module_passes),
            instruments=dict(self._instruments),
            here={reason.value: spent for reason, spent in self._here.items()},
            in_workers=self._seconds["in_workers"],
            looking=self._seconds["looking"],
            rest=max(0.0, seconds - told),
            busy=self._seconds["busy"],
            starting=self._seconds["starting"],
            idle_at_end=self._seconds["idle_at_end"],
            waiting=self._seconds["waiting"],
            packing=self._seconds["packing"],
            unpacking=self._seconds["unpacking"],
            passes=dict(self._passes),
            largest_function=largest,
            largest_function_seconds=0.0 if largest is None else functions[largest],
            longest_path=self._longest,
            stages=self._counts["stages"],
            jobs=self._counts["jobs"],
            functions=self._counts["functions"],
            bytes_sent=self._counts["bytes_sent"],
            bytes_received=self._counts["bytes_received"],
            unsendable=dict(self._unsendable),
            observers=tuple(self._observers),
        )
