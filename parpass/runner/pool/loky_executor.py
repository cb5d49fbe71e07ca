"""The executor of this machine: a pool of processes that loky starts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from parpass.errors import RuntimeUseError
from parpass.runner.executor import (
    DEFAULT_START_SECONDS,
    DirectExecutor,
    JobCancelledError,
)
from parpass.runner.pool.lifecycle import register_lifecycle, run_in_thread
from parpass.runner.pool.worker_pool import (
    QueuedJob,
    WorkerHandle,
    WorkerPool,
    fail_job,
    no_workers_error,
)
from parpass.runner.worker.main import encode_call

_GRACE_SECONDS = 5.0  # for processes to exit before they are killed


class LokyExecutor:
    """Runs jobs in processes, which are started when there are jobs for them.

    Args:
        workers: The maximum number of processes.
        hash_seed: Their hash seed; None for that of this process if it is set, else 0.
        preload: Modules that all passes need and that take long to import. If there are
            any, Python's fork server imports them once, and workers are forked off it.
            A process has one fork server, with the environment of the process when it
            was started, and the hash seed is not set.
    """

    def __init__(
        self,
        workers: int,
        *,
        hash_seed: int | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        self.workers = workers
        self._pool = WorkerPool(workers, hash_seed, preload)
        register_lifecycle(self)

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return self._pool.is_warm

    @property
    def has_processes(self) -> bool:
        """Whether there are processes, or some are being started."""
        return bool(self._pool.handles)

    @property
    def inherited_state(self) -> tuple[Any, ...] | None:
        """`lifecycle.inherited_state` when the first process started, else None."""
        return self._pool.inherited_state

    def start(self, seconds: float = DEFAULT_START_SECONDS) -> None:
        """Start all processes; see `Executor.start`."""
        pool = self._pool
        with pool.lock:
            self._check_open()
            pool.start_seconds = seconds
            pool.spawn(self.workers)
        # At exit no thread may be started any more, and jobs will need some soon.
        if not threading.main_thread().is_alive():
            try:
                threading.Thread(target=int, daemon=True).start()
            except RuntimeError as error:
                raise no_workers_error(error) from error

    def share(self) -> FairShare:
        """Return an executor for one of several runs, which share workers fairly."""
        return FairShare(self)

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        """Submit a call of `run(job)` for an owner; see `Executor.submit`."""
        pool = self._pool
        queued = QueuedJob(encode_call(run, job), Future(), seconds, owner=owner)
        with pool.lock:
            self._check_open()
            self._enqueue(queued)
        return queued.answer

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes, *, owner: object = None
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed.

        If a worker is idle, this thread alone waits for it: thread switches take as
        long as a pass on a small function.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        pool, answer = self._pool, Future[bytes]()
        queued = QueuedJob(encode_call(run, job), answer, math.inf, owner=owner)
        try:
            with pool.lock:
                self._check_open()
                worker = pool.borrow(queued)
                if worker is None:
                    self._enqueue(queued)
                # Other waiting threads may need this core, or the GIL.
                is_alone = sum(one.current is not None for one in pool.handles) == 1
            if worker is not None:
                message = worker.process.send_and_receive(
                    queued.message, spins=is_alone
                )
                if message is None:
                    return None
                pool.complete(worker, message)
                if not answer.done():
                    return None  # it was cancelled meanwhile
            return None if answer.exception() is not None else answer.result()
        finally:
            if not answer.done():  # interrupted, such as by Ctrl-C
                self.end(answer)

    def wake_worker(self) -> None:
        """Announce a job: an idle worker spins until it arrives."""
        with self._pool.lock:
            worker = self._pool.idle()
        if worker is not None:
            worker.process.start_spinning()

    def withdraw(self, answer: Future[bytes]) -> bool:
        """Remove a job from the queue; return False if it is not in it."""
        pool = self._pool
        with pool.lock:
            waiting = [one for one in pool.queue if one.answer is answer]
            for queued in waiting:
                pool.queue.remove(queued)
        return bool(waiting)

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """Cancel a job; see `Executor.end`."""
        pool = self._pool
        with pool.lock:
            waiting = [one for one in pool.queue if one.answer is answer]
            for queued in waiting:
                pool.queue.remove(queued)
            for worker in pool.handles:
                for queued in worker.jobs():
                    if queued.answer is answer:
                        queued.is_cancelled = True
                        if at_once:
                            queued.seconds = math.inf
                        pool.cancel_soon(worker)
            pool.assign_jobs()  # a thread may have been interrupted before it did
        fail_job(answer, JobCancelledError())

    def kill(self) -> None:
        """Kill all processes, and cancel all jobs."""
        pool = self._pool
        with pool.lock:
            handles, jobs = dict(pool.handles), list(pool.queue)
            pool.queue.clear()
            for worker in handles:
                worker.mark_dead()
                if worker.next is not None and not worker.next.is_cancelled:
                    jobs.append(worker.next)
                    worker.next.is_cancelled = True
        for queued in jobs:
            fail_job(queued.answer, JobCancelledError())
        for worker in handles:
            worker.process.kill()
        _join_all(handles.values(), None)

    def close(self) -> None:
        """Close the executor: cancel queued jobs, and end the processes."""
        pool = self._pool
        with pool.lock:
            pool.is_closed = True
            handles, jobs = dict(pool.handles), list(pool.queue)
            pool.queue.clear()
            dead: list[WorkerHandle] = []
            for worker in handles:
                if worker.is_ready and worker.current is None:
                    worker.process.end()
                elif worker.current is None or worker.current.is_cancelled:
                    worker.mark_dead()
                    dead.append(worker)
        for queued in jobs:
            fail_job(queued.answer, JobCancelledError())
        for worker in dead:
            worker.process.kill()
        _join_all(handles.values(), _GRACE_SECONDS)
        self.kill()

    def close_nowait(self) -> None:
        """Close the executor in a thread."""
        run_in_thread(self.close)

    def at_program_exit(self) -> None:
        """End the processes at exit; futures of jobs are not completed.

        Only daemon threads can still wait for them.
        """
        pool = self._pool
        with pool.lock:
            waiting = [one for worker in pool.handles for one in worker.jobs()]
            for queued in waiting:
                queued.is_cancelled = True
            pool.queue.clear()
        self.close()

    def after_fork_in_child(self) -> None:
        """Release the processes, which belong to the parent of this one."""
        self._pool.after_fork_in_child()

    def _enqueue(self, queued: QueuedJob) -> None:
        """Add a job to the queue, and spawn workers; called with the lock held."""
        pool = self._pool
        pool.queue.append(queued)
        pool.assign_jobs()
        pool.spawn(len(pool.queue))

    def _check_open(self) -> None:
        if self._pool.is_closed:
            raise RuntimeUseError.closed("runner")


class FairShare(DirectExecutor):
    """The executor that one run uses: its jobs in a shared pool have it as their owner.

    Args:
        pool: The pool.
    """

    def __init__(self, pool: LokyExecutor) -> None:
        self._pool = pool
        self.workers = pool.workers
        self.start = pool.start
        self.withdraw = pool.withdraw
        self.end = pool.end
        self.kill = pool.kill
        self.close = pool.close

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return self._pool.is_warm

    def submit(
        self, run: Callable[[bytes], bytes], job: bytes, seconds: float = math.inf
    ) -> Future[bytes]:
        """Submit a call of `run(job)`; see `Executor.submit`."""
        return self._pool.submit(run, job, seconds, owner=self)

    def wake_worker(self) -> None:
        """Announce a job: an idle worker spins until it arrives."""
        self._pool.wake_worker()

    def submit_and_wait(
        self, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Run `run(job)` in a worker and wait; return its result, None if it failed."""
        return self._pool.submit_and_wait(run, job, owner=self)


def _join_all(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    for thread in list(threads):
        left = None if until is None else max(0.0, until - time.monotonic())
        if thread is not threading.current_thread():
            thread.join(left)
