from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.runner.pool.scheduler import Scheduler
from parpass.runner.pool.scheduler_events import (
    Abort,
    CancelJob,
    Command,
    DeadlinePassed,
    Event,
    FailureResolved,
    Finish,
    FunctionsReady,
    JobFinished,
    JobLost,
    Reclaimed,
    ResolveFailure,
    SubmitJob,
    Truncated,
    Withdraw,
    Withdrawn,
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
        self.schedule = Scheduler(self.total, self.workers)

    def handle(self, event: Event) -> list[Command]:
        commands = deque(self.schedule.handle(event))
        taken: list[Command] = []
        while commands:
            command = commands.popleft()
            taken.append(command)
            match command:
                case SubmitJob():
                    self._submit(command)
                case ResolveFailure():
                    assert command.function in self.killers
                    assert command.function not in self.done
                    again = command.function in self.mended
                    if again:
                        self.killers.discard(command.function)
                    else:
                        self.blamed.add(command.function)
                    commands.extend(
                        self.schedule.handle(FailureResolved(command.function, again))
                    )
                case Withdraw():
                    pass  # executors need not be able to
                case Finish():
                    assert self.done | self.blamed == set(range(self.total))
                    assert not self.in_flight
                    self.finished = True
                case CancelJob():
                    del self.in_flight[command.job]
                case Abort():
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

    def lose(self, event: JobLost | DeadlinePassed) -> None:
        del self.in_flight[event.job]
        self.handle(event)

    def lose_at(self, function: int) -> None:
        """Have a worker die at work on a function."""
        self.lose(JobLost(self.job_of(function), function))

    def lose_on_idle(self, *, killed: bool = False) -> None:
        """Have a worker die that was working on nothing."""
        self.lose(JobLost(next(iter(self.in_flight)), None, killed))

    def job_of(self, function: int) -> int:
        """Return the job that a function is in."""
        jobs = self.in_flight.values()
        return next(job.job for job in jobs if function in job.functions)

    def deadly(self, job: SubmitJob) -> set[int]:
        return self.killers & set(job.functions)


ENDS = [(False, False), (True, False), (True, True)]


@pytest.mark.slow
@given(st.data())
def test_every_function_is_run_to_its_end_once_or_blamed_whatever_happens(
    data: st.DataObject,
):
    total = data.draw(st.integers(0, 12))
    some = st.sampled_from(range(total)) if total else st.nothing()
    killers = data.draw(st.sets(some, max_size=3 if total else 0))
    mended = killers & data.draw(st.sets(some, max_size=total))
    pool = Pool(total, data.draw(st.integers(1, 3)), set(killers), mended)
    mishaps = data.draw(st.integers(0, 3))  # deaths that no function is to blame for
    pool.announce([], [])  # what the coordinator begins with
    while not pool.finished:
        not_ready = sorted(set(range(total)) - pool.announced)
        jobs = list(pool.in_flight.values())
        choices = ["announce"] if not_ready else []
        choices += ["finish"] if any(not pool.deadly(job) for job in jobs) else []
        choices += ["die"] if any(pool.deadly(job) for job in jobs) else []
        choices += ["mishap"] if jobs and mishaps else []
        assert choices, "nothing can happen any more, and the stage is not done"
        chosen = data.draw(st.sampled_from(choices))
        if chosen == "announce":
            few = not_ready[: data.draw(st.integers(1, len(not_ready)))]
            weights = [data.draw(st.integers(0, 1000)) for _ in few]
            pool.announce(few, weights)
        elif chosen == "finish":
            harmless = [job.job for job in jobs if not pool.deadly(job)]
            seconds = data.draw(st.floats(0, 1))
            pool.finish(data.draw(st.sampled_from(harmless)), seconds)
        elif chosen == "die":
            deadly = sorted(f for job in jobs for f in pool.deadly(job))
            function = data.draw(st.sampled_from(deadly))
            kind = data.draw(st.sampled_from([JobLost, DeadlinePassed]))
            event = kind(pool.job_of(function), function)
            if isinstance(event, JobLost):
                with_host = data.draw(st.booleans())
                event = replace(event, killed=with_host, host_died=with_host)
            pool.lose(event)
        else:
            mishaps -= 1
            job = data.draw(st.sampled_from(jobs))
            others = sorted(set(range(total)) - set(job.functions))
            stale = data.draw(st.sampled_from([None, *others]))  # a note, or none
            innocent = [] if job.alone else [job.functions[0]]
            noted = data.draw(st.sampled_from([stale, *innocent]))
            killed, host_died = data.draw(st.sampled_from(ENDS))
            pool.lose(JobLost(job.job, noted, killed, host_died))
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


def test_what_is_recalled_is_in_no_job_and_the_rest_comes_to_its_end():
    schedule = Scheduler(total=500, workers=2)
    jobs = schedule.handle(FunctionsReady(range(400), [10] * 400))
    assert schedule.handle(Reclaimed()) == []
    assert schedule.handle(FunctionsReady(range(400, 450), [10] * 50)) == []
    *most, last = [job for job in jobs if isinstance(job, SubmitJob)]
    for job in most:
        assert schedule.handle(JobFinished(job.job, 1.0)) == []
    assert schedule.handle(JobFinished(last.job, 1.0)) == [Finish()]


def test_after_the_end_of_a_serial_run_nothing_is_begun_and_what_hangs_is_ended():
    schedule = Scheduler(total=8, workers=2)
    jobs = schedule.handle(FunctionsReady(range(6), [10] * 6))
    first, *others = [job for job in jobs if isinstance(job, SubmitJob)]
    assert first.functions == (0,)
    schedule.handle(JobFinished(first.job, 1.0))
    commands = schedule.handle(Truncated(0))
    assert {one.job for one in commands if isinstance(one, CancelJob)} >= {
        job.job for job in others
    }
    assert schedule.handle(FunctionsReady([6, 7], [10, 10]))[-1] == Finish()


def test_functions_before_the_end_are_run_and_suspects_after_it_are_not():
    schedule = Scheduler(total=4, workers=1)
    jobs = schedule.handle(FunctionsReady(range(4), [1, 2, 3, 4]))
    first, second = [job for job in jobs if isinstance(job, SubmitJob)]
    schedule.handle(JobLost(first.job, first.functions[0]))  # function 3 is suspected
    assert first.functions == (3,)
    end, *commands = schedule.handle(Truncated(1))
    assert end == CancelJob(second.job)
    done = {f for one in commands if isinstance(one, SubmitJob) for f in one.functions}
    assert done <= {0, 1}


def test_what_was_overtaken_runs_again_and_nobody_is_to_blame():
    pool = ready(2, workers=1)
    job = next(iter(pool.in_flight.values()))
    for _ in range(10):
        del pool.in_flight[job.job]
        pool.handle(Withdrawn([job.job]))
        job = next(iter(pool.in_flight.values()))
        assert not job.alone


def test_a_suspect_is_not_recalled():
    schedule = Scheduler(total=3, workers=1)
    jobs = schedule.handle(FunctionsReady([0, 1, 2], [30, 20, 10]))
    first, second = [job for job in jobs if isinstance(job, SubmitJob)]
    schedule.handle(JobLost(first.job, first.functions[0]))
    assert schedule.handle(Reclaimed()) == []
    (alone,) = schedule.handle(JobFinished(second.job, 0.1))
    assert isinstance(alone, SubmitJob)
    assert (alone.functions, alone.alone) == (first.functions[:1], True)
    assert schedule.handle(JobFinished(alone.job, 0.1)) == [Finish()]


def test_the_share_that_is_done_is_told_by_weight():
    schedule = Scheduler(total=4, workers=1)
    schedule.handle(FunctionsReady([0, 1], [30, 10]))
    assert schedule.fraction_done == 0
    schedule.handle(JobFinished(1, 1.0))
    assert schedule.fraction_done == pytest.approx(30 / 80)


def test_functions_in_no_job_outlast_giants_while_they_are_more_work():
    pool = Pool(21, 2)
    pool.announce([0], [100])
    pool.announce(list(range(1, 21)), [10] * 20)
    giant = pool.job_of(0)

    def left() -> int:
        flying = sum(len(job.functions) for job in pool.in_flight.values())
        return 21 - len(pool.done) - flying

    assert pool.schedule.outlasts_giants
    while left():
        assert pool.schedule.outlasts_giants == (10 * left() > 100)
        pool.finish(next(job for job in pool.in_flight if job != giant), 0.1)
    pool.finish(giant, 1.0)
    assert not pool.schedule.outlasts_giants


def test_a_stage_with_one_function_is_one_job():
    pool = ready(1)
    pool.finish(1, seconds=0.0)
    assert pool.finished


def test_a_stage_without_functions_is_over_when_it_begins():
    assert Scheduler(total=0, workers=2).handle(FunctionsReady((), ())) == [Finish()]


def test_functions_nobody_worked_on_are_not_suspects():
    pool = ready(4, workers=1)
    pool.killers = {0}
    pool.lose_at(0)
    while not any(job.alone for job in pool.in_flight.values()):
        pool.finish(next(iter(pool.in_flight)), seconds=0.0)
    (alone,) = pool.in_flight.values()
    assert alone.functions == (0,)
    pool.finish(alone.job, seconds=0.0)
    assert not any(job.alone for job in pool.in_flight.values())


def test_a_death_takes_one_job_with_it_and_the_others_go_on():
    pool = ready(400)
    first, second, *_ = pool.in_flight.values()
    pool.lose_at(first.functions[0])
    assert second.job in pool.in_flight


def test_a_death_on_idle_makes_nobody_a_suspect():
    pool = ready(2, workers=1)
    pool.lose_on_idle()
    assert pool.in_flight
    assert not any(job.alone for job in pool.in_flight.values())


def test_a_suspect_whose_worker_dies_on_idle_runs_alone_once_more():
    pool = ready(1, workers=1)
    pool.lose_at(0)
    pool.lose_on_idle()
    (job,) = pool.in_flight.values()
    assert (job.functions, job.alone) == ((0,), True)


@pytest.mark.parametrize(("killed", "tries"), [(False, 1), (True, 2)])
def test_a_suspect_whose_worker_was_killed_runs_alone_once_more(
    killed: bool, tries: int
):
    pool = ready(1, workers=1)
    pool.killers = {0}
    pool.lose(JobLost(pool.job_of(0), 0, killed))
    for _ in range(tries):
        assert not pool.blamed
        assert [job.alone for job in pool.in_flight.values()] == [True]
        pool.lose(JobLost(pool.job_of(0), 0, killed))
    assert pool.blamed == {0}


def test_a_suspect_that_is_killed_once_and_then_finishes_is_not_to_blame():
    pool = ready(1, workers=1)
    for _ in range(2):
        pool.lose(JobLost(pool.job_of(0), 0, killed=True))
    pool.finish(pool.job_of(0), seconds=0.0)
    assert pool.finished


def test_a_function_that_was_not_in_the_job_is_no_suspect():
    pool = ready(2, workers=1)
    job = next(iter(pool.in_flight.values()))
    other = 1 - job.functions[0]
    pool.lose(JobLost(job.job, other))
    assert not any(job.alone for job in pool.in_flight.values())


@pytest.mark.parametrize(("killed", "most"), [(False, 3), (True, 50)])
def test_it_gives_up_when_workers_die_and_nothing_is_done_between(
    killed: bool, most: int
):
    schedule = Scheduler(total=1, workers=1)
    commands = schedule.handle(FunctionsReady([0], [1]))
    for _ in range(most):
        (job,) = commands
        assert isinstance(job, SubmitJob)
        commands = schedule.handle(JobLost(job.job, None, killed))
    (job,) = commands
    assert isinstance(job, SubmitJob)
    assert schedule.handle(JobLost(job.job, None, killed)) == [Abort()]


def test_deaths_do_not_add_up_where_something_is_done_between():
    pool = ready(400, workers=1)
    while not pool.finished:
        for _ in range(3):
            pool.lose_on_idle()
        for _ in range(50):
            pool.lose_on_idle(killed=True)
        pool.finish(next(iter(pool.in_flight)), seconds=1.0)


def test_a_worker_that_was_at_a_function_had_begun():
    pool = ready(1)
    for _ in range(3):
        pool.lose_on_idle()
    pool.lose_at(0)
    for _ in range(3):
        pool.lose_on_idle()
    (job,) = pool.in_flight.values()
    assert (job.functions, job.alone) == ((0,), True)


def test_an_overdue_function_is_blamed_at_once_and_the_others_run_again():
    pool = ready(3, workers=3)
    pool.killers = {1}
    pool.lose(DeadlinePassed(pool.job_of(1), 1))
    assert pool.blamed == {1}
    assert {f for job in pool.in_flight.values() for f in job.functions} == {0, 2}
    assert not any(job.alone for job in pool.in_flight.values())


def test_who_is_blamed_may_run_again():
    pool = ready(1)
    pool.killers, pool.mended = {0}, {0}
    pool.lose(DeadlinePassed(pool.job_of(0), 0))
    (job,) = pool.in_flight.values()
    pool.finish(job.job, seconds=0.0)
    assert pool.finished
    assert not pool.blamed


def test_a_job_tells_what_it_is_expected_to_take_once_that_is_known():
    pool = ready(1000)
    first = pool.in_flight[1]
    assert first.seconds == math.inf
    pool.finish(1, seconds=0.5)
    job = pool.in_flight[5]
    assert job.seconds == pytest.approx(0.5 * len(job.functions) / len(first.functions))


def test_while_all_workers_are_busy_few_functions_wait_for_more():
    schedule = Scheduler(total=100, workers=2)
    schedule.handle(FunctionsReady([0], [10]))
    schedule.handle(FunctionsReady([1], [10]))  # now both workers have one
    assert schedule.handle(FunctionsReady([2], [10])) == []
    rest = schedule.handle(FunctionsReady(range(3, 100), [10] * 97))
    assert all(isinstance(one, SubmitJob) and len(one.functions) > 1 for one in rest)
    assert len(rest) == 2


def _sizes(schedule: Scheduler, functions: int) -> list[int]:
    ready = FunctionsReady(range(functions), [1] * functions)
    commands = schedule.handle(ready)
    return [len(one.functions) for one in commands if isinstance(one, SubmitJob)]


def test_jobs_take_at_least_what_is_asked_for_even_where_workers_are_idle():
    # 12 functions of 10 ms, for 8 workers.
    assert _sizes(Scheduler(12, 8, 0.01), 12) == [1] * 12
    assert _sizes(Scheduler(12, 8, 0.01, 0.05), 12) == [5, 5, 2]
    # Where there is enough to do they are longer than otherwise, and as long as asked.
    assert _sizes(Scheduler(1000, 2, 0.01), 1000)[0] == 25
    assert _sizes(Scheduler(1000, 2, 0.01, 0.05), 1000)[0] == 50
    assert _sizes(Scheduler(1000, 2, 0.01, 1.0), 1000)[0] == 100


def test_jobs_take_as_long_as_the_coordinator_serves_one_of_each_worker():
    # Functions of 1 ms: 500 workers with one each would wait for the coordinator.
    assert _sizes(Scheduler(400, 500, 0.001), 400) == [200, 200]
    assert _sizes(Scheduler(8, 4, 0.001), 8) == [2, 2, 2, 2]
    # Long functions go to as many workers as there are.
    assert _sizes(Scheduler(400, 500, 1.0), 400) == [1] * 400


def test_how_long_jobs_are_to_be_may_change_while_they_run():
    schedule = Scheduler(100, 1, 0.01)
    assert _sizes(schedule, 100) == [25, 25]
    (command,) = schedule.handle(JobFinished(1, 0.25, 0.4))
    assert isinstance(command, SubmitJob)
    assert len(command.functions) == 40


def test_what_kills_with_no_word_of_what_it_was_at_is_found_out():
    """As on another machine, all of which may go, or be killed."""
    schedule, running = Scheduler(8, 2, 0.01), deque[SubmitJob]()
    commands = schedule.handle(FunctionsReady(range(8), [1] * 8))
    kills = 0
    while Finish() not in commands:
        running.extend(one for one in commands if isinstance(one, SubmitJob))
        if ResolveFailure(5) in commands:
            commands = schedule.handle(FailureResolved(5, again=False))
            continue
        job = running.popleft()
        assert not job.alone or job.functions == (5,)  # the others wait for no other
        if 5 in job.functions:
            kills += 1
            at = 5 if len(job.functions) == 1 else None  # there is no other
            lost = JobLost(job.job, at, killed=True, host_died=True)
            commands = schedule.handle(lost)
        else:
            commands = schedule.handle(JobFinished(job.job, 0.01))
    assert kills == 4


def test_who_was_lost_with_a_host_is_no_suspect_until_that_happens_again():
    schedule = Scheduler(total=1, workers=1)
    (job,) = schedule.handle(FunctionsReady([0], [1]))
    for alone in (False, True, True):
        assert isinstance(job, SubmitJob)
        (job,) = schedule.handle(JobLost(job.job, 0, killed=True, host_died=True))
        assert isinstance(job, SubmitJob)
        assert job.alone == alone
    assert isinstance(job, SubmitJob)
    lost = JobLost(job.job, 0, killed=True, host_died=True)
    assert schedule.handle(lost) == [ResolveFailure(0)]


def test_of_those_who_were_lost_twice_the_one_at_work_is_a_suspect_alone():
    pool = ready(400)
    for _ in range(2):
        job = next(job for job in pool.in_flight.values() if 7 in job.functions)
        assert len(job.functions) > 1
        pool.lose(JobLost(job.job, 7, killed=True, host_died=True))
        while not any(7 in job.functions for job in pool.in_flight.values()):
            pool.finish(next(iter(pool.in_flight)), seconds=0.0)
    assert [job for job in pool.in_flight.values() if job.alone] == [
        SubmitJob(job=pool.job_of(7), functions=(7,), alone=True, seconds=0.0)
    ]
