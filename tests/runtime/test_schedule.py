from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runtime.schedule import (
    Blame,
    Command,
    DeadlinePassed,
    Event,
    Finish,
    FunctionsReady,
    GiveUp,
    JobFinished,
    RestartWorkers,
    Schedule,
    Settled,
    SubmitJob,
    WorkersDied,
    WorkersKilled,
)


@dataclass
class Pool:
    """Checks the commands of a schedule against what a pool would have seen."""

    total: int
    workers: int
    killers: set[int] = field(default_factory=set[int])
    mended: set[int] = field(default_factory=set[int])  # by what is done about them
    announced: set[int] = field(default_factory=set[int])
    done: set[int] = field(default_factory=set[int])
    blamed: set[int] = field(default_factory=set[int])
    in_flight: dict[int, SubmitJob] = field(default_factory=dict[int, SubmitJob])
    finished: bool = False

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.total, self.workers)

    def handle(self, event: Event) -> list[Command]:
        commands = deque(self.schedule.handle(event))
        taken: list[Command] = []
        while commands:
            command = commands.popleft()
            taken.append(command)
            match command:
                case SubmitJob():
                    self._submit(command)
                case Blame():
                    assert command.function in self.killers
                    assert command.function not in self.done
                    again = command.function in self.mended
                    if again:
                        self.killers.discard(command.function)
                    else:
                        self.blamed.add(command.function)
                    commands.extend(
                        self.schedule.handle(Settled(command.function, again))
                    )
                case Finish():
                    assert self.done | self.blamed == set(range(self.total))
                    assert not self.in_flight
                    self.finished = True
                case RestartWorkers():
                    assert not self.in_flight
                case GiveUp():
                    raise AssertionError("it gave up")
        return taken

    def _submit(self, job: SubmitJob) -> None:
        busy = {f for other in self.in_flight.values() for f in other.functions}
        assert job.functions
        for function in job.functions:
            assert function in self.announced
            assert function not in busy | self.done | self.blamed
        alone = [other for other in self.in_flight.values() if other.alone]
        assert not alone
        if job.alone:
            assert not self.in_flight
            assert len(job.functions) == 1
        self.in_flight[job.job] = job
        assert len(self.in_flight) <= 2 * self.workers

    def announce(self, functions: list[int], weights: list[int]) -> None:
        self.announced |= set(functions)
        self.handle(FunctionsReady(functions, weights))

    def finish(self, job: int, seconds: float) -> None:
        self.done |= set(self.in_flight.pop(job).functions)
        self.handle(JobFinished(job, seconds))

    def lose(self, event: WorkersDied | WorkersKilled | DeadlinePassed) -> None:
        self.in_flight.clear()
        self.handle(event)

    def deadly(self, job: SubmitJob) -> set[int]:
        return self.killers & set(job.functions)


@pytest.mark.slow
@given(st.data())
def test_every_function_is_run_to_its_end_once_or_blamed_whatever_happens(
    data: st.DataObject,
):
    total = data.draw(st.integers(1, 12))
    killers = data.draw(st.sets(st.integers(0, total - 1), max_size=3))
    mended = killers & data.draw(st.sets(st.integers(0, total - 1)))
    pool = Pool(total, data.draw(st.integers(1, 3)), set(killers), mended)
    mishaps = data.draw(st.integers(0, 3))  # deaths that no function is to blame for
    while not pool.finished:
        unannounced = sorted(set(range(total)) - pool.announced)
        jobs = list(pool.in_flight.values())
        choices = ["announce"] if unannounced else []
        choices += ["finish"] if any(not pool.deadly(job) for job in jobs) else []
        choices += ["die"] if any(pool.deadly(job) for job in jobs) else []
        choices += ["killed"] if jobs and mishaps else []
        choices += ["mishap"] if jobs and mishaps and not jobs[0].alone else []
        assert choices, "nothing can happen any more, and the stage is not done"
        chosen = data.draw(st.sampled_from(choices))
        if chosen == "announce":
            some = unannounced[: data.draw(st.integers(1, len(unannounced)))]
            weights = [data.draw(st.integers(0, 1000)) for _ in some]
            pool.announce(some, weights)
        elif chosen == "finish":
            harmless = [job.job for job in jobs if not pool.deadly(job)]
            seconds = data.draw(st.floats(0, 1))
            pool.finish(data.draw(st.sampled_from(harmless)), seconds)
        elif chosen == "die":
            deadly = sorted(f for job in jobs for f in pool.deadly(job))
            note = {data.draw(st.sampled_from(deadly))}
            kind = data.draw(st.sampled_from([WorkersDied, DeadlinePassed]))
            pool.lose(kind(note))
        else:
            mishaps -= 1
            noted = data.draw(st.sampled_from(jobs)).functions[:1]
            on_idle = data.draw(st.booleans())
            died = WorkersDied(() if on_idle else noted)
            pool.lose(WorkersKilled() if chosen == "killed" else died)
    assert pool.blamed == killers - mended


