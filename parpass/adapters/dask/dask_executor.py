"""Jobs on the workers of a Dask cluster, which may be other machines."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
import uuid
from collections.abc import Callable, Collection
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from typing import Any, Self

from parpass.adapters.dask.connection import Connection
from parpass.adapters.dask.dispatch import Dispatch, Posted, Run
from parpass.adapters.dask.job_cost import JobCost
from parpass.adapters.dask.job_places import Places
from parpass.adapters.dask.jobs_away import Answer, Done, Lost, PartsWanted, WasAt
from parpass.adapters.dask.on_dask_worker import end_there, where_there
from parpass.adapters.dask.run_here import MirroredNote
from parpass.adapters.dask.runs_here import RunsHere
from parpass.errors import RuntimeUseError
from parpass.runner import JobEndedError, JobLostError
from parpass.runner.executor import START_SECONDS
from parpass.runner.travel.notes import Phase, Work
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
        self.name = f"parpass-{uuid.uuid4().hex}"
        self._lock = threading.RLock()
        self._posted: dict[int, Posted] = {}
        self._waiting: list[Posted] = []  # for a worker, while there is none
        self._places = Places()
        self._count = 0
        self._closed = False
        self._start_seconds = START_SECONDS
        self._cost = JobCost()
        # Of things that wait for the cluster: here, and not on anybody's event loop.
        self._thread = ThreadPoolExecutor(1, "parpass-dask")
        self._cluster = Connection(client, self.name, self._told)
        self._runs = RunsHere(self._cluster, self.name)
        self._dispatch = Dispatch(self._cluster, self.name, self._runs)
        try:
            self._cluster.open(self._joined, self._left)
        except BaseException:
            self._thread.shutdown()
            self._cluster.close()
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
                self._take_back(posted, reuses_note=False)
        _settle(answer.set_exception, JobEndedError())
        for posted in found:
            self._later(self._end_there, posted)

    def ask_where(self, works: Collection[Work]) -> dict[str, str]:
        """Return where workers are that hang, C code included, by owner of a note."""
        asked: dict[str, Future[str]] = {}
        with self._lock:
            for posted in self._posted.values():
                for work in works:
                    if posted.note is not None and posted.note.number == work.process:
                        asked[work.owner] = told = Future[str]()
                        self._later(self._ask_there, posted, told)
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
        self._thread.shutdown()
        self._cluster.close()
        self._runs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _later(self, what: Callable[..., None], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed
            self._thread.submit(what, *args)

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
        self._later(self._send, posted)

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
            self._settle(posted, posted.answer.set_exception, error)
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
                self._lose_with_worker(posted, may_have_begun=at < threads)

    def _send(self, posted: Posted) -> None:
        place = posted.place
        if place is None or posted.answer.done():
            return
        try:
            self._dispatch.send(posted, place)
            posted.away.add_done_callback(functools.partial(self._came_back, posted))
        except Exception as error:  # noqa: BLE001 -- told to who waits
            self._settle(posted, posted.answer.set_exception, error)

    def _came_back(self, posted: Posted, away: Any) -> None:
        if posted.answer.done():
            return
        try:
            answer: Answer = away.result()
        except Exception as error:  # noqa: BLE001 -- of Dask's
            if type(error).__name__ == "KilledWorker":
                self._lose_with_worker(posted)
                return
            error = RuntimeUseError(f"the Dask cluster gave up a job: {error!r}")
            self._settle(posted, posted.answer.set_exception, error)
            return
        try:
            self._take_in(posted, answer)
        except Exception as error:  # noqa: BLE001 -- told to who waits
            self._settle(posted, posted.answer.set_exception, error)

    def _take_in(self, posted: Posted, answer: Answer) -> None:
        match answer:
            case PartsWanted():
                if posted.place is not None:
                    posted.place.parts.clear()
                posted.sent = 0.0
                self._later(self._send, posted)
            case Lost(cause, was_at, traceback):
                self._lose(posted, cause, was_at, traceback)
            case Done(content, pieces, seconds):
                if posted.sent:
                    self._cost.learn(time.monotonic() - posted.sent - seconds)
                if posted.of is not None:
                    posted.of.keep(pieces)
                result = unpack_answer(content)
                is_error = isinstance(result, BaseException)
                answer_ = posted.answer
                put = answer_.set_exception if is_error else answer_.set_result
                self._settle(posted, put, result)

    def _lose_with_worker(self, posted: Posted, *, may_have_begun: bool = True) -> None:
        """Have a job be lost with a worker of Dask's: of what, nobody knows.

        It was at what was told last, or has come further since. If it had a single
        function, and was not behind another job, there is no other one to suspect.
        """
        was_at, told = None, posted.told
        is_known = told is not None and told.values[-1] != Phase.START
        if len(posted.functions) == 1 and may_have_begun and not is_known:
            [at] = posted.functions
            was_at = WasAt((at, 0, at, 0, Phase.PASS), 0)
        self._lose(posted, "SIGKILL(-9)", was_at, "", host_died=True)

    def _lose(
        self,
        posted: Posted,
        cause: str,
        was_at: WasAt | None,
        traceback: str,
        *,
        host_died: bool = False,
    ) -> None:
        note = self._show(posted, was_at)
        if note is not None and traceback:
            note.show_traceback(traceback)
        number = 0 if note is None else note.number
        error = JobLostError(cause, number, host_died=host_died)
        self._settle(posted, posted.answer.set_exception, error)
        if posted.away is not None:
            self._later(posted.away.cancel)

    def _told(self, place: str, what: str, *rest: Any) -> None:
        """Take in what a worker says, on the connection's event loop."""
        if what == "at":
            number, *values, age = rest
            posted = self._posted.get(number)
            if posted is not None:
                posted.told = WasAt(tuple(values), age)
                self._show(posted, posted.told)
        else:
            self._runs.bring(what, place, *rest)

    def _show(self, posted: Posted, at: WasAt | None) -> MirroredNote | None:
        with self._lock:
            if posted.of is None or posted.number not in self._posted:
                return posted.note
            if posted.note is None:
                posted.note = posted.of.note()
            if at is not None:
                posted.note.show(at)
            return posted.note

    def _settle(
        self, posted: Posted, put: Callable[[Any], None], value: object
    ) -> None:
        with self._lock:
            is_lost = isinstance(value, JobLostError)  # then its note is read
            self._take_back(posted, reuses_note=not is_lost, keeps_note=is_lost)
        _settle(put, value)

    def _take_back(
        self, posted: Posted, *, reuses_note: bool, keeps_note: bool = False
    ) -> None:
        if self._posted.pop(posted.number, None) is None:
            return
        if posted.place is not None:
            posted.place.jobs -= 1
        if posted in self._waiting:
            self._waiting.remove(posted)
        note, posted.note = posted.note, None
        if note is not None and posted.of is not None and not keeps_note:
            posted.of.give_back(note, reuse=reuses_note)

    def _ask_there(self, posted: Posted, told: Future[str]) -> None:
        where: object = None
        with contextlib.suppress(Exception):  # the cluster may be no more
            if posted.place is not None:
                at = posted.place.address
                where = self._cluster.call(where_there, self.name, posted.number, at=at)
        told.set_result(where if isinstance(where, str) else "")

    def _end_there(self, posted: Posted) -> None:
        with contextlib.suppress(Exception):  # the cluster may be no more
            if posted.place is not None:
                at = posted.place.address
                self._cluster.call(end_there, self.name, posted.number, at=at)
            if posted.away is not None:
                posted.away.cancel()


def _settle(put: Callable[[Any], None], value: Any) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        put(value)
