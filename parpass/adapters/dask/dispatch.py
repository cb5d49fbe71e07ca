"""How jobs get to the workers of a cluster: what goes along, and what went before."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from parpass.adapters.dask.connection import Connection
from parpass.adapters.dask.job_places import Place
from parpass.adapters.dask.jobs_away import Call, WasAt
from parpass.adapters.dask.on_dask_worker import keep_there, run_there
from parpass.adapters.dask.run_here import JobAway, MirroredNote, RunHere
from parpass.adapters.dask.runs_here import RunsHere
from parpass.runner.executor import environment_of_workers
from parpass.runner.travel.messages import Job, unpack_message
from parpass.runner.worker.jobs import run_job

Run = Callable[[bytes], bytes]

_LITTLE = 1 << 20  # bytes of parts that go with a call; Dask warns of large tasks


class Posted:
    """A job on its way.

    Attributes:
        number: Its number.
        run: What is to be called.
        message: What it is given.
        answer: What came of it.
        of: The run that it is part of.
        functions: Its functions, by index.
        note: What its process is at.
        told: What that was said to be last; None if nothing was said.
        place: The worker that has it.
        away: Dask's future.
        tries: How often it was sent.
        sent: When, if it is to be measured how long the way takes; else 0.
    """

    def __init__(self, number: int, run: Run, message: bytes) -> None:
        self.number, self.run, self.message = number, run, message
        self.answer: Future[bytes] = Future()
        self.of: RunHere | None = None
        self.functions: Sequence[int] = ()
        self.note: MirroredNote | None = None
        self.told: WasAt | None = None
        self.place: Place | None = None
        self.away: Any = None
        self.tries = 0
        self.sent = 0.0


class Dispatch:
    """Sends jobs.

    Args:
        cluster: The connection.
        name: The executor's name.
        runs: Its runs.
    """

    def __init__(self, cluster: Connection, name: str, runs: RunsHere) -> None:
        self._cluster, self._name, self._runs = cluster, name, runs
        self._environment = environment_of_workers()

    def send(self, posted: Posted, place: Place) -> None:
        """Send a job; `posted.away` is what comes of it then.

        Raises:
            OSError: The run is over.
        """
        call = self._call(posted, place)
        posted.tries += 1
        key = f"{self._name}-{posted.number}-{posted.tries}"
        packed = pickle.dumps(call, protocol=5)
        posted.away = self._cluster.submit(run_there, packed, place.address, key)

    def _call(self, posted: Posted, place: Place) -> Call:
        whole = Call(
            executor=self._name,
            number=posted.number,
            run=posted.run,
            message=posted.message,
            stage=None,
            values=(),
            parts={},
            environment=self._environment,
        )
        if posted.run is not run_job:
            return whole
        job: Job = unpack_message(posted.message)
        posted.of, posted.functions = self._runs.of(job.folder), job.functions
        away = posted.of.away(job)
        parts = self._lacking(away, posted.of, place)
        return whole._replace(
            message=away.message, stage=away.stage, values=away.values, parts=parts
        )

    def _lacking(self, job: JobAway, run: RunHere, place: Place) -> dict[str, bytes]:
        """Return the parts of a job that a worker lacks; much goes there before it."""
        lacking = set(job.digests) - place.parts
        parts = {digest: run.part(job, digest) for digest in lacking}
        place.parts |= lacking
        if sum(map(len, parts.values())) <= _LITTLE:
            return parts
        self._cluster.call(keep_there, self._name, parts, at=place.address)
        return {}
