from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from parpass.errors import RuntimeUseError
from parpass.runtime.executor import WorkersDiedError, WorkersKilledError
from parpass.runtime.loky_executor import LokyExecutor
from tests.support.pooled import child_processes

pytestmark = pytest.mark.slow


def echo(job: bytes) -> bytes:
    return job


def pid(_job: bytes) -> bytes:
    return str(os.getpid()).encode()


def environment(job: bytes) -> bytes:
    return os.environ.get(job.decode(), "").encode()


def imported(_job: bytes) -> bytes:
    return b",".join(name.encode() for name in ("trio", "onnx") if name in sys.modules)


def grow(_job: bytes) -> bytes:
    """Take memory for good, and some time; return which process it is."""
    _kept.append(b"x" * 400_000_000)
    until = time.monotonic() + 1.1
    while time.monotonic() < until:
        pass
    return str(os.getpid()).encode()


_kept: list[bytes] = []


def end(_job: bytes) -> bytes:
    os._exit(7)


def wait(_job: bytes) -> bytes:
    signal.pause()
    return b""


def fail(_job: bytes) -> bytes:
    raise KeyError("mine")


@pytest.fixture(scope="module")
def executor() -> Iterator[LokyExecutor]:
    executor = LokyExecutor(2)
    yield executor
    executor.close()


def error_of(answer: Future[Any]) -> BaseException | None:
    return answer.exception(timeout=60)


def test_a_job_is_run_in_another_process(executor: LokyExecutor):
    executor.start()
    assert executor.submit(echo, b"x").result(60) == b"x"
    assert int(executor.submit(pid, b"").result(60)) != os.getpid()


def test_starting_twice_keeps_the_workers(executor: LokyExecutor):
    executor.start()
    pool = executor._pool  # pyright: ignore[reportPrivateUsage] -- is it the same one
    with ThreadPoolExecutor(4) as threads:
        for started in [threads.submit(executor.start) for _ in range(8)]:
            started.result(60)
    assert executor._pool is pool  # pyright: ignore[reportPrivateUsage] -- is it the same one


def test_workers_have_one_hash_seed_and_one_native_thread(executor: LokyExecutor):
    executor.start()
    expected = os.environ.get("PYTHONHASHSEED", "0")
    seed = executor.submit(environment, b"PYTHONHASHSEED").result(60).decode()
    assert seed == (expected if expected.isdecimal() else "0")
    assert executor.submit(environment, b"OMP_NUM_THREADS").result(60) == b"1"


def test_workers_import_neither_trio_nor_onnx(executor: LokyExecutor):
    executor.start()
    assert executor.submit(imported, b"").result(60) == b""


def test_what_a_job_raises_is_raised(executor: LokyExecutor):
    executor.start()
    assert isinstance(error_of(executor.submit(fail, b"")), KeyError)


def test_all_jobs_fail_when_a_worker_dies_and_start_makes_new_ones(
    executor: LokyExecutor,
):
    executor.start()
    answers = [executor.submit(wait, b""), executor.submit(end, b"")]
    assert [type(error_of(answer)) for answer in answers] == [WorkersDiedError] * 2
    assert "EXIT(7)" in str(error_of(answers[1]))
    assert isinstance(error_of(executor.submit(echo, b"")), WorkersDiedError)
    executor.start()
    assert executor.submit(echo, b"x").result(60) == b"x"


def test_killed_jobs_are_told_from_those_that_died(executor: LokyExecutor):
    executor.start()
    answer = executor.submit(wait, b"")
    executor.kill()
    assert isinstance(error_of(answer), WorkersKilledError)
    assert not executor.is_warm
    assert isinstance(error_of(executor.submit(echo, b"")), WorkersKilledError)


def test_a_pool_for_one_is_another_pool(executor: LokyExecutor):
    alone = executor.alone()
    executor.start()
    alone.start()
    answer = alone.submit(end, b"")
    assert isinstance(error_of(answer), WorkersDiedError)
    alone.close()
    assert executor.submit(echo, b"x").result(60) == b"x"
    assert alone.workers == 1


@pytest.mark.stress
def test_a_process_that_grows_is_kept():
    # loky looks at the memory of processes once a second, if psutil is there.
    pytest.importorskip("psutil", reason="without it loky does not look")
    executor = LokyExecutor(1)
    executor.start()
    first, then, at_last = [executor.submit(grow, b"").result(60) for _ in range(3)]
    executor.kill()
    assert first == then == at_last


def test_closing_ends_the_processes_for_good():
    before = child_processes()
    executor = LokyExecutor(2)
    executor.start()
    executor.submit(echo, b"").result(60)
    assert len(child_processes() - before) == 2
    executor.close()
    assert not child_processes() - before
    with pytest.raises(RuntimeUseError, match="closed"):
        executor.start()


def test_closing_what_was_never_started_starts_nothing():
    before = child_processes()
    LokyExecutor(2).close()
    assert child_processes() <= before
