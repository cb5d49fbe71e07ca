"""Workers that are forked off Python's fork server are workers as others are."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from parpass.runner import JobLostError
from parpass.runner.pool import worker_process
from parpass.runner.pool.forked_process import ForkedWorkerProcess
from parpass.runner.pool.worker_pool import Pool
from parpass.runner.pool.worker_process import WorkerProcess

pytestmark = pytest.mark.slow

LOADED_AHEAD = "tests.support.runner.preloaded"  # a module that nobody else loads


def look(job: bytes) -> bytes:
    """Return what a worker can tell of itself."""
    loaded = sys.modules.get(LOADED_AHEAD)
    blocked = list(getattr(loaded, "BLOCKED", ()))
    return json.dumps((os.getpid(), os.getppid(), loaded is not None, blocked)).encode()


def die(job: bytes) -> bytes:
    """End a worker as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def in_a_program() -> dict[str, Any]:
    """Use such workers; return what was seen."""
    executor = Pool(2, preload=[LOADED_AHEAD, "there.is.none"])
    first, server, is_loaded, blocked = json.loads(executor.submit(look, b"").result())
    error = executor.submit(die, b"").exception()
    assert isinstance(error, JobLostError)
    again, same_server, *_ = json.loads(executor.submit(look, b"").result())
    is_child = os.getpid() == psutil.Process(server).ppid()
    executor.close()
    return {
        "is_loaded": is_loaded,
        "is_loaded_here": LOADED_AHEAD in sys.modules,
        "is_forked": is_child and server == same_server,
        "cause": error.cause,
        "left": [one for one in (first, again) if psutil.pid_exists(one)],
        "blocked": blocked,
    }


def ended_late() -> str:
    """Kill one whose server passes on late how it ended; return what is known of it."""
    asked = itertools.count()

    def exitcode(process: ForkedWorkerProcess) -> int | None:
        if process.pid is None or psutil.pid_exists(process.pid) or next(asked) < 6:
            return None
        return super(ForkedWorkerProcess, process).exitcode

    setattr(ForkedWorkerProcess, "exitcode", property(exitcode))  # noqa: B010
    # The machine may be busy.
    worker_process._EXIT_SECONDS = 100.0  # pyright: ignore[reportPrivateUsage]
    worker = WorkerProcess()
    worker.start({}, lambda: 100.0, [LOADED_AHEAD])
    worker.kill()
    assert worker.receive() is None
    cause = worker.cause()
    worker.clear()
    return cause


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return in_another_process("in_a_program")


def in_another_process(call: str) -> Any:
    """Return the result of a function of this module; a process has one fork server."""
    program = (
        "import json; from tests.runner.pool import test_fork_server as here;"
        f"print(json.dumps(here.{call}()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return json.loads(done.stdout)


def test_what_they_need_is_loaded_before_they_are_forked(seen: dict[str, Any]):
    assert (seen["is_loaded"], seen["is_loaded_here"]) == (True, False)


def test_those_that_replace_others_are_forked_off_the_same_server(
    seen: dict[str, Any],
):
    assert seen["is_forked"]


def test_how_one_ended_is_known(seen: dict[str, Any]):
    assert seen["cause"] == "SIGKILL(-9)"


def test_how_one_ended_is_known_though_the_server_passes_it_on_later():
    assert in_another_process("ended_late") == "SIGKILL(-9)"


def test_interrupts_wait_while_the_server_loads(seen: dict[str, Any]):
    assert signal.SIGINT in seen["blocked"]


def test_none_of_them_is_left(seen: dict[str, Any]):
    assert seen["left"] == []
