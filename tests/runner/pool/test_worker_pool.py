from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from parpass.errors import RuntimeUseError
from parpass.runner import JobCancelledError, JobLostError, NoWorkersError
from parpass.runner.pool import worker_pool, worker_process
from parpass.runner.pool.worker_handle import QueuedJob, WorkerHandle
from parpass.runner.pool.worker_pool import Pool
from tests.support.runner.jobs import (
    echo,
    end,
    end_late,
    end_soon,
    environment,
    fail,
    fork_and_end,
    imported,
    pid,
    start_sleeper,
    start_sleepers,
    tell_and_wait,
    wait,
    wait_for,
)
from tests.support.runner.pooled import child_processes, settled_processes
from tests.support.runner.pooled import new_pipe as make_pipe

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def executor() -> Iterator[Pool]:
    executor = Pool(2)
    yield executor
    executor.close()


@pytest.fixture
def new_pipe(tmp_path: Path) -> Path:
    return make_pipe(tmp_path)


@contextlib.contextmanager
def no_descriptors() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def all_descriptors_taken() -> Generator[None]:
    """Take all that the limit allows, which workers that are there have, too."""
    with contextlib.ExitStack() as opened:
        with contextlib.suppress(OSError):
            while True:
                opened.callback(os.close, os.dup(1))
        yield


@pytest.fixture
def few_descriptors() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def workers_of(executor: Pool) -> set[int]:
    """Return the numbers of the processes, all of which are started, and to stay.

    One that still has a job which a test cancelled is killed soon.
    """
    handles = executor.handles
    while True:
        executor.start()
        assert executor.submit(echo, b"x").result(60)
        ready = [
            one
            for one in list(handles)
            if one.is_ready
            and not one.is_over
            and not any(job.is_cancelled for job in one.jobs())
        ]
        if len(ready) == executor.workers:
            return {one.process.number for one in ready}
        time.sleep(0.002)  # others, such as those that start, may need this core


def error_of(answer: Future[Any]) -> BaseException | None:
    return answer.exception(timeout=60)


def test_a_job_is_run_in_another_process(executor: Pool):
    executor.start()
    assert executor.submit(echo, b"x").result(60) == b"x"
    assert int(executor.submit(pid, b"").result(60)) != os.getpid()


def test_starting_twice_keeps_the_workers(executor: Pool):
    before = workers_of(executor)
    with ThreadPoolExecutor(4) as threads:
        for started in [threads.submit(executor.start) for _ in range(8)]:
            started.result(60)
    assert workers_of(executor) == before
    assert len(before) == 2


def test_workers_have_one_hash_seed_and_one_native_thread(executor: Pool):
    executor.start()
    expected = os.environ.get("PYTHONHASHSEED", "0")
    seed = executor.submit(environment, b"PYTHONHASHSEED").result(60).decode()
    assert seed == (expected if expected.isdecimal() else "0")
    assert executor.submit(environment, b"OMP_NUM_THREADS").result(60) == b"1"


def test_workers_import_neither_trio_nor_onnx(executor: Pool):
    executor.start()
    assert executor.submit(imported, b"").result(60) == b""


def test_what_a_job_raises_is_raised(executor: Pool):
    executor.start()
    assert isinstance(error_of(executor.submit(fail, b"")), KeyError)


def test_a_worker_that_dies_takes_its_job_with_it_and_no_other(
    executor: Pool, new_pipe: Path
):
    other = executor.submit(wait_for, str(new_pipe).encode())
    lost = error_of(executor.submit(end, b""))
    assert isinstance(lost, JobLostError)
    assert lost.cause == "EXIT(7)"
    assert executor.submit(echo, b"x").result(60) == b"x"
    assert not other.done()
    new_pipe.write_bytes(b"go")
    assert other.result(60) == b"go"


def test_a_job_that_is_ended_ends_its_worker_and_no_other(
    executor: Pool, new_pipe: Path
):
    other = executor.submit(wait_for, str(new_pipe).encode())
    hanging, behind = executor.submit(wait, b""), executor.submit(echo, b"x")
    executor.end(hanging)
    assert isinstance(error_of(hanging), JobCancelledError)
    assert behind.result(60) == b"x"
    new_pipe.write_bytes(b"go")
    assert other.result(60) == b"go"


