"""The pool of processes, by loky; the only file that knows it."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing.process
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import loky
from loky import process_executor
from loky.backend.context import LokyContext
from loky.process_executor import ShutdownExecutorError

from parpass.errors import RuntimeUseError
from parpass.runtime.executor import (
    START_SECONDS,
    WorkersDiedError,
    WorkersHangError,
    WorkersKilledError,
)
from parpass.runtime.semaphores import Semaphore, Semaphores, new_semaphores

_GRACE_SECONDS = 5.0  # for processes to end by themselves

# Constants are folded with one native thread everywhere, so that results are equal to
# the bit, and so that W workers of W threads each do not fight for W cores.
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class LokyExecutor:
    """A pool of loky's processes, made anew by `start` after it broke or was killed.

    Args:
        workers: How many processes.
        hash_seed: Their hash seed; None for that of this process, if it is set, or 0.
    """

    def __init__(self, workers: int, *, hash_seed: int | None = None) -> None:
        self.workers = workers
        self._hash_seed = hash_seed
        self._pool: loky.ProcessPoolExecutor | None = None
        self._broken: loky.ProcessPoolExecutor | None = None
        self._dead: frozenset[int] = frozenset()  # processes of that
        self._hanging: loky.ProcessPoolExecutor | None = None
        self._closed = False
        self._lock = threading.Lock()
        _executors.add(self)

    @property
    def is_warm(self) -> bool:
        """Whether the processes have been started."""
        return self._pool is not None

    def leave_to_parent(self) -> None:
        """Forget the processes: this one was forked off, and they are its parent's."""
        # Threads that held the lock, or saw to the pool, are not in this process. The
        # pool is kept as it is: its end would close what the parent still uses.
        self._lock = threading.Lock()
        if self._pool is not None:
            _of_parents.append(self._pool)
            # At its end multiprocessing waits for those that it takes for its children.
            children: set[Any] = getattr(multiprocessing.process, "_children", set())
            children.difference_update(_processes(self._pool).values())
        self._pool = self._broken = None
        self._dead = frozenset()

    def start(self) -> None:
        """Start the processes if none are running, or if the pool broke."""
        # Of several runs that lost their jobs together, the first makes the new pool.
        with self._lock:
            if self._closed:
                raise RuntimeUseError("this runner is closed; open another one")
            if self._pool is not None and _is_broken(self._pool):
                self._pool.shutdown(wait=True, kill_workers=True)
                self._pool = None
            if self._pool is None:
                self._pool = pool = _new_pool(self.workers, self._hash_seed)
                # loky starts its processes at the first submission, all at once.
                self._end_if_none_begins(pool, pool.submit(os.getpid))

    def _end_if_none_begins(
        self, pool: loky.ProcessPoolExecutor, first: Future[int]
    ) -> None:
        def end() -> None:
            self._hanging = pool
            _kill_all(_processes(pool))

        overdue = threading.Timer(START_SECONDS, end)
        overdue.daemon = True
        overdue.start()
        first.add_done_callback(lambda _: overdue.cancel())

    def submit(self, run: Callable[[bytes], bytes], job: bytes) -> Future[bytes]:
        """Have a process call `run(job)`."""
        answer: Future[bytes] = Future()
        pool = self._pool
        if pool is None:
            answer.set_exception(WorkersKilledError())
            return answer
        try:
            running = pool.submit(run, job)
        except (BrokenProcessPool, ShutdownExecutorError) as error:
            self._fail(pool, answer, error)
            return answer
        running.add_done_callback(lambda done: self._pass_on(pool, done, answer))
        return answer

    def alone(self) -> LokyExecutor:
        """Return another pool, of one process."""
        return LokyExecutor(1)

    def kill(self) -> None:
        """Kill all processes now."""
        self._end(kill=True)

    def close(self) -> None:
        """End the processes, for good."""
        self._closed = True
        self._end(kill=False)

    def _end(self, *, kill: bool) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is None:
            return
        # One that hangs at its end, or was stopped, would keep everybody waiting.
        overdue = threading.Timer(_GRACE_SECONDS, _kill_all, [_processes(pool)])
        overdue.daemon = True
        overdue.start()
        pool.shutdown(wait=True, kill_workers=kill)
        overdue.cancel()

    def _pass_on(
        self,
        pool: loky.ProcessPoolExecutor,
        done: Future[bytes],
        answer: Future[bytes],
    ) -> None:
        error = done.exception()
        if error is None:
            answer.set_result(done.result())
        else:
            self._fail(pool, answer, error)

    def _fail(
        self,
        pool: loky.ProcessPoolExecutor,
        answer: Future[bytes],
        error: BaseException,
    ) -> None:
        if isinstance(error, BrokenProcessPool) and self._hanging is pool:
            answer.set_exception(WorkersHangError())
        elif isinstance(error, BrokenProcessPool):
            if self._broken is not pool:
                # The others are killed a moment later.
                self._broken, self._dead = pool, _dead_processes(pool)
            answer.set_exception(WorkersDiedError(str(error), self._dead))
        elif isinstance(error, ShutdownExecutorError):
            answer.set_exception(WorkersKilledError())
        else:
            answer.set_exception(error)


