from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parpass.runtime.loky_executor import LokyExecutor
from parpass.runtime.semaphores import Semaphores, new_semaphores
from tests.support.pooled import folders

ROOT = Path(__file__).parents[2]


@pytest.fixture
def semaphores() -> Semaphores:
    made = new_semaphores()
    assert made is not None
    return made


def test_a_semaphore_counts_and_has_a_most(semaphores: Semaphores):
    one = semaphores.new(2, 3)
    assert [one.acquire(False) for _ in range(3)] == [True, True, False]
    for _ in range(3):
        one.release()
    with pytest.raises(ValueError, match="too many times"):
        one.release()
    with one:
        assert [one.acquire(False) for _ in range(3)] == [True, True, False]
    assert one.acquire(False)


def test_waiting_for_one_ends_in_time(semaphores: Semaphores):
    lock = semaphores.new(0, 1)
    began = time.monotonic()
    assert not lock.acquire(True, 0.02)
    assert time.monotonic() - began >= 0.02


def test_there_are_as_many_as_are_asked_for(semaphores: Semaphores):
    many = [semaphores.new(at, 1000) for at in range(200)]
    for at, one in enumerate(many):
        assert sum(one.acquire(False) for _ in range(at + 1)) == at


def test_they_do_not_keep_file_descriptors():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        Semaphores().new(1, 1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_one_can_be_sent_only_to_a_process_that_is_started(semaphores: Semaphores):
    with pytest.raises(RuntimeError, match="inheritance"):
        pickle.dumps(semaphores.new(1, 1))


@pytest.mark.slow
def test_a_pool_has_nothing_with_a_name():
    executor = LokyExecutor(2)
    executor.start()
    assert not folders()
    assert executor.submit(bytes.upper, b"x").result(60) == b"X"
    assert not folders()
    executor.kill()


KILLED_AS_IT_STARTS = """
import os, signal
from parpass.runtime.loky_executor import LokyExecutor
LokyExecutor(2).start()
os.killpg(0, signal.SIGKILL)
"""


@pytest.mark.slow
def test_nothing_is_left_of_a_program_that_is_killed_as_its_pool_starts():
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_AS_IT_STARTS],
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (-signal.SIGKILL, "")
    assert not folders(process.pid)