def test_a_job_that_is_ended_before_it_begins_is_never_run(executor: Pool):
    hanging = [executor.submit(wait, b"") for _ in range(2)]
    behind = executor.submit(echo, b"x")
    executor.end(behind)
    assert isinstance(error_of(behind), JobCancelledError)
    for one in hanging:
        executor.end(one)


def test_a_job_is_withdrawn_before_it_begins_and_never_after(executor: Pool):
    workers_of(executor)
    begun = [executor.submit(pid, b"") for _ in range(2)]
    assert all(one.result(60) for one in begun)
    hanging = [executor.submit(wait, b"") for _ in range(2)]
    behind, last = executor.submit(echo, b"x"), executor.submit(echo, b"y")
    assert [executor.withdraw(one) for one in (*begun, *hanging)] == [False] * 4
    assert [executor.withdraw(behind), executor.withdraw(behind)] == [True, False]
    for one in hanging:
        executor.end(one)
    assert last.result(60) == b"y"
    assert not behind.done()


def test_a_job_that_will_be_done_soon_may_end_and_its_worker_stays(
    executor: Pool, monkeypatch: pytest.MonkeyPatch
):
    # A busy machine may keep a worker from a core for longer than it is waited for.
    monkeypatch.setattr(worker_pool, "_REPLACEMENT_SECONDS", 15.0)
    before = workers_of(executor)
    for _ in range(5):
        executor.end(executor.submit(echo, b"x", seconds=0.001))
    assert workers_of(executor) == before


def test_a_job_that_was_expected_to_be_done_soon_and_is_not_is_ended(
    executor: Pool,
):
    hanging = [executor.submit(wait, b"", seconds=0.01) for _ in range(2)]
    for one in hanging:
        executor.end(one)
    assert executor.submit(echo, b"x").result(60) == b"x"


def test_a_small_job_that_waits_in_a_worker_outlives_it(executor: Pool):
    ends = [executor.submit(end_soon, b"", seconds=0.001) for _ in range(2)]
    behind = [executor.submit(echo, b"x", seconds=0.001) for _ in range(4)]
    assert [type(error_of(one)) for one in ends] == [JobLostError] * 2
    assert [one.result(60) for one in behind] == [b"x"] * 4


def test_a_worker_that_is_no_more_is_missed_although_its_child_lives(
    executor: Pool,
):
    error = error_of(executor.submit(fork_and_end, b""))
    assert isinstance(error, JobLostError)
    assert error.cause == "EXIT(9)"


def test_of_two_runs_the_one_that_has_fewer_workers_is_next(
    executor: Pool,
):
    workers_of(executor)
    answers = [executor.submit(wait, b"", owner="one") for _ in range(6)]
    short = [executor.submit(pid, b"", owner="other") for _ in range(3)]
    executor.end(answers[0], at_once=True)
    # All are done by the one worker that came free, though others waited longer.
    assert len({answer.result(60) for answer in short}) == 1
    assert [answer.done() for answer in answers] == [True] + [False] * 5
    for answer in answers[1:]:
        executor.end(answer, at_once=True)


def test_a_job_does_not_wait_in_a_worker_behind_one_of_another_run(
    executor: Pool,
):
    workers_of(executor)
    # As far as is known these are done at once.
    answers = [executor.submit(wait, b"", 0.0, owner="one") for _ in range(2)]
    short = [executor.submit(pid, b"", 0.0, owner="other") for _ in range(2)]
    executor.end(answers[0], at_once=True)
    assert len({answer.result(60) for answer in short}) == 1
    assert not answers[1].done()
    executor.end(answers[1], at_once=True)