_executors: weakref.WeakSet[LokyExecutor] = weakref.WeakSet()
_of_parents: list[loky.ProcessPoolExecutor] = []


def _after_fork() -> None:
    for executor in list(_executors):
        executor.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)


def usable_cores() -> int:
    """Return how many processes can run at once here.

    That is the number of cores, or what the affinity mask of this process, the quota of
    its container, or `LOKY_MAX_CPU_COUNT` leave of them.
    """
    return loky.cpu_count()


def _is_broken(pool: loky.ProcessPoolExecutor) -> bool:
    # A process that dies on idle breaks it as well.
    flags = pool._flags  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- no other way
    return flags.broken is not None


def _processes(pool: loky.ProcessPoolExecutor) -> dict[int, loky.Process]:
    known = pool._processes  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- no other way
    return dict(known or {})


def _dead_processes(pool: loky.ProcessPoolExecutor) -> frozenset[int]:
    return frozenset(
        n for n, one in _processes(pool).items() if one.exitcode is not None
    )


def _kill_all(processes: dict[int, loky.Process]) -> None:
    for number, process in processes.items():
        if process.exitcode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _new_pool(workers: int, hash_seed: int | None) -> loky.ProcessPoolExecutor:
    # One hash seed for all, so that nothing depends on which worker ran.
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if hash_seed is not None:
        seed = str(hash_seed)
    env = {"PYTHONHASHSEED": seed if seed.isdecimal() else "0"}
    env |= dict.fromkeys(_ONE_THREAD, "1")
    semaphores = new_semaphores()
    return loky.ProcessPoolExecutor(
        workers,
        context=None if semaphores is None else _Context(semaphores),
        env=env,
        timeout=None,
        initializer=_begin_worker,
        initargs=(os.getpid(),),
    )


class _Context(LokyContext):
    """Gives a pool locks without names."""

    def __init__(self, semaphores: Semaphores) -> None:
        super().__init__()
        self._semaphores = semaphores

    def Lock(self) -> Semaphore:  # noqa: N802 -- loky's name
        return self._semaphores.new(1, 1)

    def BoundedSemaphore(self, value: int) -> Semaphore:  # noqa: N802 -- loky's name
        return self._semaphores.new(value, value)


def _begin_worker(coordinator: int) -> None:
    """Load what jobs need, while the coordinator is still packing the first."""
    # loky replaces workers that grow. Constants are mapped, and shared with all, and
    # caches of passes are to be kept; what is too much, `memory_limit` says.
    setattr(process_executor, "_MAX_MEMORY_LEAK_SIZE", sys.maxsize)  # noqa: B010 -- private
    worker = importlib.import_module("parpass.runtime.worker")
    worker.begin(coordinator)
