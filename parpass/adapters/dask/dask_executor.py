"""Jobs on the workers of a Dask cluster, which may be other machines."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any, Self

from parpass.adapters.dask.connection import Connection
from parpass.adapters.dask.dispatch import Dispatch
from parpass.adapters.dask.job_cost import JobCost
from parpass.adapters.dask.job_places import Places
from parpass.adapters.dask.jobs_away import Done, Lost, WasAt
from parpass.adapters.dask.posted import Posted, Run
from parpass.adapters.dask.runs_here import RunsHere
from parpass.errors import RuntimeUseError
from parpass.runner import JobEndedError, JobLostError
from parpass.runner.executor import START_SECONDS
from parpass.runner.travel.notes import Work
from parpass.runner.worker.serving import unpack_answer

_LOOK_SECONDS = 0.5  # between two looks of a job that waits for a worker
_WHERE_SECONDS = 2.0  # for workers to say where they hang


class DaskExecutor:
    """Runs jobs on the workers of a Dask cluster; see `parpass.runner.Executor`.

    On each worker they run in processes of its own, which are killed where a pass
    hangs, and end with this executor; nothing else on the cluster is touched. Workers
    unpickle what they are sent, and so does this process: a cluster can do all that its
    users can.

    Args:
        client: A `distributed.Client`; it stays its owner's, and open. This has a
            connection of its own to the same scheduler.

    Attributes:
        name: What is of this executor has it in its name, on the cluster.

    Raises:
        RuntimeUseError: There are no workers, they have another Python or parpass, or
            the client is not connected.
    """

    def __init__(self, client: Any) -> None:
        self._lock = threading.RLock()
        self._posted: dict[int, Posted] = {}
        self._waiting: list[Posted] = []  # for a worker, while there is none
        self._places = Places()
        self._count = 0
        self._closed = False
        self._start_seconds = START_SECONDS
        self._cost = JobCost()
        self._cluster = Connection(client, self._told)
        self.name = self._cluster.name
        self._runs = RunsHere(self._cluster)
        self._dispatch = Dispatch(self._cluster, self._runs, self._heard)
        try:
            self._cluster.open(self._joined, self._left)
        except BaseException:
            self._hang_up()
            raise

    @property
    def workers(self) -> int:
        """How many jobs run at once: the threads of all workers that are there."""
        return max(1, self._places.threads)

    @property
    def least_job_seconds(self) -> float:
        """How long jobs are to be, by what the way of one was measured to take."""
        return self._cost.least_job_seconds

    @property
    def is_warm(self) -> bool:
        """Whether workers have been started: the cluster is there."""
        return True

    def start(self, seconds: float = START_SECONDS) -> None:
        """Do nothing: the cluster is there.

        Args:
            seconds: For how long a job may wait for a worker, if there is none.

        Raises:
            RuntimeUseError: It is not any more, or this is closed.
        """
        self._start_seconds = seconds
        if self._closed:
            raise RuntimeUseError("the executor is closed")
        self._cluster.check()

    def submit(self, run: Run, job: bytes, seconds: float = math.inf) -> Future[bytes]:
        """Have a process of some worker call `run(job)`."""
        del seconds
        self.start(self._start_seconds)
        with self._lock:
            self._count += 1
            posted = self._posted[self._count] = Posted(self._count, run, job)
            self._give_place(posted)
        return posted.answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job: the process that runs it is killed."""
        del at_once
        with self._lock:
            found = [one for one in self._posted.values() if one.answer is answer]
            for posted in found:
                self._take_back(posted)
                posted.give_back_note(reuse=False)
        _settle(answer.set_exception, JobEndedError())
        for posted in found:
            self._dispatch.end(posted)

    def ask_where(self, works: Collection[Work]) -> dict[str, str]:
        """Return where workers are that hang, C code included, by owner of a note."""
        with self._lock:
            asked = {
                work.owner: self._dispatch.ask_where(posted)
                for posted in self._posted.values()
                for work in works
                if posted.note is not None and posted.note.number == work.process
            }
        wait(asked.values(), _WHERE_SECONDS)
        return {owner: told.result() for owner, told in asked.items() if told.done()}

    def kill(self) -> None:
        """End all jobs."""
        for posted in list(self._posted.values()):
            self.end(posted.answer)

    def close(self) -> None:
        """Let jobs end, and leave nothing on the cluster."""
        self._closed = True
        for posted in list(self._posted.values()):
            with contextlib.suppress(Exception):
                posted.answer.result()
        self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:  # nobody waits for jobs any more
            self.kill()
        self.close()

    def _hang_up(self) -> None:
        self._dispatch.close()
        self._cluster.close()
        self._runs.close()

    def _give_place(self, posted: Posted) -> None:
        """Have a worker run a job, now or when there is one."""
        place = self._places.best()
        if place is None:
            self._waiting.append(posted)
            self._wait(posted, time.monotonic() + self._start_seconds)
            return
        posted.place = place
        posted.sent = time.monotonic() if place.has_idle else 0.0
        place.jobs += 1
        self._dispatch.send(posted)

    def _wait(self, posted: Posted, until: float) -> None:
        """Look now and then whether a job can still hope for a worker."""
        if posted not in self._waiting:
            return
        try:
            self._cluster.check()
            if time.monotonic() > until:
                raise RuntimeUseError(
                    f"the Dask cluster has had no workers for {self._start_seconds:g} s"
                )
        except RuntimeUseError as error:
            self._settle(posted, error)
            return
        look = threading.Timer(_LOOK_SECONDS, self._wait, (posted, until))
        look.daemon = True
        look.start()

    def _joined(self, address: str, threads: int) -> None:
        """Take in that there is a worker."""
        with self._lock:
            self._places.join(address, threads)
            waiting, self._waiting = self._waiting, []
            for posted in waiting:
                if not posted.answer.done():
                    self._give_place(posted)

    def _left(self, address: str) -> None:
        """Take in that a worker is no more: so are its jobs."""
        with self._lock:
            threads = self._places.leave(address)
            lost = [
                one
                for one in self._posted.values()
                if one.place is not None and one.place.address == address
            ]
            for at, posted in enumerate(lost):  # in the order in which they are begun
                self._lose(posted, posted.lost_with_worker(may_have_begun=at < threads))

    def _heard(self, posted: Posted, what: Done | Lost | Exception) -> None:
        """Take in what came of a job."""
        try:
            match what:
                case Lost():
                    self._lose(posted, what)
                case Done(content, pieces, seconds):
                    if posted.sent:
                        self._cost.learn(time.monotonic() - posted.sent - seconds)
                    if posted.of is not None:
                        posted.of.keep(pieces)
                    self._settle(posted, unpack_answer(content))
                case _:
                    self._settle(posted, what)
        except Exception as error:  # noqa: BLE001 -- told to who waits
            self._settle(posted, error)

    def _told(self, place: str, what: str, *rest: Any) -> None:
        """Take in what a worker says, on the connection's event loop."""
        if what != "at":
            self._runs.bring(what, place, *rest)
            return
        number, *values, age = rest
        with self._lock:
            posted = self._posted.get(number)
            if posted is not None:
                posted.told = WasAt(tuple(values), age)
                posted.show(posted.told)

    def _lose(self, posted: Posted, lost: Lost) -> None:
        with self._lock:
            if posted.number in self._posted:
                posted.show(lost.was_at)
        note = posted.note
        if note is not None and lost.traceback:
            note.show_traceback(lost.traceback)
        number = 0 if note is None else note.number
        error = JobLostError(lost.cause, number, host_died=lost.host_died)
        self._settle(posted, error)
        self._dispatch.forget(posted)

    def _settle(self, posted: Posted, result: bytes | BaseException) -> None:
        """Answer a job."""
        with self._lock:
            # The note of one that is lost is read, and so are not given back.
            if self._take_back(posted) and not isinstance(result, JobLostError):
                posted.give_back_note(reuse=True)
        answer = posted.answer
        is_error = isinstance(result, BaseException)
        _settle(answer.set_exception if is_error else answer.set_result, result)

    def _take_back(self, posted: Posted) -> bool:
        """Have a job be none of this executor's; return whether it was."""
        if self._posted.pop(posted.number, None) is None:
            return False
        if posted.place is not None:
            posted.place.jobs -= 1
        if posted in self._waiting:
            self._waiting.remove(posted)
        return True


def _settle(put: Callable[[Any], None], value: Any) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        put(value)
