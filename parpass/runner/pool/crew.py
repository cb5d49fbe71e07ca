"""The workers of a pool, and the jobs that wait for one of them.

Each worker has a thread here, which starts its process, waits for answers, and hands it
the next job before it tells of the last one.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError

from parpass.runner.executor import (
    START_SECONDS,
    JobEndedError,
    JobLostError,
    NoWorkersError,
    environment_of_workers,
    was_killed,
)
from parpass.runner.pool.process_events import in_thread
from parpass.runner.pool.share import next_due
from parpass.runner.pool.staff import Posted, Worker
from parpass.runner.pool.worker_process import StartError
from parpass.runner.worker.serving import unpack_answer

_MOST_STARTS = 4  # processes in a row that end before they begin
_MOST_KILLED_STARTS = 50  # the same, where they are killed from outside

# What a new process costs, about: a job that ends sooner is let end.
_REPLACEMENT_SECONDS = 0.3


class Crew:
    """Hires workers when there is work for them, and replaces those that ended.

    Args:
        workers: How many at most.
        hash_seed: Their hash seed; None for that of this process, if it is set, or 0.
        preload: Modules with which they begin; see `LokyExecutor`.

    Attributes:
        lock: Held while any of the others is looked at or changed.
        queue: The jobs that no worker has been given.
        staff: The workers, each with its thread.
        is_closed: Whether there will be no more jobs.
        start_seconds: How long a process may take until it begins.
    """

    def __init__(
        self, workers: int, hash_seed: int | None, preload: Sequence[str] = ()
    ) -> None:
        self._workers = workers
        self._hash_seed = hash_seed
        self._preload = preload
        self._ended_starts = 0  # in a row
        self.lock = threading.Lock()
        self.queue: deque[Posted] = deque()
        self.staff: dict[Worker, threading.Thread] = {}
        self.is_closed = False
        self.start_seconds = START_SECONDS

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return any(one.is_ready and not one.is_over for one in list(self.staff))

    def leave_to_parent(self) -> None:
        """Forget the processes: this one was forked off, and they are its parent's."""
        # Threads that held the lock, or saw to a worker, are not in this process.
        self.lock = threading.Lock()
        for worker in self.staff:
            worker.process.leave_to_parent()
        _of_parents.extend(self.staff)  # their end is none of this process's business
        self.staff, self.queue = {}, deque()

    def end_soon(self, worker: Worker) -> None:
        """Kill a worker whose job was ended, unless it is done with it soon.

        Called with the lock held.
        """
        ended = worker.current
        if ended is None or not ended.is_ended or worker.is_over:
            return
        if worker.left_seconds() > _REPLACEMENT_SECONDS or self.is_closed:
            worker.condemn()
            in_thread(worker.process.kill)
            return

        def kill_if_late() -> None:
            with self.lock:
                is_late = worker.current is ended
                if is_late:
                    worker.condemn()
            if is_late:
                worker.process.kill()

        late = threading.Timer(2 * _REPLACEMENT_SECONDS, kill_if_late)
        late.daemon = True
        try:
            late.start()
        except RuntimeError:
            worker.condemn()
            worker.process.kill()

    def hand_out(self) -> None:
        """Give jobs to those who take one; called with the lock held."""
        while self.queue:
            posted = next_due(self.queue, self.staff)
            takers = [worker for worker in self.staff if worker.takes(posted)]
            if not takers:
                return
            idle = (worker for worker in takers if worker.current is None)
            if next(idle, takers[0]).give(posted):
                self.queue.remove(posted)

    def lend(self, posted: Posted) -> Worker | None:
        """Return a worker that has nothing to do, to be asked on its line for a job.

        Called with the lock held. None says that there is none, or that others wait.
        """
        worker = None if self.queue else self.idle()
        if worker is not None:
            worker.begin(posted)
        return worker

    def idle(self) -> Worker | None:
        """Return a worker that has nothing to do; called with the lock held."""
        return next((one for one in self.staff if one.is_idle), None)

    def hire(self, wanted: int) -> None:
        """Start processes if too few are on their way; called with the lock held.

        Raises:
            NoWorkersError: There are none, and no thread can be had for one.
        """
        here = [one for one in self.staff if not one.is_over]
        free = sum(1 for one in here if one.current is None)
        for _ in range(min(self._workers - len(here), wanted - free)):
            worker = Worker()
            attend = functools.partial(self._attend, worker)
            thread = threading.Thread(target=attend, name="parpass-worker", daemon=True)
            self.staff[worker] = thread
            try:
                thread.start()
            except RuntimeError as error:
                del self.staff[worker]
                if not self.staff:
                    self.queue.clear()
                    raise no_workers(error) from error
                return

    def _hire_again(self) -> list[Posted]:
        """Start processes for jobs that wait; return those that wait in vain.

        Called with the lock held.
        """
        waiting = list(self.queue)
        try:
            self.hire(len(waiting))
        except NoWorkersError:
            return waiting
        return []

    def _attend(self, worker: Worker) -> None:
        """Start a worker's process and wait for what it has to say, to its end."""
        try:
            env = environment_of_workers(self._hash_seed)
            worker.process.start(env, lambda: self.start_seconds, self._preload)
        except BaseException as error:  # noqa: BLE001 -- the jobs are told
            self._could_not_start(worker, error)
        else:
            with self.lock:
                self._ended_starts = 0
                worker.is_ready = True
                if self.is_closed:
                    worker.process.end()
                self.hand_out()
            while (message := worker.process.receive()) is not None:
                self.answered(worker, message)
            self._ended(worker)
        with contextlib.suppress(Exception):  # a program that is at its own end
            worker.process.clear()
        with self.lock:
            self.staff.pop(worker, None)

    def answered(self, worker: Worker, message: bytes) -> None:
        """Take in what a worker answered, and give it more to do."""
        with self.lock:
            done = worker.current
            worker.current, worker.next = worker.next, None
            worker.began = time.monotonic()
            self.end_soon(worker)
            self.hand_out()
            if self.is_closed and worker.current is None:
                worker.process.end()
        if done is None or done.is_ended:
            return
        answer = unpack_answer(message)
        if isinstance(answer, BaseException):
            fail(done.answer, answer)
        else:
            with contextlib.suppress(InvalidStateError):
                done.answer.set_result(answer)

    def _ended(self, worker: Worker) -> None:
        """Take down that a worker is no more, whatever the reason."""
        process, cause = worker.process.number, worker.process.cause()
        with self.lock:
            lost, waiting = worker.current, worker.next
            worker.is_over, worker.current, worker.next = True, None, None
            if waiting is not None and not waiting.is_ended:
                self.queue.appendleft(waiting)
            self.hand_out()
            in_vain = self._hire_again()
        if lost is not None and not lost.is_ended:
            error = JobLostError(cause, process)
            fail(lost.answer, JobEndedError() if worker.is_killed else error)
        for posted in in_vain:
            fail(posted.answer, NoWorkersError("none", "no thread can be started"))

    def _could_not_start(self, worker: Worker, error: BaseException) -> None:
        """Try again, or tell those who wait that there is no use in waiting."""
        jobs: list[Posted] = []
        with self.lock:
            worker.is_over = True
            if worker.is_killed:
                return
            self._ended_starts += 1
            ends = isinstance(error, StartError) and not error.hangs
            most = _MOST_KILLED_STARTS if was_killed(str(error)) else _MOST_STARTS
            if ends and self._ended_starts < most:
                jobs = self._hire_again()
            elif not self.is_warm:
                jobs = list(self.queue)
                self.queue.clear()
        for posted in jobs:
            fail(posted.answer, no_workers(error))


_of_parents: list[Worker] = []


def fail(answer: Future[bytes], error: BaseException) -> None:
    """Have a job fail, unless it has been ended."""
    with contextlib.suppress(InvalidStateError):
        answer.set_exception(error)


def no_workers(error: BaseException) -> NoWorkersError:
    """Return the error that says so, because of what was in the way of one."""
    if isinstance(error, StartError):
        return NoWorkersError("hang" if error.hangs else "end", str(error))
    return NoWorkersError("none", f"{type(error).__name__}: {error}")
