"""How long a stage takes to an error, in virtual time: events in, commands out."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner.ipc.function_outcome import Cutoff
from parpass.runner.pool.scheduler import Scheduler
from parpass.runner.pool.scheduler_events import (
    CancelJob,
    Command,
    DeadlinePassed,
    Event,
    FailureResolved,
    Finish,
    FunctionsReady,
    JobFinished,
    JobLost,
    ResolveFailure,
    SubmitJob,
    Truncated,
    Withdraw,
    Withdrawn,
)

LIMIT = 1.0
HANGS = math.inf
Times = Mapping[tuple[int, int], float]  # seconds of a pass, on a function


@dataclass
class Run:
    """A job that a worker has begun: when it comes to an end, and to which."""

    job: SubmitJob
    at: list[tuple[float, int, int]]  # since when it is at which step of which function
    ends: float
    late: tuple[int, int] | None = None  # step and function that are overdue then
    end: Cutoff | None = None  # a failure that it tells of


@dataclass
class Stage:
    """A stage on workers that start at once, and whose clocks are those of a list."""

    total: int
    workers: int
    times: Times
    steps: int = 1
    retries: bool = False
    skips: bool = False
    dies: bool = False  # when it is overdue, by itself
    weights: list[int] = field(default_factory=list[int])
    takes_back: bool = True  # jobs that no worker has begun
    now: float = 0.0

    def __post_init__(self) -> None:
        self.schedule = Scheduler(self.total, self.workers)
        self.queue: deque[SubmitJob] = deque()
        self.runs: dict[int, Run] = {}
        self.verdicts: set[tuple[int, int]] = set()
        self.tried: set[tuple[int, int]] = set()
        self.end = Cutoff(self.steps - 1)
        self.told = self.end
        self.is_over = False
        self.late = 0, 0

    def run(self) -> float:
        """Run it; return how long that takes."""
        weights = self.weights or [10] * self.total
        self.tell(FunctionsReady(range(self.total), weights))
        while not self.is_over:
            self.begin_jobs()
            assert self.runs, "nothing goes on, and it is not over"
            number, run = min(self.runs.items(), key=lambda one: one[1].ends)
            self.now = run.ends
            del self.runs[number]
            if run.late is not None:
                self.late, function = run.late, run.late[1]
                event = JobLost if self.dies else DeadlinePassed
                self.tell(event(number, function))
            else:
                self.know(run.end)
                self.tell(JobFinished(number, self.now - run.at[0][0]))
            self.end_what_is_too_far()
        return self.now

    @property
    def work(self) -> float:
        """The seconds of what does not hang."""
        return sum(seconds for seconds in self.times.values() if seconds < HANGS)

    @property
    def first(self) -> Cutoff:
        """Where a serial run ends."""
        return min(
            Cutoff(*at) for at, seconds in self.times.items() if seconds == HANGS
        )

    def begin_jobs(self) -> None:
        while self.queue and len(self.runs) < self.workers:
            job = self.queue.popleft()
            self.runs[job.job] = self.begun_run(job)

    def begun_run(self, job: SubmitJob) -> Run:
        end, now = self.end, self.now
        run = Run(job, [], now)
        for function in job.functions:
            for step in range(end.steps_on(function)):
                run.at.append((now, step, function))
                if (step, function) in self.verdicts:
                    if not self.skips:
                        run.end = end = min(end, Cutoff(step, function))
                        break
                    continue
                seconds = self.times.get((step, function), 0.0)
                if seconds == HANGS:
                    run.ends, run.late = now + LIMIT, (step, function)
                    return run
                now += seconds
        run.ends = now
        run.at = run.at or [(now, 0, job.functions[0])]
        return run

    def end_what_is_too_far(self) -> None:
        for number, run in list(self.runs.items()):
            _, step, function = max(one for one in run.at if one[0] <= self.now)
            if step >= self.end.steps_on(function):
                del self.runs[number]
                self.tell(Withdrawn([number]))

    def know(self, end: Cutoff | None) -> None:
        self.end = min(self.end, end or self.end)

    def tell(self, event: Event) -> None:
        commands = deque(self.until_the_end())
        commands.extend(self.schedule.handle(event))
        while commands:
            match commands.popleft():
                case SubmitJob() as job:
                    self.queue.append(job)
                case CancelJob(number):
                    self.runs.pop(number, None)
                    self.queue = deque(one for one in self.queue if one.job != number)
                case Withdraw():
                    taken, self.queue = self.queue, deque()
                    if not self.takes_back:
                        taken, self.queue = self.queue, taken
                    jobs = [one.job for one in taken]
                    commands.extend(self.schedule.handle(Withdrawn(jobs)))
                case ResolveFailure(function):
                    settled = self.settled(function)
                    commands.extend(self.until_the_end())
                    commands.extend(self.schedule.handle(settled))
                case Finish():
                    self.is_over = True
                case other:
                    raise AssertionError(other)

    def until_the_end(self) -> list[Command]:
        if self.end >= self.told:
            return []
        self.told = self.end
        first = self.end.step == 0
        return self.schedule.handle(Truncated(self.end.function if first else math.inf))

    def settled(self, function: int) -> FailureResolved:
        step, late = self.late
        assert late == function
        if self.retries and self.late not in self.tried:
            self.tried.add(self.late)
            return FailureResolved(function, again=True, may_truncate=True)
        self.verdicts.add(self.late)
        if self.skips:
            return FailureResolved(function, again=True)
        if step:
            return FailureResolved(function, again=True, may_truncate=True)
        self.know(Cutoff(step, function))
        return FailureResolved(function, again=False, may_truncate=True)


@st.composite
def stages(draw: st.DrawFn, steps: int = 1) -> Stage:
    """Draw a stage, of whose bodies some hang, and others take some time."""
    total = draw(st.integers(1, 60))
    seconds = st.sampled_from([HANGS, 0.0, HANGS, 0.02, 0.3])
    times = {
        (step, function): draw(seconds)
        for step in range(steps)
        for function in range(total)
    }
    times[draw(st.sampled_from(sorted(times)))] = HANGS
    weights = draw(
        st.lists(st.sampled_from([1, 10, 1000]), min_size=total, max_size=total)
    )
    return Stage(total, draw(st.integers(1, 4)), times, steps, weights=weights)


def all_hang(total: int, *, workers: int = 2) -> Stage:
    """Return a stage whose first function would be begun last, by its size."""
    times = {(0, function): HANGS for function in range(total)}
    return Stage(total, workers, times, weights=list(range(1, total + 1)))


@given(stages())
def test_the_first_that_hangs_is_known_after_two_limits_besides_other_work(
    stage: Stage,
):
    # What was done beside a body that hangs, in one job, is done once more.
    assert stage.run() <= 2 * LIMIT + 2 * stage.work
    assert stage.end == stage.first


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("total", [1, 2, 10, 40, 145, 3000])
def test_how_many_functions_hang_does_not_matter(total: int, workers: int):
    stage = all_hang(total, workers=workers)
    assert stage.run() == (1 if total <= workers else 2) * LIMIT
    assert stage.end == Cutoff(0, 0)


@given(stages(steps=3))
def test_each_further_pass_that_hangs_adds_its_limit_at_most(stage: Stage):
    passes = {step for (step, _), seconds in stage.times.items() if seconds == HANGS}
    assert stage.run() <= (1 + len(passes)) * LIMIT + 2 * len(passes) * stage.work
    assert stage.end == stage.first


@given(stages())
def test_a_retry_takes_twice_as_long(stage: Stage):
    stage.retries = True
    assert stage.run() <= 4 * LIMIT + 4 * stage.work
    assert stage.end == stage.first


@given(stages())
def test_where_jobs_cannot_be_taken_back_it_is_a_limit_more(stage: Stage):
    stage.takes_back = False
    assert stage.run() <= 3 * LIMIT + 3 * stage.work
    assert stage.end == stage.first


@given(stages())
def test_what_dies_again_and_again_is_known_after_five_deaths(stage: Stage):
    stage.dies = True
    assert stage.run() <= 5 * LIMIT + 5 * stage.work
    assert stage.end == stage.first


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_each_that_is_skipped_costs_its_limit_of_one_worker(workers: int):
    stage = all_hang(40, workers=workers)
    stage.skips = True
    assert stage.run() == pytest.approx(40 / workers * LIMIT)
