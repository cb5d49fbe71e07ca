"""The workers of a pool, the queue of jobs, and the fair share of several runs in it.

Each worker has a thread in this process, which starts its process, receives results,
and sends it the next job before it completes the last one.

Each run gets as many workers as the others. In order of arrival, a run whose functions
hang would occupy all of them, and short jobs of another run would wait behind each.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

import msgspec

from parpass.runner.executor import (
    DEFAULT_START_SECONDS,
    JobCancelledError,
    JobLostError,
    NoWorkersError,
    was_killed,
    worker_env,
)
from parpass.runner.pool.lifecycle import inherited_state, run_in_thread
from parpass.runner.pool.worker_process import StartError, WorkerProcess
from parpass.runner.worker.main import decode_result

_MAX_FAILED_STARTS = 4  # in a row, of processes that end before they are ready
_MAX_KILLED_STARTS = 50  # likewise, of processes that are killed from outside

# To start a process takes about as long: a job that ends sooner may finish.
_REPLACEMENT_SECONDS = 0.3

# A short job is prefetched by a worker that runs a short job, so that it need not wait
# for this process, whose threads may be busy. The message is small, since a worker that
# sends a result does not read. Both are jobs of one run: jobs of another run may take
# longer than expected, or hang.
_MAX_PREFETCH_SECONDS = 0.04
_MAX_PREFETCH_BYTES = 16_384


class QueuedJob(msgspec.Struct, eq=False):
    """A job that is queued or running.

    Attributes:
        message: The encoded call.
        answer: The future of its result.
        seconds: Its expected time; infinite if not known.
        is_cancelled: Whether its result is not needed, and its worker is to end soon.
        owner: The owner, which is the same for all jobs of a run.
    """

    message: bytes
    answer: Future[bytes]
    seconds: float
    is_cancelled: bool = False
    owner: object = None


class WorkerHandle:
    """A worker of a pool: its process, and the jobs assigned to it.

    Attributes:
        process: The process.
        is_ready: Whether the process has started, and takes jobs.
        current: The job that runs.
        next: The job that is prefetched.
        began: When the current job began, by `time.monotonic`.
        is_over: Whether the process has ended, or is about to.
        is_killed: Whether the pool killed it.
    """

    def __init__(self) -> None:
        self.process = WorkerProcess()
        self.is_ready = False
        self.current: QueuedJob | None = None
        self.next: QueuedJob | None = None
        self.began = 0.0
        self.is_over = False
        self.is_killed = False

    def jobs(self) -> list[QueuedJob]:
        """Return the jobs assigned to the worker that have no result."""
        return [one for one in (self.current, self.next) if one is not None]

    @property
    def is_idle(self) -> bool:
        """Whether the worker takes jobs, and has none."""
        return self.current is None and self.is_ready and not self.is_over

    def accepts(self, queued: QueuedJob) -> bool:
        """Return whether a job may be assigned to the worker now."""
        if not self.is_ready or self.is_over:
            return False
        if self.current is None:
            return True
        is_late = self.remaining_seconds() < -_MAX_PREFETCH_SECONDS
        return (
            self.next is None
            and self.current.owner is queued.owner
            and not is_late
            and self.current.seconds + queued.seconds <= _MAX_PREFETCH_SECONDS
            and len(queued.message) <= _MAX_PREFETCH_BYTES
        )

    def assign(self, queued: QueuedJob) -> bool:
        """Send a job to the worker; return False if the connection is broken."""
        if not self.process.send(queued.message):
            self.is_over = True  # its thread is about to notice
            return False
        if self.current is None:
            self.begin(queued)
        else:
            self.next = queued
        return True

    def begin(self, queued: QueuedJob) -> None:
        """Set the current job, and the time it began."""
        self.current, self.began = queued, time.monotonic()

    def remaining_seconds(self) -> float:
        """Return the expected time left of the current job; negative if it is late.

        It is minus infinity if there is none.
        """
        if self.current is None:
            return -math.inf
        return self.began + self.current.seconds - time.monotonic()

    def mark_dead(self) -> None:
        """Exclude the worker from further jobs: it is about to be killed."""
        self.is_over = self.is_killed = True


class WorkerPool:
    """Spawns workers when there are jobs for them, and replaces those that ended.

    Args:
        workers: The maximum number of workers.
        hash_seed: Their hash seed; None for that of this process if it is set, else 0.
        preload: The modules that the fork server imports; see `LokyExecutor`.

    Attributes:
        lock: Held while any other attribute is read or changed.
        queue: The jobs that are not assigned to a worker.
        handles: The workers, each with its thread.
        is_closed: Whether no more jobs are accepted.
        inherited_state: What the first process inherited; None before it was started.
        start_seconds: The time limit for a process to be ready.
    """

    def __init__(
        self, workers: int, hash_seed: int | None, preload: Sequence[str] = ()
    ) -> None:
        self._workers = workers
        self._hash_seed = hash_seed
        self._preload = preload
        self._failed_starts = 0  # in a row
        self.lock = threading.Lock()
        self.queue: deque[QueuedJob] = deque()
        self.handles: dict[WorkerHandle, threading.Thread] = {}
        self.is_closed = False
        self.inherited_state: tuple[Any, ...] | None = None
        self.start_seconds = DEFAULT_START_SECONDS

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return any(one.is_ready and not one.is_over for one in list(self.handles))

    def after_fork_in_child(self) -> None:
        """Release the processes, which belong to the parent of this one."""
        # The threads of workers, one of which may hold the lock, are not in the child.
        self.lock = threading.Lock()
        for worker in self.handles:
            worker.process.after_fork_in_child()
        # Kept, so that they are not finalized here.
        _inherited_handles.extend(self.handles)
        self.handles, self.queue = {}, deque()

    def cancel_soon(self, worker: WorkerHandle) -> None:
        """Kill a worker whose job is cancelled, unless the job ends soon.

        Called with the lock held.
        """
        ended = worker.current
        if ended is None or not ended.is_cancelled or worker.is_over:
            return
        if worker.remaining_seconds() > _REPLACEMENT_SECONDS or self.is_closed:
            worker.mark_dead()
            run_in_thread(worker.process.kill)
            return

        def kill_if_late() -> None:
            with self.lock:
                is_late = worker.current is ended
                if is_late:
                    worker.mark_dead()
            if is_late:
                worker.process.kill()

        late = threading.Timer(2 * _REPLACEMENT_SECONDS, kill_if_late)
        late.daemon = True
        try:
            late.start()
        except RuntimeError:
            worker.mark_dead()
            worker.process.kill()

    def assign_jobs(self) -> None:
        """Assign queued jobs to workers that accept them; called with the lock held."""
        while self.queue:
            queued = next_job(self.queue, self.handles)
            takers = [worker for worker in self.handles if worker.accepts(queued)]
            if not takers:
                return
            # The one that will have begun with it first.
            if min(takers, key=WorkerHandle.remaining_seconds).assign(queued):
                self.queue.remove(queued)

    def borrow(self, queued: QueuedJob) -> WorkerHandle | None:
        """Return an idle worker for a job on its direct channel; None if there is none.

        None is returned as well while other jobs are queued. Called with the lock held.
        """
        worker = None if self.queue else self.idle()
        if worker is not None:
            worker.begin(queued)
        return worker

    def idle(self) -> WorkerHandle | None:
        """Return an idle worker, or None; called with the lock held."""
        return next((one for one in self.handles if one.is_idle), None)

    def spawn(self, wanted: int) -> None:
        """Start processes if too few are idle or starting; called with the lock held.

        Raises:
            NoWorkersError: There are no workers, and no thread can be started for one.
        """
        here = [one for one in self.handles if not one.is_over]
        free = sum(1 for one in here if one.current is None)
        if not self.handles:
            self.inherited_state = inherited_state()
        for _ in range(min(self._workers - len(here), wanted - free)):
            worker = WorkerHandle()
            run = functools.partial(self._run_worker, worker)
            thread = threading.Thread(target=run, name="parpass-worker", daemon=True)
            self.handles[worker] = thread
            try:
                thread.start()
            except RuntimeError as error:
                del self.handles[worker]
                if not self.handles:
                    self.queue.clear()
                    raise no_workers_error(error) from error
                return

    def _respawn(self) -> list[QueuedJob]:
        """Spawn workers for queued jobs; return the jobs if that is impossible.

        Called with the lock held.
        """
        waiting = list(self.queue)
        try:
            self.spawn(len(waiting))
        except NoWorkersError:
            return waiting
        return []

    def _run_worker(self, worker: WorkerHandle) -> None:
        """Start the process of a worker, and complete its jobs until it ends."""
        try:
            env = worker_env(self._hash_seed)
            worker.process.start(env, lambda: self.start_seconds, self._preload)
        except BaseException as error:  # noqa: BLE001 -- set on the futures
            self._start_failed(worker, error)
        else:
            with self.lock:
                self._failed_starts = 0
                worker.is_ready = True
                if self.is_closed:
                    worker.process.end()
                self.assign_jobs()
            while (message := worker.process.receive()) is not None:
                self.complete(worker, message)
            self._ended(worker)
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            worker.process.clear()
        with self.lock:
            self.handles.pop(worker, None)

    def complete(self, worker: WorkerHandle, message: bytes) -> None:
        """Set the result of the current job of a worker, and assign it more jobs."""
        with self.lock:
            done = worker.current
            worker.current, worker.next = worker.next, None
            worker.began = time.monotonic()
            self.cancel_soon(worker)
            self.assign_jobs()
            if self.is_closed and worker.current is None:
                worker.process.end()
        if done is None or done.is_cancelled:
            return
        answer = decode_result(message)
        if isinstance(answer, BaseException):
            fail_job(done.answer, answer)
        else:
            with contextlib.suppress(InvalidStateError):
                done.answer.set_result(answer)

    def _ended(self, worker: WorkerHandle) -> None:
        """Release a worker whose process ended; fail its job, requeue the next one."""
        process, cause = worker.process.number, worker.process.cause()
        with self.lock:
            lost, waiting = worker.current, worker.next
            worker.is_over, worker.current, worker.next = True, None, None
            if waiting is not None and not waiting.is_cancelled:
                self.queue.appendleft(waiting)
            self.assign_jobs()
            unserved = self._respawn()
        if lost is not None and not lost.is_cancelled:
            error = JobLostError(cause, process)
            fail_job(lost.answer, JobCancelledError() if worker.is_killed else error)
        for queued in unserved:
            fail_job(queued.answer, NoWorkersError("none", "no thread can be started"))

    def _start_failed(self, worker: WorkerHandle, error: BaseException) -> None:
        """Spawn another worker, or fail all queued jobs if starts failed too often."""
        jobs: list[QueuedJob] = []
        with self.lock:
            worker.is_over = True
            if worker.is_killed:
                return
            self._failed_starts += 1
            ends = isinstance(error, StartError) and not error.hangs
            most = _MAX_KILLED_STARTS if was_killed(str(error)) else _MAX_FAILED_STARTS
            if ends and self._failed_starts < most:
                jobs = self._respawn()
            elif not self.is_warm:
                jobs = list(self.queue)
                self.queue.clear()
        for queued in jobs:
            fail_job(queued.answer, no_workers_error(error))


def next_job(queue: Sequence[QueuedJob], handles: Iterable[WorkerHandle]) -> QueuedJob:
    """Return the oldest queued job of an owner that occupies the fewest workers."""
    if len(queue) == 1:
        return queue[0]
    at_work = Counter(
        one.owner for worker in handles if not worker.is_over for one in worker.jobs()
    )
    return min(queue, key=lambda queued: at_work[queued.owner])


_inherited_handles: list[WorkerHandle] = []


def fail_job(answer: Future[bytes], error: BaseException) -> None:
    """Set the error of a job, unless it is done or cancelled."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(error)


def no_workers_error(error: BaseException) -> NoWorkersError:
    """Return the `NoWorkersError` for an error of starting a worker."""
    if isinstance(error, StartError):
        return NoWorkersError("hang" if error.hangs else "end", str(error))
    return NoWorkersError("none", f"{type(error).__name__}: {error}")
