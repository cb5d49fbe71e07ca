"""Runs that are made to use their pool, and what they may leave behind."""

from __future__ import annotations

import contextlib
import os
import select
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parpass.runner import Runner
from parpass.transform import Pass, PassContext
from parpass.transform.config import ASKING_WORKERS_SECONDS

if TYPE_CHECKING:
    from parpass.runner.pool.worker_pool import Pool

POOLED = {ASKING_WORKERS_SECONDS: 0.0}  # a config that leaves all work to the workers
# One under which no work is worth workers, however slow this machine is just now.
HERE = {ASKING_WORKERS_SECONDS: 1e9}
_PATIENCE_SECONDS = 30


def pooled(**settings: Any) -> PassContext:
    """Return a context under which all function passes are run by workers."""
    return PassContext(config=POOLED, **settings)


def run_pooled(runner: Runner, root: Pass, mod: Any, **settings: Any) -> Any:
    """Run a pass on a pool and wait."""
    return runner.run_sync(mod, root, context=pooled(**settings))


def folders(process: int | None = None) -> set[str]:
    """Return the folders of a process's runs that are there now, by default ours.

    And the semaphores: nothing that has a name in shared memory is to be left. What an
    open runner here keeps for its next run is not left.
    """
    number = process or os.getpid()
    patterns = (f"parpass-{number}-*", f"sem.*-{number}-*")
    places = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    found = {
        str(path)
        for place in places
        for pattern in patterns
        for path in place.glob(pattern)
    }
    return found - kept_folders()


def kept_folders() -> set[str]:
    """Return the folders that open runners of this process keep for their next run."""
    return {
        folder.path
        for pool in _open_pools()
        for folder in list(pool.directories._free)  # pyright: ignore[reportPrivateUsage] -- nobody else asks
    }


def _open_pools() -> list[Pool]:
    # Imported here: programs of tests look at when a run loads these.
    from parpass.runner.pool import lifecycle
    from parpass.runner.pool.worker_pool import Pool

    hooks = lifecycle._live_hooks()  # pyright: ignore[reportPrivateUsage] -- all pools
    return [one for one in hooks if isinstance(one, Pool)]


def child_processes() -> set[int]:
    """Return the processes that this one has started, and that are still running."""
    while True:  # a thread, or a process, may end just then
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return {pid for pid in map(int, _children()) if _is_running(pid)}


def settled_processes() -> set[int]:
    """Return the child processes once no pool here is about to start or to end one.

    A run may be over before all workers are started that it asked for, and before one
    has ended that it had killed: so may those of the tests before.
    """

    def are_settled() -> bool:
        return all(
            worker.is_ready
            and not worker.is_over
            and not any(job.is_cancelled for job in worker.jobs())
            for pool in _open_pools()
            for worker in list(pool.handles)
        )

    until = time.monotonic() + _PATIENCE_SECONDS
    while not are_settled() and time.monotonic() < until:
        time.sleep(0.002)  # those that start need this core, or a thread here
    return child_processes()


def comes_down_to(children: int) -> bool:
    """Return whether soon there are no more than so many children.

    One that was killed is still there for a moment when another one takes its place.
    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while len(found := child_processes()) > children:
        if (left := until - time.monotonic()) <= 0:
            return False
        _wait_for_one_of(found, left)
    return True


def _wait_for_one_of(processes: set[int], seconds: float) -> None:
    """Return when one of some processes has ended, or none did for so long."""
    with contextlib.ExitStack() as opened:
        ends: list[int] = []
        for process in processes:
            try:
                ends.append(os.pidfd_open(process))
            except ProcessLookupError:  # it has ended
                return
            opened.callback(os.close, ends[-1])
        select.select(ends, [], [], seconds)


def _children() -> list[str]:
    threads = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [pid for path in threads for pid in path.read_text().split()]


def _is_running(pid: int) -> bool:
    of_process = Path(f"/proc/{pid}")
    while not (command := (of_process / "cmdline").read_bytes()):
        # A zombie has none, nor has one that is just about to begin, or to end.
        if (of_process / "stat").read_text().rpartition(")")[2].split()[0] in "ZX":
            return False
    return b"resource_tracker" not in command


def new_pipe(directory: Path) -> Path:
    """Return a named pipe, to wait for what a pass in a worker writes to it."""
    path = directory / "begun"
    os.mkfifo(path)
    return path
