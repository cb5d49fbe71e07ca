"""Executor of jobs on the workers of a Dask cluster, which may be on other machines."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any, Self

from dask import config
from dask.utils import parse_timedelta
from distributed import Client, Security

from parpass.errors import RuntimeUseError
from parpass.integrations.dask.client_run import ClientRun, ClientRuns
from parpass.integrations.dask.dask_connection import DaskConnection
from parpass.integrations.dask.dask_messages import Done, ProcessDied
from parpass.integrations.dask.dask_workers import DaskWorkers, RoundTripEstimate
from parpass.integrations.dask.dispatch import Dispatch, JobFunction, SubmittedJob
from parpass.spi import (
    DEFAULT_START_SECONDS,
    Executor,
    JobCancelledError,
    JobLostError,
    Status,
    StorageError,
    decode_result,
)

_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 0.5  # between two looks of a job that waits for a worker
_TRACEBACK_SECONDS = 2.0  # for workers to say where they hang


@contextlib.contextmanager
def open_executor(url: str) -> Generator[DaskExecutor]:
    """Give an executor on the cluster whose scheduler is at `dask://HOST:PORT`.

    An address with a protocol of Dask's follows in whole, as in `dask://tls://HOST:PORT`.
    Its client is closed with it.

    Raises:
        RuntimeUseError: There is no scheduler, or it has no workers.
    """
    address = url.partition("://")[2]
    if "://" not in address:
        address = f"tcp://{address}"
    _check_certificates(address)
    try:
        client: Any = Client(address, timeout=_patience(), set_as_default=False)
    except ValueError as error:
        raise RuntimeUseError(
            f"expected the address of a Dask scheduler, such as dask://host:8786, got "
            f"'{url}': {error}"
        ) from error
    except OSError as error:
        raise RuntimeUseError(
            f"no Dask scheduler answers at '{address}': {error}"
        ) from error
    process = os.getpid()
    try:
        with DaskExecutor(client) as executor:
            yield executor
    finally:
        if os.getpid() == process:  # in a forked one it has no threads, and would hang
            client.close()


def _patience() -> float:
    """Return for how many seconds to try: at most what Dask is configured for."""
    settings: Any = config
    to_seconds: Any = parse_timedelta
    configured = to_seconds(settings.get("distributed.comm.timeouts.connect"))
    return min(float(configured), _CONNECT_SECONDS)


def _check_certificates(address: str) -> None:
    """Check that there is what an encrypted connection needs.

    Raises:
        RuntimeUseError: It is not configured.
    """
    security: Any = Security()
    encryption = security.get_connection_args("client")["ssl_context"]
    if address.startswith("tls:") and encryption is None:
        raise RuntimeUseError(
            f"{address} needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
            "and with it ...__CLIENT__CERT and ...__CLIENT__KEY, or "
            "distributed.comm.tls in Dask's configuration"
        )


class DaskExecutor(Executor):
    """Runs jobs on the workers of a Dask cluster; see `parpass.spi.Executor`.

    On each worker, jobs run in child processes. These are killed if a pass hangs, and
    end with this executor; it touches nothing else on the cluster. Workers and this
    process unpickle what they receive, so a cluster can do anything that its users can.

    Args:
        client: A `distributed.Client`; it is not closed. This executor has its own
            connection to the same scheduler. A process that is forked off has none.

    Attributes:
        name: The prefix of the executor's names on the cluster.

    Raises:
        RuntimeUseError: There are no workers, they have another Python or parpass, or
            the client is not connected.
    """

    def __init__(self, client: Any) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[int, SubmittedJob] = {}
        self._waiting: list[SubmittedJob] = []  # for a worker, while there is none
        self._workers = DaskWorkers()
        self._round_trip = RoundTripEstimate()
        self._count = 0
        self._closed = False
        self._process = os.getpid()
        self._start_seconds = DEFAULT_START_SECONDS
        self._cluster = DaskConnection(client, self._on_event)
        self.name = self._cluster.name
        self._runs = ClientRuns(self._cluster, self._on_unsent)
        self._dispatch = Dispatch(self._cluster, self._runs, self._on_reply)
        try:
            self._cluster.open(self._on_join, self._on_leave)
        except BaseException:
            self._hang_up()
            raise

    @property
    def workers(self) -> int:
        """The number of jobs that run at once: all threads of the present workers."""
        return max(1, self._workers.threads)

    @property
    def least_job_seconds(self) -> float:
        """The minimum useful duration of a job, from the measured round trip."""
        return self._round_trip.least_job_seconds

    def start(self, seconds: float = DEFAULT_START_SECONDS) -> None:
        """Check that the cluster is reachable; starts no worker.

        Args:
            seconds: The time that a job may wait for a worker if there is none.

        Raises:
            RuntimeUseError: The cluster is gone, or this executor is closed, or of
                another process.
        """
        if self._is_inherited:
            raise RuntimeUseError(
                "this executor belongs to the process that this one was forked off; "
                "open one here, or start processes by spawn"
            )
        self._start_seconds = seconds
        if self._closed:
            raise RuntimeUseError.closed("executor")
        self._cluster.check()

    def submit(
        self,
        run: JobFunction,
        job: bytes,
        seconds: float = math.inf,
        *,
        owner: object = None,
    ) -> Future[bytes]:
        """Submit a call `run(job)` to a process of any worker."""
        del seconds, owner
        self.start(self._start_seconds)
        with self._lock:
            if self._closed:  # meanwhile
                raise RuntimeUseError.closed("executor")
            self._count += 1
            submitted = self._jobs[self._count] = SubmittedJob(self._count, run, job)
            self._assign(submitted)
        return submitted.answer

    def end(self, answer: Future[bytes], *, at_once: bool = False) -> bool:
        """Cancel a job and kill the process that runs it; False if it has ended."""
        del at_once
        if self._is_inherited:
            return False
        with self._lock:
            found = [one for one in self._jobs.values() if one.answer is answer]
        cancelled = [self._cancel(job, JobCancelledError()) for job in found]
        return any(cancelled)

    def dump_tracebacks(self, works: Collection[Status]) -> dict[str, str]:
        """Return tracebacks of hanging workers, C frames included, by slot owner."""
        with self._lock:
            asked = {
                work.owner: self._dispatch.dump_tracebacks(job)
                for job in self._jobs.values()
                for work in works
                if job.slot is not None and job.slot.number == work.process
            }
        wait(asked.values(), _TRACEBACK_SECONDS)
        return {owner: found.result() for owner, found in asked.items() if found.done()}

    def kill(self) -> None:
        """Cancel all jobs."""
        for job in list(self._jobs.values()):
            self.end(job.answer)

    def close(self) -> None:
        """Wait for all jobs, and remove everything from the cluster."""
        if self._is_inherited:
            return
        with self._lock:
            self._closed = True
        for job in list(self._jobs.values()):
            with contextlib.suppress(Exception):
                job.answer.result()
        self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:  # the results are not used
            self.kill()
        self.close()

    def _hang_up(self) -> None:
        self._dispatch.close()
        self._runs.close()
        self._cluster.close()

    @property
    def _is_inherited(self) -> bool:
        # The threads of this executor, and of Dask's client, are not in the child.
        return os.getpid() != self._process

    def _assign(self, job: SubmittedJob) -> None:
        """Assign a job to a worker, now or when there is one."""
        worker = self._workers.best()
        if worker is None:
            self._waiting.append(job)
            self._wait_for_worker(job, time.monotonic() + self._start_seconds)
            return
        job.worker = worker
        job.sent = time.monotonic() if worker.has_idle else 0.0
        worker.jobs += 1
        self._dispatch.send(job)

    def _wait_for_worker(self, job: SubmittedJob, until: float) -> None:
        """Fail a waiting job at its deadline or if the cluster is gone.

        Otherwise check again later.
        """
        if job not in self._waiting:
            return
        try:
            self._cluster.check()
            if time.monotonic() > until:
                raise RuntimeUseError(
                    f"the Dask cluster has had no workers for {self._start_seconds:g} s"
                )
        except RuntimeUseError as error:
            self._settle(job, error)
            return
        look = threading.Timer(_LOOK_SECONDS, self._wait_for_worker, (job, until))
        look.daemon = True
        look.start()

    def _on_join(self, address: str, threads: int) -> None:
        """Add a worker, and assign waiting jobs."""
        with self._lock:
            self._workers.join(address, threads)
            waiting, self._waiting = self._waiting, []
            for job in waiting:
                if not job.answer.done():
                    self._assign(job)

    def _on_leave(self, address: str) -> None:
        """Remove a worker, and fail its jobs."""
        with self._lock:
            threads = self._workers.leave(address)
            lost = [
                one
                for one in self._jobs.values()
                if one.worker is not None and one.worker.address == address
            ]
        for at, job in enumerate(lost):  # in the order of their start
            self._report_lost(job, job.died_with_worker(may_have_begun=at < threads))

    def _on_unsent(
        self, worker: str, run: ClientRun, stage: int, error: Exception
    ) -> None:
        """Cancel jobs on a worker that waits for functions in vain."""
        if not isinstance(error, (JobLostError, RuntimeUseError, StorageError)):
            error = RuntimeUseError(
                f"functions could not be sent to the Dask worker at {worker}: {error!r}"
            )
        with self._lock:
            jobs = [
                one
                for one in self._jobs.values()
                if (one.client_run, one.stage) == (run, stage)
                and one.worker is not None
                and one.worker.address == worker
            ]
        for job in jobs:
            self._cancel(job, error)

    def _on_reply(
        self, job: SubmittedJob, what: Done | ProcessDied | Exception
    ) -> None:
        """Handle the reply to a job."""
        try:
            match what:
                case ProcessDied():
                    self._report_lost(job, what)
                case Done(content, chunks, seconds):
                    if job.sent:
                        self._round_trip.update(time.monotonic() - job.sent - seconds)
                    if job.client_run is not None:
                        job.client_run.store_chunks(chunks)
                    self._settle(job, decode_result(content))
                case _:
                    self._settle(job, what)
        except Exception as error:  # noqa: BLE001 -- becomes the job's result
            self._settle(job, error)

    def _on_event(self, address: str, what: str, *rest: Any) -> None:
        """Handle a worker's event, on the connection's event loop."""
        if what == "functions":
            self._runs.push_functions(address, *rest)
            return
        number, content = rest
        with self._lock:
            job = self._jobs.get(number)
            if job is not None:
                job.last_activity = Status.decode(content)
                job.mirror(job.last_activity)

    def _report_lost(self, job: SubmittedJob, lost: ProcessDied) -> None:
        with self._lock:
            if job.number in self._jobs:
                job.mirror(lost.activity)
        slot = job.slot
        if slot is not None and lost.traceback:
            slot.mirror_traceback(lost.traceback)
        number = 0 if slot is None else slot.number
        error = JobLostError(lost.cause, number, host_died=lost.host_died)
        self._settle(job, error)
        self._dispatch.forget(job)

    def _cancel(self, job: SubmittedJob, error: Exception) -> bool:
        """Fail a job, and kill its process; return False if it has ended."""
        with self._lock:
            if not self._remove(job):
                return False
            job.release_slot(reuse=False)
        _settle(job.answer.set_exception, error)
        self._dispatch.end(job)
        return True

    def _settle(self, job: SubmittedJob, result: bytes | BaseException) -> None:
        """Set the result of a job."""
        with self._lock:
            # The slot of a lost job is still read, so it is not released.
            if self._remove(job) and not isinstance(result, JobLostError):
                job.release_slot(reuse=True)
        answer = job.answer
        is_error = isinstance(result, BaseException)
        _settle(answer.set_exception if is_error else answer.set_result, result)

    def _remove(self, job: SubmittedJob) -> bool:
        """Remove a job from this executor; return whether it was there."""
        if self._jobs.pop(job.number, None) is None:
            return False
        if job.worker is not None:
            job.worker.jobs -= 1
        if job in self._waiting:
            self._waiting.remove(job)
        return True


def _settle(put: Callable[[Any], None], value: Any) -> None:
    with contextlib.suppress(InvalidStateError):  # it has been ended
        put(value)
