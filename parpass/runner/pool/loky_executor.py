"""The pool of worker processes, as an executor: what its users may ask of it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future

from parpass.errors import RuntimeUseError
from parpass.runner.executor import START_SECONDS, JobEndedError
from parpass.runner.pool.crew import Crew, fail, no_workers
from parpass.runner.pool.process_events import check_threads, in_thread, tell
from parpass.runner.pool.share import Share
from parpass.runner.pool.staff import Posted, Worker
from parpass.runner.worker.serving import pack_call

_GRACE_SECONDS = 5.0  # for processes to end by themselves


class LokyExecutor:
    """Worker processes, started by loky when there is work for them.

    Args:
        workers: How many at most.
        hash_seed: Their hash seed; None for that of this process, if it is set, or 0.
        preload: Modules that take long to load and that all passes need. They are
            loaded once, by Python's fork server, off which the workers are forked. Of
            these there is one in a process; its environment is that which the process
            has when it starts, and no seed is set.
    """

    def __init__(
        self,
        workers: int,
        *,
        hash_seed: int | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        self.workers = workers
        self._crew = Crew(workers, hash_seed, preload)
        tell(self)

    @property
    def is_warm(self) -> bool:
        """Whether a process is ready."""
        return self._crew.is_warm

    def start(self, seconds: float = START_SECONDS) -> None:
        """Have all processes started that are not."""
        crew = self._crew
        with crew.lock:
            self._check_open()
            crew.start_seconds = seconds
            crew.hire(self.workers)
        try:
            check_threads()  # this one needs none now, but others soon will
        except RuntimeError as error:
            raise no_workers(error) from error

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
        crew = self._crew
        posted = Posted(pack_call(run, job), Future(), seconds, of=of)
        with crew.lock:
            self._check_open()
            self._post(posted)
        return posted.answer

    def ask(
        self, run: Callable[[bytes], bytes], job: bytes, *, of: object = None
    ) -> bytes | None:
        """Have a process call `run(job)` and wait for it; None if it went wrong.

        If one has nothing to do this thread alone waits for it, as no other need be
        told: thread switches take as long as a pass on a small function.

        Raises:
            RuntimeUseError: The executor is closed.
        """
        crew, answer = self._crew, Future[bytes]()
        posted = Posted(pack_call(run, job), answer, math.inf, of=of)
        try:
            with crew.lock:
                self._check_open()
                worker = crew.lend(posted)
                if worker is None:
                    self._post(posted)
                # Who else waits may need this core, or Python's lock.
                is_alone = sum(one.current is not None for one in crew.staff) == 1
            if worker is not None:
                message = worker.process.ask(posted.message, looks_out=is_alone)
                if message is None:
                    return None
                crew.answered(worker, message)
                if not answer.done():
                    return None  # it was ended meanwhile
            return None if answer.exception() is not None else answer.result()
        finally:
            if not answer.done():  # something, such as Ctrl-C, came in between
                self.end(answer)

    def expect(self) -> None:
        """Have a process that has nothing to do look out for a job that comes soon."""
        with self._crew.lock:
            worker = self._crew.idle()
        if worker is not None:
            worker.process.expect()

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job."""
        crew = self._crew
        with crew.lock:
            waiting = [one for one in crew.queue if one.answer is answer]
            for posted in waiting:
                crew.queue.remove(posted)
            for worker in crew.staff:
                for posted in worker.jobs():
                    if posted.answer is answer:
                        posted.is_ended = True
                        if at_once:
                            posted.seconds = math.inf
                        crew.end_soon(worker)
            crew.hand_out()  # where a thread was interrupted that was about to
        fail(answer, JobEndedError())

    def kill(self) -> None:
        """Kill all processes now."""
        crew = self._crew
        with crew.lock:
            staff, jobs = dict(crew.staff), list(crew.queue)
            crew.queue.clear()
            for worker in staff:
                worker.condemn()
                if worker.next is not None and not worker.next.is_ended:
                    jobs.append(worker.next)
                    worker.next.is_ended = True
        for posted in jobs:
            fail(posted.answer, JobEndedError())
        for worker in staff:
            worker.process.kill()
        _wait_for(staff.values(), None)

    def close(self) -> None:
        """End the processes, for good."""
        crew = self._crew
        with crew.lock:
            crew.is_closed = True
            staff, jobs = dict(crew.staff), list(crew.queue)
            crew.queue.clear()
            condemned: list[Worker] = []
            for worker in staff:
                if worker.is_ready and worker.current is None:
                    worker.process.end()
                elif worker.current is None or worker.current.is_ended:
                    worker.condemn()
                    condemned.append(worker)
        for posted in jobs:
            fail(posted.answer, JobEndedError())
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
        crew = self._crew
        with crew.lock:
            waiting = [one for worker in crew.staff for one in worker.jobs()]
            for posted in waiting:
                posted.is_ended = True
            crew.queue.clear()
        self.close()

    def leave_to_parent(self) -> None:
        """Forget the processes: this one was forked off, and they are its parent's."""
        self._crew.leave_to_parent()

    def _post(self, posted: Posted) -> None:
        """Have a job wait for a worker; called with the lock held."""
        crew = self._crew
        crew.queue.append(posted)
        crew.hand_out()
        crew.hire(len(crew.queue))

    def _check_open(self) -> None:
        if self._crew.is_closed:
            raise RuntimeUseError("this runner is closed; open another one")


def _wait_for(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    until = None if seconds is None else time.monotonic() + seconds
    for thread in list(threads):
        left = None if until is None else max(0.0, until - time.monotonic())
        if thread is not threading.current_thread():
            thread.join(left)
