"""Workers are kept from one call to the next, while they are what new ones would be."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import trio

import parpass
from parpass.runner import end_idle_workers, open_runner, run_pipeline_sync
from parpass.runner.pool import reusable
from parpass.runner.pool.reusable import POOLS
from parpass.transform import PassContext
from parpass.transform.config import ISOLATED
from tests.support.runner.executors import ThreadExecutor
from tests.support.runner.pooled import (
    POOLED,
    child_processes,
    comes_down_to,
    folders,
    pooled,
    settled_processes,
)
from tests.support.toy.ending import EndIn, HangOnAll
from tests.support.toy.hard_passes import AppendPid
from tests.support.toy.ir import Fn, Program, program, values_of
from tests.support.toy.passes import Add

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MOD = program(1, 2, 3)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setattr(reusable, "IDLE_SECONDS", 600.0)  # from one call to the next
    end_idle_workers()
    before, kept = settled_processes(), folders()
    yield
    end_idle_workers()
    assert child_processes() <= before
    assert folders() <= kept
    assert "parpass-idle-workers" not in _threads()


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def pids_in(mod: Any) -> set[int]:
    return {values[-1] for values in values_of(mod).values()}


def pids(**options: Any) -> set[int]:
    """Return the processes that a call uses: one, which it has to itself."""
    options = {"workers": 1, "context": pooled(), **options}
    return pids_in(run_pipeline_sync(MOD, AppendPid(), **options))


async def pids_awaited() -> set[int]:
    made = await parpass.run_pipeline(MOD, AppendPid(), workers=1, context=pooled())
    return pids_in(made)


def test_calls_from_threads_and_from_one_event_loop_after_another_have_one_pool():
    found = [
        pids(),
        asyncio.run(pids_awaited()),
        asyncio.run(pids_awaited()),
        trio.run(pids_awaited),
        trio.run(pids_awaited),
    ]
    thread = threading.Thread(target=lambda: found.append(pids()))
    thread.start()
    thread.join()
    assert found == [found[0]] * 6
    assert len(found[0]) == 1
    assert os.getpid() not in found[0]


def test_calls_at_once_share_a_pool():
    found: list[set[int]] = []
    threads = [threading.Thread(target=lambda: found.append(pids())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 3


def test_another_number_of_workers_is_another_pool_and_one_idle_one_is_kept():
    others = len(child_processes())
    one = pids()
    two = pids(workers=2)
    assert not one & two
    assert comes_down_to(others + 2)
    assert not pids() & one


def test_passes_that_are_not_trusted_have_processes_of_their_own():
    trusted = pids()
    isolated = pids(isolated=True)
    assert not trusted & isolated
    by_option = PassContext(config={**POOLED, ISOLATED: True})
    assert pids(context=by_option) == isolated


def test_a_runner_keeps_its_own_and_an_executor_is_its_owners():
    kept = pids()
    with open_runner(workers=1) as runner:
        made = runner.run_sync(MOD, AppendPid(), context=pooled())
        assert not pids_in(made) & kept
    executor = ThreadExecutor()
    run_pipeline_sync(MOD, Add(1), executor=executor, context=pooled())
    executor.close()
    assert pids() == kept


def test_a_worker_that_died_between_two_calls_is_replaced():
    (before,) = pids()
    os.kill(before, signal.SIGKILL)
    assert not pids() & {before}


def test_a_pass_that_kills_its_worker_fails_alone():
    pids()
    with pytest.raises(parpass.errors.WorkerDiedError):
        run_pipeline_sync(MOD, EndIn("kill", 2), workers=1, context=pooled())
    assert pids()


def test_a_call_that_is_cancelled_ends_what_it_does_and_no_other(tmp_path: Path):
    async def cancel() -> None:
        with trio.move_on_after(0.05):
            hang = EndIn("hang", 1)
            await parpass.run_pipeline(MOD, hang, workers=2, context=pooled())

    trio.run(cancel)
    assert pids(workers=2)


def test_where_new_processes_would_be_others_none_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    found = [pids()]
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONHASHSEED", "7")
        found.append(pids())
    with open(tmp_path / "errors", "w") as file, _in_place_of(2, file.fileno()):
        found.append(pids())
    mask = os.umask(0o077)
    found.append(pids())
    os.umask(mask)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    found.append(pids())
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(set[int]().union(*found)) == len(found) == 5


class _in_place_of:  # noqa: N801 -- used like a function
    def __init__(self, descriptor: int, other: int) -> None:
        self._descriptor, self._other = descriptor, other

    def __enter__(self) -> None:
        self._kept = os.dup(self._descriptor)
        os.dup2(self._other, self._descriptor)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, self._descriptor)
        os.close(self._kept)


def test_what_follows_the_program_follows_it_in_kept_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    before = pids()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOR_A_PASS", "7")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    @parpass.function_pass(opt_level=0)
    def look(func: Any, mod: Any, ctx: Any) -> Any:
        is_so = os.environ["FOR_A_PASS"] == "7" and os.getcwd() == str(tmp_path)
        is_so = is_so and str(tmp_path) in sys.path
        return func.with_values([int(is_so), os.getpid()])

    made = run_pipeline_sync(MOD, look, workers=1, context=pooled())
    assert {values[0] for values in values_of(made).values()} == {1}
    assert pids_in(made) == before


def test_an_idle_pool_ends_in_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reusable, "IDLE_SECONDS", 0.05)
    before = len(child_processes())
    assert pids()
    assert comes_down_to(before)
    for thread in threading.enumerate():
        if thread.name == "parpass-idle-workers":
            thread.join(60)
    assert "parpass-idle-workers" not in _threads()
    assert pids()  # and the next call has another one


class Lease:
    """Holds a lease."""


def test_to_end_idle_workers_leaves_those_of_others_alone():
    lease = Lease()
    pool = POOLS.acquire(1, lease)
    pool.start()
    end_idle_workers()
    assert pool.submit(bytes.upper, b"still here").result(60) == b"STILL HERE"
    POOLS.release(lease, pool)


def test_of_a_pass_that_hangs_on_all_functions_few_are_begun_by_one_call(
    tmp_path: Path,
):
    mod = Program({f"f{at}": Fn(tuple(range(at + 1))) for at in range(40)})
    hang = HangOnAll(str(tmp_path / "begun"))
    with pytest.raises(parpass.errors.FunctionTimeoutError) as caught:
        run_pipeline_sync(mod, hang, workers=2, context=pooled(), function_timeout=0.2)
    assert caught.value.function == "f0"
    # Each of the two workers is kept by one at first, then by one in serial order.
    assert len((tmp_path / "begun").read_text().split()) <= 2 * 2


def test_a_lease_that_is_lost_counts_no_more():
    lease = Lease()
    pool = POOLS.acquire(1, lease)
    assert pool.submit(bytes.upper, b"job").result(60) == b"JOB"
    number = len(child_processes())
    del lease
    end_idle_workers()
    assert len(child_processes()) < number


def test_a_pool_without_processes_needs_no_thread_and_ends_no_other():
    first, second = Lease(), Lease()
    unused = POOLS.acquire(2, second)
    POOLS.release(second, unused)
    assert "parpass-idle-workers" not in _threads()
    used = POOLS.acquire(1, first)
    assert used.submit(bytes.upper, b"job").result(60) == b"JOB"
    POOLS.release(first, used)
    POOLS.release(second, POOLS.acquire(2, second))
    assert POOLS.acquire(1, first) is used


def test_a_pool_whose_processes_all_ended_is_not_kept():
    lease = Lease()
    pool = POOLS.acquire(1, lease)
    assert pool.submit(bytes.upper, b"job").result(60) == b"JOB"
    pool.kill()
    POOLS.release(lease, pool)
    assert POOLS.acquire(1, lease) is not pool


def test_what_small_calls_in_a_row_lose_adds_up():
    assert POOLS.amortizer() is POOLS.amortizer()


CHILD = """
import os, sys, warnings
# Python 3.12 and later warn of each fork of a process that has other threads.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
import parpass
from tests.support.toy.hard_passes import AppendPid
from tests.support.runner.pooled import pooled
from tests.support.toy.ir import program, values_of

