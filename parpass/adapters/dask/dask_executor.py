"""Jobs on the workers of a Dask cluster, which may be other machines."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from typing import Any, Self

import parpass
from parpass.adapters.dask.jobs_away import Call, Done, Lost, SpecWanted, WasAt
from parpass.adapters.dask.on_dask_worker import (
    close_there,
    end_there,
    forget_there,
    put_there,
    run_there,
    versions_there,
)
from parpass.adapters.dask.runs_here import MirroredNote, RunHere
from parpass.errors import RuntimeUseError
from parpass.runner import JobEndedError, JobLostError
from parpass.runner.executor import START_SECONDS, environment_of_workers
from parpass.runner.travel.messages import Job, unpack_message
from parpass.runner.worker.jobs import run_job
from parpass.runner.worker.serving import unpack_answer

Run = Callable[[bytes], bytes]


class _Posted:
    """A job on its way."""

    def __init__(self, number: int, run: Run, message: bytes) -> None:
        self.number, self.run, self.message = number, run, message
        self.answer: Future[bytes] = Future()
        self.of: RunHere | None = None
        self.note: MirroredNote | None = None
        self.away: Any = None  # Dask's future
        self.has_spec = False


class DaskExecutor:
    """Runs jobs on the workers of a Dask cluster; see `parpass.runner.Executor`.

    On each worker they run in processes of its own, which are killed where a pass
    hangs, and end with this executor; nothing else on the cluster is touched. Workers
    unpickle what they are sent, and so does this process: a cluster can do all that its
    users can.

    Args:
        client: A `distributed.Client`; it stays its owner's, and open.

    Attributes:
        name: What is of this executor has it in its name, on the cluster.
        workers: How many jobs run at once: the threads of all workers at first.
        shares_files: Files are not shared, but brought to the workers.

    Raises:
        RuntimeUseError: There are no workers, or they have another Python or parpass.
    """

    shares_files = False

    def __init__(self, client: Any) -> None:
        self._client = client
        self.name = f"parpass-{uuid.uuid4().hex}"
        _check_versions(client)
        self.workers: int = sum(client.nthreads().values())
        self._lock = threading.RLock()
        self._posted: dict[int, _Posted] = {}
        self._count = 0
        self._runs: dict[str, RunHere] = {}
        self._closed = False
        # Of things that wait for the cluster: here, and not on anybody's event loop.
        self._thread = ThreadPoolExecutor(1, "parpass-dask")
        self._environment = environment_of_workers()
        client.subscribe_topic(self.name, self._told)

    @property
    def is_warm(self) -> bool:
        """Whether workers have been started: the cluster is there."""
        return True

    def start(self, seconds: float = START_SECONDS) -> None:
        """Do nothing: the cluster is there.

        Raises:
            RuntimeUseError: It is not any more, or this is closed.
        """
        del seconds
        if self._closed:
            raise RuntimeUseError("the executor is closed")
        if self._client.status != "running":
            raise RuntimeUseError(
                f"expected a client of a running Dask cluster, got {self._client!r}; "
                "was its scheduler ended?"
            )

    def submit(self, run: Run, job: bytes, seconds: float = math.inf) -> Future[bytes]:
        """Have a process of some worker call `run(job)`."""
        del seconds
        self.start()
        with self._lock:
            self._count += 1
            posted = self._posted[self._count] = _Posted(self._count, run, job)
        self._thread.submit(self._send, posted)
        return posted.answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> None:
        """End a job: the process that runs it is killed."""
        del at_once
        with self._lock:
            found = [one for one in self._posted.values() if one.answer is answer]
            for posted in found:
                self._take_back(posted)
        _settle(answer.set_exception, JobEndedError())
        for posted in found:
            self._thread.submit(self._end_there, posted)

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
        with contextlib.suppress(Exception):  # the cluster may be no more
            self._client.unsubscribe_topic(self.name)
            self._client.run(close_there, self.name)
        for run in self._runs.values():
            run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, posted: _Posted) -> None:
        if posted.answer.done():
            return
        try:
            call = self._call(posted)
            posted.away = self._client.submit(
                run_there, call, key=f"{self.name}-{posted.number}-{posted.has_spec}"
            )
            posted.away.add_done_callback(functools.partial(self._came_back, posted))
        except Exception as error:  # noqa: BLE001 -- told to who waits
            self._settle(posted, posted.answer.set_exception, error)

    def _call(self, posted: _Posted) -> Call:
        message, stage = posted.message, None
        if posted.run is run_job:
            job: Job = unpack_message(message)
            posted.of = self._run_of(job.folder)
            message, stage = posted.of.away(job)
            if posted.has_spec:
                stage = stage._replace(spec=posted.of.spec(job.stage))
        return Call(
            self.name, posted.number, posted.run, message, stage, self._environment
        )

    def _run_of(self, path: str) -> RunHere:
        if path not in self._runs:
            for ended in [one for one in self._runs.values() if one.has_ended]:
                del self._runs[ended.path]
                ended.close()
                self._client.run(forget_there, self.name, ended.path, on_error="ignore")
            self._runs[path] = RunHere(path)
        return self._runs[path]

    def _came_back(self, posted: _Posted, away: Any) -> None:
        if posted.answer.done():
            return
        try:
            answer: Done | SpecWanted | Lost = away.result()
        except Exception as error:  # noqa: BLE001 -- of Dask's
            self._settle(posted, posted.answer.set_exception, self._lost(posted, error))
            return
        match answer:
            case SpecWanted():
                posted.has_spec = True
                with contextlib.suppress(RuntimeError):  # it is closed
                    self._thread.submit(self._send, posted)
            case Lost(cause, was_at, traceback):
                note = self._show(posted, was_at)
                if note is not None:
                    note.show_traceback(traceback)
                number = 0 if note is None else note.number
                error = JobLostError(cause, number)
                self._settle(posted, posted.answer.set_exception, error)
            case Done(content):
                result = unpack_answer(content)
                is_error = isinstance(result, BaseException)
                answer_ = posted.answer
                put = answer_.set_exception if is_error else answer_.set_result
                self._settle(posted, put, result)

    def _lost(self, posted: _Posted, error: Exception) -> Exception:
        """Return what an error of Dask's means for a job."""
        if type(error).__name__ == "KilledWorker":
            note = self._show(posted, None)
            # As of what the system kills: nobody knows what it died of.
            return JobLostError("SIGKILL(-9)", 0 if note is None else note.number)
        return RuntimeUseError(f"the Dask cluster gave up a job: {error!r}")

    def _told(self, event: tuple[float, Any]) -> None:
        """Take in what a worker says, on the client's event loop."""
        what, *rest = event[1]
        if what == "at":
            number, *values, age = rest
            posted = self._posted.get(number)
            if posted is not None:
                self._show(posted, WasAt(tuple(values), age))
        else:
            run, stage, place = rest
            with contextlib.suppress(RuntimeError):  # it is closed
                self._thread.submit(self._bring_others, run, stage, place)

    def _bring_others(self, path: str, stage: int, place: str) -> None:
        run = self._runs.get(path)
        with contextlib.suppress(OSError):  # it is over
            if run is not None:
                others = run.others(stage)
                args = self.name, path, stage, others
                self._client.run(put_there, *args, workers=[place], on_error="ignore")

    def _show(self, posted: _Posted, at: WasAt | None) -> MirroredNote | None:
        with self._lock:
            if posted.of is None or posted.number not in self._posted:
                return posted.note
            if posted.note is None:
                posted.note = posted.of.note()
            if at is not None:
                posted.note.show(at)
            return posted.note

    def _settle(
        self, posted: _Posted, put: Callable[[Any], None], value: object
    ) -> None:
        with self._lock:
            self._take_back(posted, keeps_note=isinstance(value, JobLostError))
        _settle(put, value)

    def _take_back(self, posted: _Posted, *, keeps_note: bool = False) -> None:
        self._posted.pop(posted.number, None)
        note, posted.note = posted.note, None
        if note is not None and posted.of is not None and not keeps_note:
            posted.of.give_back(note)

    def _end_there(self, posted: _Posted) -> None:
        with contextlib.suppress(Exception):  # the cluster may be no more
            self._client.run(end_there, self.name, posted.number, on_error="ignore")
            if posted.away is not None:
                posted.away.cancel()


def _settle(put: Callable[[Any], None], value: Any) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        put(value)


def _check_versions(client: Any) -> None:
    mine = versions_there()
    found: dict[str, Any] = client.run(versions_there)
    if not found:
        raise RuntimeUseError("the Dask cluster has no workers")
    for place, theirs in found.items():
        if theirs != mine:
            raise RuntimeUseError(
                f"expected parpass {parpass.__version__} on Python "
                f"{sys.version.split()[0]} on all Dask workers, as here, got "
                f"{theirs} on {place}"
            )