def ready(total: int, workers: int = 2) -> Pool:
    pool = Pool(total, workers)
    pool.announce(list(range(total)), [10] * total)
    return pool


def test_the_largest_functions_go_first():
    pool = Pool(4, 1)
    pool.announce([0, 1, 2, 3], [1, 100, 10, 1000])
    first, second = pool.in_flight.values()
    assert (first.functions, second.functions) == ((3,), (1,))


def test_jobs_begin_small_and_grow_when_functions_turn_out_to_be_quick():
    pool = ready(1000)
    first = len(pool.in_flight[1].functions)
    pool.finish(1, seconds=1e-6)
    assert len(pool.in_flight[5].functions) > first


def test_jobs_stay_small_when_functions_turn_out_to_be_slow():
    pool = ready(1000)
    pool.finish(1, seconds=len(pool.in_flight[1].functions) * 1.0)
    assert len(pool.in_flight[5].functions) == 1


def test_a_stage_with_one_function_is_one_job():
    pool = ready(1)
    pool.finish(1, seconds=0.0)
    assert pool.finished


def test_functions_nobody_worked_on_are_not_suspects():
    pool = ready(4, workers=1)
    pool.killers = {0}
    pool.lose(WorkersDied([0]))
    (alone,) = pool.in_flight.values()
    assert (alone.functions, alone.alone) == ((0,), True)
    pool.finish(alone.job, seconds=0.0)
    assert not any(job.alone for job in pool.in_flight.values())


def test_a_death_on_idle_makes_nobody_a_suspect():
    pool = ready(2, workers=1)
    pool.lose(WorkersDied())
    assert pool.in_flight
    assert not any(job.alone for job in pool.in_flight.values())


def test_a_suspect_whose_worker_dies_on_idle_runs_alone_once_more():
    pool = ready(2, workers=1)
    pool.lose(WorkersDied([1]))
    pool.lose(WorkersDied())
    (job,) = pool.in_flight.values()
    assert (job.functions, job.alone) == ((1,), True)


@pytest.mark.parametrize(("killed", "most"), [(False, 3), (True, 50)])
def test_it_gives_up_when_workers_die_and_nothing_is_done_between(
    killed: bool, most: int
):
    schedule = Schedule(total=2, workers=1)
    schedule.handle(FunctionsReady([0, 1], [1, 1]))
    answers = [schedule.handle(WorkersDied((), killed)) for _ in range(most + 1)]
    assert [GiveUp() in commands for commands in answers] == [False] * most + [True]


def test_deaths_do_not_add_up_where_something_is_done_between():
    pool = ready(400, workers=1)
    while not pool.finished:
        for _ in range(3):
            pool.lose(WorkersDied())
        for _ in range(50):
            pool.lose(WorkersDied(killed=True))
        pool.finish(next(iter(pool.in_flight)), seconds=1.0)


def test_a_worker_that_was_at_a_function_had_begun():
    pool = ready(1)
    deaths = [WorkersDied()] * 3
    for event in [*deaths, WorkersDied([0]), *deaths]:
        pool.lose(event)
    (job,) = pool.in_flight.values()
    assert (job.functions, job.alone) == ((0,), True)


def test_an_overdue_function_is_blamed_at_once_and_the_others_run_again():
    pool = ready(3, workers=3)
    pool.killers = {1}
    pool.lose(DeadlinePassed([1]))
    assert pool.blamed == {1}
    assert {f for job in pool.in_flight.values() for f in job.functions} == {0, 2}
    assert not any(job.alone for job in pool.in_flight.values())


def test_who_is_blamed_may_run_again():
    pool = ready(1)
    pool.killers, pool.mended = {0}, {0}
    pool.lose(DeadlinePassed([0]))
    (job,) = pool.in_flight.values()
    pool.finish(job.job, seconds=0.0)
    assert pool.finished
    assert not pool.blamed


def test_what_was_lost_when_workers_were_killed_is_not_suspected():
    pool = ready(4)
    pool.lose(WorkersKilled())
    assert pool.in_flight
    assert not any(job.alone for job in pool.in_flight.values())


def test_a_suspect_whose_workers_were_killed_is_still_a_suspect():
    pool = ready(4)
    pool.lose(WorkersDied([1]))
    pool.lose(WorkersKilled())
    (job,) = pool.in_flight.values()
    assert (job.functions, job.alone) == ((1,), True)


def test_while_all_workers_are_busy_few_functions_wait_for_more():
    schedule = Schedule(total=100, workers=2)
    schedule.handle(FunctionsReady([0], [10]))
    schedule.handle(FunctionsReady([1], [10]))  # now both workers have one
    assert schedule.handle(FunctionsReady([2], [10])) == []
    rest = schedule.handle(FunctionsReady(range(3, 100), [10] * 97))
    assert all(isinstance(one, SubmitJob) and len(one.functions) > 1 for one in rest)
    assert len(rest) == 2