def pids():
    made = parpass.run_pipeline_sync(
        program(1, 2, 3), AppendPid(), workers=1, context=pooled())
    return {values[-1] for values in values_of(made).values()}
"""

FORKED = """
ours = pids()
child = os.fork()
if not child:
    theirs = pids()
    assert theirs == pids() and not theirs & ours
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert pids() == ours
"""

FORKED_WHILE_A_THREAD_IS_INSIDE = """
import threading
from parpass.runner.pool.reusable import POOLS
ours = pids()
inside, leave = threading.Event(), threading.Event()

def stay():
    with POOLS._lock:
        inside.set()
        leave.wait(300)

thread = threading.Thread(target=stay)
thread.start()
inside.wait()
child = os.fork()
if not child:
    assert not pids() & ours
    parpass.runner.end_idle_workers()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
leave.set()
thread.join()
assert pids() == ours
"""

FORKED_BY_MULTIPROCESSING = """
import multiprocessing
ours = pids()

def in_child():
    assert not pids() & ours

child = multiprocessing.get_context("fork").Process(target=in_child)
child.start()
child.join(150)
assert child.exitcode == 0, child.exitcode
assert pids() == ours
"""

INTERRUPTED = """
import signal, tempfile, threading
from pathlib import Path
from tests.support.toy.hard_passes import Hang
from tests.support.runner.pooled import new_pipe

def interrupt():
    begun.read_bytes()
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

with tempfile.TemporaryDirectory() as folder:
    begun = new_pipe(Path(folder))
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        parpass.run_pipeline_sync(
            program(1, 2, 3), Hang(str(begun)), workers=2, context=pooled())
    except KeyboardInterrupt:
        pass
assert pids()
"""


@pytest.mark.parametrize(
    "rest",
    [
        "pids()",
        FORKED,
        FORKED_WHILE_A_THREAD_IS_INSIDE,
        FORKED_BY_MULTIPROCESSING,
        INTERRUPTED,
    ],
)
def test_a_program_ends_at_once_and_without_a_word(rest: str):
    script = f"{CHILD}{rest}\nprint('done', flush=True)"
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)