def test_killing_ends_all_jobs_and_what_workers_have_started(
    executor: Pool, new_pipe: Path
):
    child = executor.submit(start_sleeper, bytes(new_pipe))
    with new_pipe.open("rb") as held_open:
        assert child.result(60)
        answer = executor.submit(wait, b"")
        executor.kill()
        assert held_open.read() == b""  # until the child has ended
    assert isinstance(error_of(answer), JobCancelledError)
    assert not executor.is_warm
    assert executor.submit(echo, b"x").result(60) == b"x"


def test_killing_ends_what_is_started_meanwhile(executor: Pool, new_pipe: Path):
    executor.submit(start_sleepers, bytes(new_pipe))
    with new_pipe.open("rb") as held_open:
        assert held_open.read(1) == b"x"
        executor.kill()
        assert held_open.read() == b""


@pytest.mark.parametrize("size", [1, 60_000, 10_000_000])
def test_who_submits_a_job_to_a_worker_that_is_stopped_does_not_wait(size: int):
    """Nor who ends it, or the pool: an event loop would stand."""
    with contextlib.closing(Pool(1)) as pool:
        for _ in range(2):
            os.kill(int(pool.submit(pid, b"").result(60)), signal.SIGSTOP)
            stopped = pool.submit(echo, b"x" * size)
            pool.end(stopped, at_once=True)
            assert pool.submit(echo, b"y" * size).result(60) == b"y" * size
        os.kill(int(pool.submit(pid, b"").result(60)), signal.SIGSTOP)
        pool.submit(echo, b"x" * size)


def test_a_large_job_comes_before_those_that_are_submitted_after_it(executor: Pool):
    sizes = [3_000_000, 1, 20_000, 3_000_000, 5]
    answers = [executor.submit(echo, b"x" * size, 0.0) for size in sizes]
    assert [len(answer.result()) for answer in answers] == sizes


def test_a_worker_that_was_killed_on_idle_is_replaced(executor: Pool):
    for number in workers_of(executor):
        os.kill(number, signal.SIGKILL)
        with contextlib.suppress(psutil.NoSuchProcess):  # it is known of already
            psutil.Process(number).wait(60)
    assert executor.submit(echo, b"x").result(60) == b"x"


def test_where_no_process_can_be_started_jobs_are_told():
    executor = Pool(2)
    with no_descriptors():
        error = error_of(executor.submit(echo, b"x"))
    assert isinstance(error, NoWorkersError)
    assert (error.why, "Too many open files" in error.cause) == ("none", True)
    executor.close()


def test_without_descriptors_it_is_known_whether_a_worker_lives(
    monkeypatch: pytest.MonkeyPatch, few_descriptors: None
):
    monkeypatch.setattr(worker_process, "_POLL_SECONDS", 0.001)  # looked at meanwhile
    executor = Pool(1)
    workers_of(executor)
    with all_descriptors_taken():
        assert executor.submit(end_late, b"x").result(60) == b"x"
        lost = error_of(executor.submit(end, b""))
    assert isinstance(lost, JobLostError)
    assert lost.cause == "EXIT(7)"
    assert executor.submit(echo, b"x").result(60) == b"x"
    executor.close()


def test_without_descriptors_workers_are_killed(new_pipe: Path):
    executor = Pool(1)
    answer = executor.submit(tell_and_wait, bytes(new_pipe))
    worker = psutil.Process(int(new_pipe.read_bytes()))
    with no_descriptors():
        executor.kill()
    assert isinstance(error_of(answer), JobCancelledError)
    assert not worker.is_running()
    executor.close()


def test_workers_ignore_ctrl_c(executor: Pool, new_pipe: Path):
    answer = executor.submit(wait_for, str(new_pipe).encode())
    for number in workers_of(executor):
        os.kill(number, signal.SIGINT)
    new_pipe.write_bytes(b"go")
    assert answer.result(60) == b"go"


FIRST_WORKER = """
from parpass.runner.pool.worker_pool import Pool
from tests.support.runner.jobs import has_begun_without_interrupts

executor = Pool(1)
print(executor.submit(has_begun_without_interrupts, b"").result(60).decode())
executor.close()
"""


