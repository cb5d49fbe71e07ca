"""The workers of this machine: a pool of processes that loky starts.

Each worker has a thread in this process, which starts its process, receives results,
and sends it the next job before it completes the last one. Which job a worker gets is
in `worker_handle`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any

from parpass.errors import RuntimeUseError
from parpass.fork_safety import forks_wait
from parpass.runner.executor import (
    DEFAULT_START_SECONDS,
    Executor,
    JobCancelledError,
    JobLostError,
    NoWorkersError,
    was_killed,
)
from parpass.runner.follow.environment import worker_env
from parpass.runner.follow.inherited_state import inherited_state
from parpass.runner.ipc.shared_dir import KeptDirectories
from parpass.runner.pool.lifecycle import register_lifecycle, run_in_thread
from parpass.runner.pool.worker_handle import QueuedJob, WorkerHandle, next_job
from parpass.runner.worker.main import decode_result, encode_call

if TYPE_CHECKING:
    from parpass.runner.pool.worker_process import WorkerProcess

_MAX_FAILED_STARTS = 4  # in a row, of processes that end before they are ready
_MAX_KILLED_STARTS = 50  # likewise, of processes that are killed from outside

# To start a process takes about as long: a job that ends sooner may finish.
_REPLACEMENT_SECONDS = 0.3

_GRACE_SECONDS = 5.0  # for processes to exit before they are killed


class Pool(Executor):
    """The processes, and the queue of jobs.

    Processes are started when there are jobs for them, and replaced when they end. The
    jobs of one owner, which is a run, count together where workers are shared.

    Args:
        workers: The maximum number of processes.
        hash_seed: Their hash seed; None for that of this process if it is set, else 0.
        preload: Modules that all passes need and that take long to import. If there are
            any, Python's fork server imports them once, and workers are forked off it.
            A process has one fork server, with the environment of the process when it
            was started, and the hash seed is not set.

    Attributes:
        lock: Held while the queue and the handles are read or changed.
        queue: The jobs that are not assigned to a worker.
        handles: The workers, each with its thread.
        is_unused: Whether it never had to start a process.
    """

    def __init__(
        self,
        workers: int,
        *,
        hash_seed: int | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        self._workers = workers
        self._hash_seed = hash_seed
        self._preload = preload
        self._failed_starts = 0  # in a row
        self._is_closed = False
        self._has_lost = False  # descriptors, see `_check_descriptors`
        self._start_seconds = DEFAULT_START_SECONDS
        self._directories = KeptDirectories(workers)
        self.is_unused = True
        self.lock = threading.Lock()
        self.queue: deque[QueuedJob] = deque()
        self.handles: dict[WorkerHandle, threading.Thread] = {}
        register_lifecycle(self)

    @property
    def workers(self) -> int:
        return self._workers

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready, and is what a new one would be."""
        ready = [one for one in list(self.handles) if one.takes_jobs]
        if not ready:
            return False
        state = inherited_state()
        return any(one.inherited_state == state for one in ready)

    @property
    def directories(self) -> KeptDirectories:
        return self._directories

    @property
    def has_processes(self) -> bool:
        """Whether there are processes, or some are being started."""
        return bool(self.handles)

    def start(self, seconds: float = DEFAULT_START_SECONDS) -> None:
        with self.lock:
            self._check_open()
            self._check_descriptors()
            self._start_seconds = seconds
            state = inherited_state()
            self._retire_outdated(state)
            self._spawn(self._workers, state)

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        queued = QueuedJob(encode_call(run, job), Future(), seconds, owner=owner)
        with self.lock:
            self._check_open()
            self._enqueue(queued)
        return queued.answer

    def withdraw(self, answer: Future[bytes]) -> bool:
        with self.lock:
            return self._dequeue(answer)

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> bool:
        with self.lock:
            is_here = self._dequeue(answer)
            for worker in self.handles:
                for queued in worker.jobs():
                    if queued.answer is answer:
                        is_here = True
                        queued.is_cancelled = True
                        if at_once:
                            queued.seconds = math.inf
                        self._cancel_soon(worker)
            self.assign_jobs()  # a thread may have been interrupted before it did
        if is_here:  # else the thread of its worker is about to set the result
            _fail(answer, JobCancelledError())
        return is_here

    def kill(self) -> None:
        """Kill all processes, and cancel all jobs; `submit` starts new ones."""
        with self.lock:
            handles, jobs = dict(self.handles), self._take_queue()
            for worker in handles:
                worker.is_over = True
                for queued in worker.jobs():
                    if not queued.is_cancelled:
                        queued.is_cancelled = True
                        jobs.append(queued)
        _fail_all(jobs, JobCancelledError)
        for worker in handles:
            worker.process.kill()
        _join_all(handles.values(), None)

    def close(self) -> None:
        """Cancel queued jobs, let workers finish the others, and end them."""
        with self.lock:
            self._is_closed = True
            handles, jobs = dict(self.handles), self._take_queue()
            dead: list[WorkerHandle] = []
            for worker in handles:
                if worker.is_ready and worker.current is None:
                    worker.process.end()
                elif worker.current is None or worker.current.is_cancelled:
                    worker.is_over = True
                    dead.append(worker)
        _fail_all(jobs, JobCancelledError)
        for worker in dead:
            worker.process.kill()
        _join_all(handles.values(), _GRACE_SECONDS)
        self.kill()
        self._directories.close()

    def at_program_exit(self) -> None:
        """End the processes at exit; futures of jobs are not completed.

        Only daemon threads can still wait for them.
        """
        with self.lock:
            for worker in self.handles:
                for queued in worker.jobs():
                    queued.is_cancelled = True
            self.queue.clear()
        self.close()

    def after_fork_in_child(self) -> None:
        """Release the processes, which belong to the parent of this one."""
        # The threads of workers, one of which may hold the lock, are not in the child.
        self.lock = threading.Lock()
        for worker in self.handles:
            worker.process.after_fork_in_child()
        # Kept, so that they are not finalized here.
        _inherited_handles.extend(self.handles)
        self.handles, self.queue = {}, deque()
        self._directories.after_fork_in_child()

    # What follows is called with the lock held, up to the threads of workers.

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

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeUseError.closed("runner")

    def _check_descriptors(self) -> None:
        """Check that the program has left the connections to the workers open.

        If it has not, what starts processes may have lost its descriptors, too, and
        write to another file.

        Raises:
            NoWorkersError: It has closed them.
        """
        self._has_lost |= any(one.process.is_lost for one in self.handles)
        if self._has_lost:
            raise NoWorkersError(
                "none",
                "the program has closed descriptors of its workers; before it does, "
                "close runners, and call parpass.runner.end_idle_workers()",
            )

    def _enqueue(self, queued: QueuedJob) -> None:
        self.queue.append(queued)
        self.assign_jobs()
        try:
            self._spawn(len(self.queue))
        except NoWorkersError:
            if self._dequeue(queued.answer):  # else a worker has it
                raise

    def _dequeue(self, answer: Future[bytes]) -> bool:
        for queued in self.queue:
            if queued.answer is answer:
                self.queue.remove(queued)
                return True
        return False

    def _take_queue(self) -> list[QueuedJob]:
        jobs = list(self.queue)
        self.queue.clear()
        return jobs

    def _cancel_soon(self, worker: WorkerHandle) -> None:
        """Kill a worker whose job is cancelled, unless the job ends soon."""
        ended = worker.current
        if ended is None or not ended.is_cancelled or worker.is_over:
            return
        if worker.remaining_seconds() > _REPLACEMENT_SECONDS or self._is_closed:
            worker.is_over = True
            run_in_thread(worker.process.kill)
            return

        def kill_if_late() -> None:
            with self.lock:
                is_late = worker.current is ended
                if is_late:
                    worker.is_over = True
            if is_late:
                worker.process.kill()

        late = threading.Timer(2 * _REPLACEMENT_SECONDS, kill_if_late)
        late.daemon = True
        try:
            late.start()
        except RuntimeError:
            worker.is_over = True
            worker.process.kill()

    def _spawn(self, wanted: int, state: tuple[Any, ...] | None = None) -> None:
        """Start processes if too few are idle or starting.

        Args:
            wanted: How many are to be idle or starting.
            state: The state that they inherit, if it is known.

        Raises:
            NoWorkersError: No worker takes jobs, and no thread can be started for one.
        """
        here = [one for one in self.handles if one.may_take_jobs]
        free = sum(1 for one in here if one.current is None)
        count = min(self._workers - len(here), wanted - free)
        if count > 0:
            self.is_unused = False
            self._check_descriptors()
        for _ in range(count):
            try:
                state = state or inherited_state()
                worker = WorkerHandle(_new_process(), state)
                run = functools.partial(self._run_worker, worker)
                thread = threading.Thread(
                    target=run, name="parpass-worker", daemon=True
                )
                self.handles[worker] = thread
                try:
                    thread.start()
                except RuntimeError:
                    del self.handles[worker]
                    raise
            except RuntimeError as error:  # at exit, or beyond a limit
                if not any(one.may_take_jobs for one in self.handles):
                    raise _no_workers_error(error) from error
                return

    def _retire_outdated(self, state: tuple[Any, ...]) -> None:
        """Retire workers that are not what new ones would be; others replace them."""
        for worker in self.handles:
            if worker.inherited_state != state and not worker.is_retired:
                worker.is_retired = True
                if worker.is_ready and worker.current is None:
                    worker.process.end()

    def _respawn(self) -> list[tuple[QueuedJob, NoWorkersError]]:
        """Spawn workers for queued jobs; return those that get none, and why."""
        try:
            self._spawn(len(self.queue))
        except NoWorkersError as error:
            return [(queued, error) for queued in self._take_queue()]
        return []

    # What follows runs in the thread of a worker.

    def _run_worker(self, worker: WorkerHandle) -> None:
        """Start the process of a worker, and complete its jobs until it ends."""
        try:
            env = worker_env(self._hash_seed)
            worker.process.start(env, lambda: self._start_seconds, self._preload)
        except BaseException as error:  # noqa: BLE001 -- set on the futures
            self._start_failed(worker, _no_workers_error(error))
        else:
            with self.lock:
                self._failed_starts = 0
                worker.is_ready = True
                if self._is_closed or worker.is_retired:
                    worker.process.end()
                self.assign_jobs()
            while (message := worker.process.receive()) is not None:
                self._complete(worker, message)
            self._ended(worker)
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            worker.process.clear()
        with self.lock:
            self.handles.pop(worker, None)

    def _complete(self, worker: WorkerHandle, message: bytes) -> None:
        """Set the result of the current job of a worker, and assign it more jobs."""
        with self.lock:
            done = worker.current
            worker.current, worker.next = worker.next, None
            worker.began = time.monotonic()
            self._cancel_soon(worker)
            self.assign_jobs()
            if (self._is_closed or worker.is_retired) and worker.current is None:
                worker.process.end()
        if done is None or done.is_cancelled:
            return
        answer = decode_result(message)
        if isinstance(answer, BaseException):
            _fail(done.answer, answer)
        else:
            with contextlib.suppress(InvalidStateError):
                done.answer.set_result(answer)

    def _ended(self, worker: WorkerHandle) -> None:
        """Release a worker whose process ended; fail its job, requeue the next one."""
        process, cause = worker.process.number, worker.process.cause()
        with self.lock:
            self._has_lost |= worker.process.is_lost
            lost, waiting = worker.current, worker.next
            worker.is_over, worker.current, worker.next = True, None, None
            if waiting is not None and not waiting.is_cancelled:
                self.queue.appendleft(waiting)
            self.assign_jobs()
            unserved = self._respawn()
        if lost is not None and not lost.is_cancelled:
            _fail(lost.answer, JobLostError(cause, process))
        for queued, error in unserved:
            _fail(queued.answer, error)

    def _start_failed(self, worker: WorkerHandle, error: NoWorkersError) -> None:
        """Spawn another worker, or fail all queued jobs if starts failed too often."""
        unserved: list[tuple[QueuedJob, NoWorkersError]] = []
        with self.lock:
            if worker.is_over:  # the pool has killed it
                return
            worker.is_over = True
            self._failed_starts += 1
            most = _MAX_KILLED_STARTS if was_killed(str(error)) else _MAX_FAILED_STARTS
            if error.why == "end" and self._failed_starts < most:
                unserved = self._respawn()
            elif not any(one.may_take_jobs for one in self.handles):
                unserved = [(queued, error) for queued in self._take_queue()]
        for queued, why in unserved:
            _fail(queued.answer, why)


_inherited_handles: list[WorkerHandle] = []


def _new_process() -> WorkerProcess:
    with forks_wait():
        # Only where there are workers: it takes as long as a small run.
        from parpass.runner.pool.worker_process import WorkerProcess

    return WorkerProcess()


def _fail(answer: Future[bytes], error: BaseException) -> None:
    """Set the error of a job, unless it is done or cancelled."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(error)


def _fail_all(jobs: Iterable[QueuedJob], error: Callable[[], BaseException]) -> None:
    for queued in jobs:
        _fail(queued.answer, error())


def _no_workers_error(error: BaseException) -> NoWorkersError:
    if isinstance(error, NoWorkersError):
        return error
    return NoWorkersError("none", f"{type(error).__name__}: {error}")


def _join_all(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    for thread in list(threads):
        left = None if until is None else max(0.0, until - time.monotonic())
        if thread is not threading.current_thread():
            thread.join(left)
