"""Dispatch of jobs to the workers of a Dask cluster.

`SubmittedJob` is the state of a job from submission to result; `Dispatch` sends jobs,
cancels them and requests tracebacks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from distributed import KilledWorker

from parpass.errors import RuntimeUseError
from parpass.integrations.dask.client_run import (
    ClientRun,
    ClientRuns,
    MirroredSlot,
    RemoteJob,
)
from parpass.integrations.dask.dask_connection import DaskConnection
from parpass.integrations.dask.dask_messages import (
    Done,
    JobRequest,
    MissingParts,
    ProcessDied,
)
from parpass.integrations.dask.dask_workers import DaskWorker
from parpass.integrations.dask.worker_calls import (
    cancel_on_worker,
    store_parts_on_worker,
    traceback_on_worker,
)
from parpass.spi import (
    Job,
    Phase,
    Status,
    StorageError,
    run_job,
    worker_env,
)

JobFunction = Callable[[bytes], bytes]


class SubmittedJob:
    """A job that has been submitted.

    Attributes:
        number: Its number.
        run: The function to be called.
        message: Its argument.
        answer: The future of its result.
        client_run: The run that it is part of.
        stage: The number of its stage in the run.
        functions: The indices of its functions.
        slot: The status slot of its process.
        last_activity: The last reported activity; None if none was reported.
        worker: The worker that it is assigned to.
        future: Dask's future of the reply.
        tries: How often it was sent.
        sent: The time of sending, if the round trip is to be measured; else 0.
    """

    def __init__(self, number: int, run: JobFunction, message: bytes) -> None:
        self.number, self.run, self.message = number, run, message
        self.answer: Future[bytes] = Future()
        self.client_run: ClientRun | None = None
        self.stage = 0
        self.functions: Sequence[int] = ()
        self.slot: MirroredSlot | None = None
        self.last_activity: Status | None = None
        self.worker: DaskWorker | None = None
        self.future: Any = None
        self.tries = 0
        self.sent = 0.0

    def mirror(self, at: Status | None) -> None:
        """Write the activity of its process to the status slot."""
        if self.client_run is None:
            return
        with contextlib.suppress(StorageError):  # the run was truncated, and is over
            if self.slot is None:
                self.slot = self.client_run.acquire_slot()
            if at is not None:
                self.slot.put(at.arrived())

    def release_slot(self, *, reuse: bool) -> None:
        """Release the status slot; see `ClientRun.release_slot`."""
        slot, self.slot = self.slot, None
        if slot is not None and self.client_run is not None:
            self.client_run.release_slot(slot, reuse=reuse)

    def died_with_worker(self, *, may_have_begun: bool = True) -> ProcessDied:
        """Return the death of its process with its worker, its activity unknown.

        It was the last reported one, or a later one. A job of a single function that
        was not queued behind another job has no other function to suspect.
        """
        was_at = None
        is_known = (
            self.last_activity is not None and self.last_activity.phase != Phase.START
        )
        if len(self.functions) == 1 and may_have_begun and not is_known:
            [at] = self.functions
            was_at = Status(self.stage, at, 0, at, 0, Phase.PASS, -1)
        return ProcessDied("SIGKILL(-9)", was_at, "", host_died=True)


# Bytes of parts that go with a call: Dask is slow with large ones.
_LITTLE = 1 << 20

OnReply = Callable[[SubmittedJob, Done | ProcessDied | Exception], None]


class Dispatch:
    """Sends jobs, cancels them, and requests tracebacks.

    Calls of Dask's client block; they are made in a thread, never on an event loop.

    Args:
        cluster: The connection.
        runs: The executor's runs.
        on_reply: Called with the reply to a job, unless it is done already.
    """

    def __init__(
        self, cluster: DaskConnection, runs: ClientRuns, on_reply: OnReply
    ) -> None:
        self._cluster, self._runs, self._on_reply = cluster, runs, on_reply
        self._environment = worker_env()
        self._thread = ThreadPoolExecutor(1, "parpass-dispatch")

    def send(self, job: SubmittedJob) -> None:
        """Enqueue the sending of a job to its worker."""
        try:
            self._thread.submit(self._send, job)
        except RuntimeError as error:
            why = RuntimeUseError(
                f"no job can be sent to the Dask cluster ({error}); run pipelines "
                "before the program exits"
            )
            self._on_reply(job, why)

    def end(self, job: SubmittedJob) -> None:
        """Enqueue a job's cancellation: its process is killed."""
        self._enqueue(self._end, job)

    def forget(self, job: SubmittedJob) -> None:
        """Enqueue the removal of a finished job from the cluster."""
        self._enqueue(self._forget, job)

    def dump_tracebacks(self, job: SubmittedJob) -> Future[str]:
        """Request a traceback of the process that runs a job."""
        traceback = Future[str]()
        self._enqueue(self._fetch_traceback, job, traceback)
        return traceback

    def close(self) -> None:
        """Finish all running calls, and accept no further ones."""
        self._thread.shutdown()

    def _enqueue(self, what: Callable[..., object], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed, or the program exits
            self._thread.submit(what, *args)

    def _send(self, job: SubmittedJob) -> None:
        worker = job.worker
        if worker is None or job.answer.done():
            return
        try:
            packed = pickle.dumps(self._call(job, worker), protocol=5)
            job.tries += 1
            key = f"{self._cluster.name}-{job.number}-{job.tries}"
            future = job.future = self._cluster.submit(packed, worker.address, key)
            future.add_done_callback(functools.partial(self._completed, job))
        except Exception as error:  # noqa: BLE001 -- becomes the job's result
            self._on_reply(job, error)

    def _completed(self, job: SubmittedJob, future: Any) -> None:
        if job.answer.done():
            return
        answer = self._result_of(job, future)
        if not isinstance(answer, MissingParts):
            self._on_reply(job, answer)
            return
        if job.worker is not None:
            job.worker.parts.clear()
            job.worker.values.clear()
        job.sent = 0.0
        self.send(job)

    def _result_of(
        self, job: SubmittedJob, future: Any
    ) -> Done | ProcessDied | MissingParts | Exception:
        try:
            reply: Done | ProcessDied | MissingParts = future.result()
        except KilledWorker:
            return job.died_with_worker()
        except StorageError as error:
            return error
        except Exception as error:  # noqa: BLE001 -- of the cluster
            try:
                self._cluster.check()
            except RuntimeUseError as lost:
                return lost
            return RuntimeUseError(f"the Dask cluster gave up a job: {error!r}")
        return reply

    def _end(self, job: SubmittedJob) -> None:
        with contextlib.suppress(Exception):  # the worker may be gone
            self._ask(job, cancel_on_worker)
        self._forget(job)

    def _forget(self, job: SubmittedJob) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone
            if job.future is not None:
                job.future.cancel()

    def _fetch_traceback(self, job: SubmittedJob, traceback: Future[str]) -> None:
        found: object = None
        with contextlib.suppress(Exception):  # the cluster may be gone
            found = self._ask(job, traceback_on_worker)
        traceback.set_result(found if isinstance(found, str) else "")

    def _ask(self, job: SubmittedJob, what: Callable[[str, int], object]) -> object:
        if job.worker is None:
            return None
        name, at = self._cluster.name, job.worker.address
        return self._cluster.call(what, name, job.number, at=at)

    def _call(self, job: SubmittedJob, worker: DaskWorker) -> JobRequest:
        whole = JobRequest(
            executor=self._cluster.name,
            number=job.number,
            run=job.run,
            message=job.message,
            stage=None,
            values=(),
            parts={},
            environment=self._environment,
        )
        if job.run is not run_job:
            return whole
        decoded = Job.decoded(job.message)
        job.client_run = self._runs.of(os.fsdecode(decoded.folder))
        job.stage, job.functions = decoded.stage, decoded.functions
        remote = job.client_run.to_remote(decoded)
        self._send_ahead(remote, job.client_run, worker)
        parts = self._parts_to_send(
            remote, job.client_run, worker, is_again=job.tries > 0
        )
        return whole._replace(
            message=remote.message,
            stage=remote.stage,
            values=remote.values,
            parts=parts,
        )

    def _send_ahead(self, job: RemoteJob, run: ClientRun, worker: DaskWorker) -> None:
        """Send the large values of a job that its worker lacks."""
        known = worker.values.setdefault(run, set())
        lacking = [one for one in job.ahead if one.ref not in known]
        self._runs.send_values(run, worker.address, lacking)
        known.update([one.ref for one in lacking])

    def _parts_to_send(
        self, job: RemoteJob, run: ClientRun, worker: DaskWorker, *, is_again: bool
    ) -> dict[str, bytes]:
        """Return the parts to be sent with a job; many are sent ahead of it.

        All are sent with it if it is sent again: the worker may be unable to keep them.
        """
        lacking = set(job.digests) - (set() if is_again else worker.parts)
        parts = {digest: run.part(job, digest) for digest in lacking}
        worker.add_parts(lacking)
        if is_again or sum(map(len, parts.values())) <= _LITTLE:
            return parts
        self._cluster.call(
            store_parts_on_worker, self._cluster.name, parts, at=worker.address
        )
        return {}