def test_interrupts_wait_while_the_first_worker_starts(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import tests.support.runner.preloaded\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", FIRST_WORKER],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    )
    assert done.stdout == "True\n"


def test_closing_ends_the_processes_for_good():
    before = settled_processes()
    executor = Pool(2)
    executor.start()
    executor.submit(echo, b"").result(60)
    assert len(settled_processes() - before) == 2
    executor.close()
    assert not child_processes() - before
    with pytest.raises(RuntimeUseError, match="closed"):
        executor.start()


def test_closing_what_was_never_started_starts_nothing():
    before = settled_processes()
    Pool(2).close()
    assert child_processes() <= before


def ready_worker() -> WorkerHandle:
    """Return a worker that takes jobs, and runs none."""
    process: Any = SimpleNamespace(send=bool)  # as if it arrived
    worker = WorkerHandle(process, ())
    worker.is_ready = True
    return worker


def assigned(*seconds: float) -> list[list[float]]:
    """Return the jobs of two workers, by their expected seconds, in order."""
    executor = Pool(2)
    workers = [ready_worker(), ready_worker()]
    executor.handles = dict.fromkeys(workers, threading.Thread())
    executor.queue.extend(QueuedJob(b"job", Future(), one) for one in seconds)
    executor.assign_jobs()
    return [[job.seconds for job in worker.jobs()] for worker in workers]


def test_a_job_is_prefetched_by_the_worker_that_will_be_idle_first():
    assert assigned(0.02, 0.01, 0.008, 0.006) == [[0.02, 0.006], [0.01, 0.008]]


def test_a_long_job_waits_for_a_worker_that_is_idle():
    assert assigned(0.02, 0.01, 1.0) == [[0.02], [0.01]]


def test_a_worker_that_does_not_start_fails_no_job_that_another_one_will_take():
    with contextlib.closing(Pool(2)) as pool:
        pool.start()
        answer = pool.submit(echo, b"x")
        late = next(iter(pool.handles))
        pool._start_failed(late, NoWorkersError("hang", ""))  # pyright: ignore[reportPrivateUsage]
        assert answer.result() == b"x"


@contextlib.contextmanager
def no_threads() -> Generator[None]:
    """Let no thread be started, as at exit."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as lacking:
        lacking.setattr(threading.Thread, "start", refuse)
        yield


def test_where_no_worker_can_replace_those_that_are_outdated_jobs_are_told(
    new_pipe: Path, monkeypatch: pytest.MonkeyPatch
):
    with contextlib.closing(Pool(1)) as pool:
        workers_of(pool)
        running = pool.submit(wait_for, bytes(new_pipe))
        behind = pool.submit(echo, b"x")
        monkeypatch.setenv("PYTHONHASHSEED", "7")  # not that of the worker
        with no_threads():
            for use in (pool.start, lambda: pool.submit(echo, b"y")):
                with pytest.raises(NoWorkersError, match="can't start new thread"):
                    use()
            assert [job.answer for job in pool.queue] == [behind]
            new_pipe.write_bytes(b"go")
            assert running.result(60) == b"go"
            assert isinstance(error_of(behind), NoWorkersError)
        assert pool.submit(echo, b"z").result(60) == b"z"


def test_where_no_worker_can_replace_one_that_dies_jobs_are_told():
    with contextlib.closing(Pool(1)) as pool:
        (worker,) = workers_of(pool)
        lost, behind = pool.submit(wait, b""), pool.submit(echo, b"x")
        with no_threads():
            os.kill(worker, signal.SIGKILL)
            assert isinstance(error_of(lost), JobLostError)
            assert isinstance(error_of(behind), NoWorkersError)
        assert pool.submit(echo, b"z").result(60) == b"z"


def test_where_no_worker_can_replace_one_that_does_not_start_jobs_are_told():
    with contextlib.closing(Pool(1)) as pool:
        pool.start()
        answer = pool.submit(echo, b"x")
        with no_threads():
            next(iter(pool.handles)).process.kill()
            error = error_of(answer)
        assert isinstance(error, NoWorkersError)
        assert (error.why, "can't start new thread" in error.cause) == ("none", True)
        assert pool.submit(echo, b"z").result(60) == b"z"
