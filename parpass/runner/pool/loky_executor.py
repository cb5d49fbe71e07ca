"""The pool of worker processes: hands out jobs, and replaces workers that ended.

Each worker has a thread here, which starts its process, waits for answers, and hands it
the next job before it tells of the last one.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError

from parpass.errors import RuntimeUseError
from parpass.runner.executor import (
    START_SECONDS,
    JobEndedError,
    JobLostError,
    NoWorkersError,
    environment_of_workers,
    was_killed,
)
from parpass.runner.pool.process_events import check_threads, in_thread, tell
from parpass.runner.pool.share import Share, next_due
from parpass.runner.pool.staff import Posted, Worker
from parpass.runner.pool.worker_process import StartError
from parpass.runner.worker.serving import pack_call, unpack_answer

_MOST_STARTS = 4  # processes in a row that end before they begin
_MOST_KILLED_STARTS = 50  # the same, where they are killed from outside

# What a new process costs, about: a job that ends sooner is let end.
_REPLACEMENT_SECONDS = 0.3

_GRACE_SECONDS = 5.0  # for processes to end by themselves


class LokyExecutor:
    """Worker processes, started by loky when there is work for them.

    Args:
        workers: How many at most.
        hash_seed: Their hash seed; None for that of this process, if it is set, or 0.
    """

    def __init__(self, workers: int, *, hash_seed: int | None = None) -> None:
        self.workers = workers
        self._hash_seed = hash_seed
        self._start_seconds = START_SECONDS
        self._lock = threading.Lock()
        self._queue: deque[Posted] = deque()
        self._staff: dict[Worker, threading.Thread] = {}
        self._ended_starts = 0  # in a row
        self._closed = False
        tell(self)

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return any(one.is_ready and not one.is_over for one in list(self._staff))

    def start(self, seconds: float = START_SECONDS) -> None:
        """Have all processes started that are not."""
        with self._lock:
            self._check_open()
            self._start_seconds = seconds
            self._hire(self.workers)
        try:
            check_threads()  # this one needs none now, but others soon will
        except RuntimeError as error:
            raise _no_workers(error) from error

    def share(self) -> Share:
        """Return the workers as one of several runs has them."""
        return Share(self)

    def submit(
        self,
        run: Callable[[bytes], bytes],
        job: bytes,
        seconds: float = math.inf,
        *,
        of: object = None,
    ) -> Future[bytes]:
        """Have a process call `run(job)`, on behalf of somebody."""
        posted = Posted(pack_call(run, job), Future(), seconds, of=of)
        with self._lock:
            self._check_open()
            self._queue.append(posted)
            self._hand_out()
            self._hire(len(self._queue))
        return posted.answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job."""
        with self._lock:
            waiting = [one for one in self._queue if one.answer is answer]
            for posted in waiting:
                self._queue.remove(posted)
            for worker in self._staff:
                for posted in worker.jobs():
                    if posted.answer is answer:
                        posted.is_ended = True
                        if at_once:
                            posted.seconds = math.inf
                        self._end_soon(worker)
        _fail(answer, JobEndedError())

    def _end_soon(self, worker: Worker) -> None:
        """Kill a worker whose job was ended, unless it is done with it soon."""
        ended = worker.current
        if ended is None or not ended.is_ended or worker.is_over:
            return
        if worker.left_seconds() > _REPLACEMENT_SECONDS or self._closed:
            worker.condemn()
            in_thread(worker.process.kill)
            return

        def kill_if_late() -> None:
            with self._lock:
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

    def kill(self) -> None:
        """Kill all processes now."""
        with self._lock:
            staff, jobs = dict(self._staff), list(self._queue)
            self._queue.clear()
            for worker in staff:
                worker.condemn()
                if worker.next is not None and not worker.next.is_ended:
                    jobs.append(worker.next)
                    worker.next.is_ended = True
        for posted in jobs:
            _fail(posted.answer, JobEndedError())
        for worker in staff:
            worker.process.kill()
        _wait_for(staff.values(), None)

    def close(self) -> None:
        """End the processes, for good."""
        with self._lock:
            self._closed = True
            staff, jobs = dict(self._staff), list(self._queue)
            self._queue.clear()
            condemned: list[Worker] = []
            for worker in staff:
                if worker.is_ready and worker.current is None:
                    worker.process.end()
                elif worker.current is None or worker.current.is_ended:
                    worker.condemn()
                    condemned.append(worker)
        for posted in jobs:
            _fail(posted.answer, JobEndedError())
        for worker in condemned:
            worker.process.kill()
        _wait_for(staff.values(), _GRACE_SECONDS)
        self.kill()

    def leave(self) -> None:
        """Have the processes end soon, and do not wait for it."""
        in_thread(self.close)

    def end_with_program(self) -> None:
        """End the processes of a program that ends, and tell nobody.

        Who waits for a job does so in a daemon thread, which goes without a word.
        """
        with self._lock:
            waiting = [one for worker in self._staff for one in worker.jobs()]
            for posted in waiting:
                posted.is_ended = True
            self._queue.clear()
        self.close()

    def leave_to_parent(self) -> None:
        """Forget the processes: this one was forked off, and they are its parent's."""
        # Threads that held the lock, or saw to a worker, are not in this process.
        self._lock = threading.Lock()
        for worker in self._staff:
            worker.process.leave_to_parent()
        _of_parents.extend(self._staff)  # their end is none of this process's business
        self._staff, self._queue = {}, deque()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeUseError("this runner is closed; open another one")

    def _hand_out(self) -> None:
        """Give jobs to those who take one; called with the lock held."""
        while self._queue:
            posted = next_due(self._queue, self._staff)
            takers = [worker for worker in self._staff if worker.takes(posted)]
            if not takers:
                return
            idle = (worker for worker in takers if worker.current is None)
            if next(idle, takers[0]).give(posted):
                self._queue.remove(posted)

    def _hire(self, wanted: int) -> None:
        """Start processes if too few are on their way; called with the lock held.

        Raises:
            NoWorkersError: There are none, and no thread can be had for one.
        """
        here = [one for one in self._staff if not one.is_over]
        free = sum(1 for one in here if one.current is None)
        for _ in range(min(self.workers - len(here), wanted - free)):
            worker = Worker()
            attend = functools.partial(self._attend, worker)
            thread = threading.Thread(target=attend, name="parpass-worker", daemon=True)
            self._staff[worker] = thread
            try:
                thread.start()
            except RuntimeError as error:
                del self._staff[worker]
                if not self._staff:
                    self._queue.clear()
                    raise _no_workers(error) from error
                return

    def _hire_again(self) -> list[Posted]:
        """Start processes for jobs that wait; return those that wait in vain.

        Called with the lock held.
        """
        waiting = list(self._queue)
        try:
            self._hire(len(waiting))
        except NoWorkersError:
            return waiting
        return []

    def _attend(self, worker: Worker) -> None:
        """Start a worker's process and wait for what it has to say, to its end."""
        try:
            env = environment_of_workers(self._hash_seed)
            worker.process.start(env, lambda: self._start_seconds)
        except BaseException as error:  # noqa: BLE001 -- the jobs are told
            self._could_not_start(worker, error)
        else:
            with self._lock:
                self._ended_starts = 0
                worker.is_ready = True
                if self._closed:
                    worker.process.end()
                self._hand_out()
            while (message := worker.process.receive()) is not None:
                self._answered(worker, message)
            self._ended(worker)
        with contextlib.suppress(Exception):  # a program that is at its own end
            worker.process.clear()
        with self._lock:
            self._staff.pop(worker, None)

    def _answered(self, worker: Worker, message: bytes) -> None:
        with self._lock:
            done = worker.current
            worker.current, worker.next = worker.next, None
            worker.began = time.monotonic()
            self._end_soon(worker)
            self._hand_out()
            if self._closed and worker.current is None:
                worker.process.end()
        if done is None or done.is_ended:
            return
        answer = unpack_answer(message)
        if isinstance(answer, BaseException):
            _fail(done.answer, answer)
        else:
            with contextlib.suppress(InvalidStateError):
                done.answer.set_result(answer)

    def _ended(self, worker: Worker) -> None:
        """Take down that a worker is no more, whatever the reason."""
        process, cause = worker.process.number, worker.process.cause()
        with self._lock:
            lost, waiting = worker.current, worker.next
            worker.is_over, worker.current, worker.next = True, None, None
            if waiting is not None and not waiting.is_ended:
                self._queue.appendleft(waiting)
            self._hand_out()
            in_vain = self._hire_again()
        if lost is not None and not lost.is_ended:
            error = JobLostError(cause, process)
            _fail(lost.answer, JobEndedError() if worker.is_killed else error)
        for posted in in_vain:
            _fail(posted.answer, NoWorkersError("none", "no thread can be started"))

    def _could_not_start(self, worker: Worker, error: BaseException) -> None:
        """Try again, or tell those who wait that there is no use in waiting."""
        jobs: list[Posted] = []
        with self._lock:
            worker.is_over = True
            if worker.is_killed:
                return
            self._ended_starts += 1
            ends = isinstance(error, StartError) and not error.hangs
            most = _MOST_KILLED_STARTS if was_killed(str(error)) else _MOST_STARTS
            if ends and self._ended_starts < most:
                jobs = self._hire_again()
            elif not self.is_warm:
                jobs = list(self._queue)
                self._queue.clear()
        for posted in jobs:
            _fail(posted.answer, _no_workers(error))


_of_parents: list[Worker] = []


def _fail(answer: Future[bytes], error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        answer.set_exception(error)


def _no_workers(error: BaseException) -> NoWorkersError:
    if isinstance(error, StartError):
        return NoWorkersError("hang" if error.hangs else "end", str(error))
    return NoWorkersError("none", f"{type(error).__name__}: {error}")


def _wait_for(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    for thread in list(threads):
        left = None if until is None else max(0.0, until - time.monotonic())
        if thread is not threading.current_thread():
            thread.join(left)
