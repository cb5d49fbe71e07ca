"""How jobs get to the workers of a cluster, and what is said of them there later."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from parpass.adapters.dask.connection import Connection
from parpass.adapters.dask.job_places import Place
from parpass.adapters.dask.jobs_away import Call, Done, Lost, PartsWanted
from parpass.adapters.dask.on_dask_worker import (
    end_there,
    keep_there,
    run_there,
    where_there,
)
from parpass.adapters.dask.posted import Posted
from parpass.adapters.dask.run_here import JobAway, RunHere
from parpass.adapters.dask.runs_here import RunsHere
from parpass.errors import RuntimeUseError
from parpass.runner.executor import environment_of_workers
from parpass.runner.travel.messages import Job, unpack_message
from parpass.runner.worker.jobs import run_job

_LITTLE = 1 << 20  # bytes of parts that go with a call; Dask warns of large tasks

Heard = Callable[[Posted, Done | Lost | Exception], None]


class Dispatch:
    """Sends jobs, has them ended, and asks where they are.

    That waits for the cluster: in a thread of its own, and on nobody's event loop.

    Args:
        cluster: The connection.
        runs: The executor's runs.
        heard: Called with what came of a job, unless that was answered before.
    """

    def __init__(self, cluster: Connection, runs: RunsHere, heard: Heard) -> None:
        self._cluster, self._runs, self._heard = cluster, runs, heard
        self._environment = environment_of_workers()
        self._thread = ThreadPoolExecutor(1, "parpass-dask")

    def send(self, posted: Posted) -> None:
        """Send a job to the worker that has it; not yet when this returns."""
        self._later(self._send, posted)

    def end(self, posted: Posted) -> None:
        """Have the process killed that runs a job, and Dask forget it."""
        self._later(self._end, posted)

    def forget(self, posted: Posted) -> None:
        """Have Dask forget a job that has ended."""
        if posted.away is not None:
            self._later(posted.away.cancel)

    def ask_where(self, posted: Posted) -> Future[str]:
        """Ask where the process is that runs a job."""
        told = Future[str]()
        self._later(self._ask_where, posted, told)
        return told

    def close(self) -> None:
        """Let all that is under way be done, and nothing else."""
        self._thread.shutdown()

    def _later(self, what: Callable[..., None], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed
            self._thread.submit(what, *args)

    def _send(self, posted: Posted) -> None:
        place = posted.place
        if place is None or posted.answer.done():
            return
        try:
            packed = pickle.dumps(self._call(posted, place), protocol=5)
            posted.tries += 1
            key = f"{self._cluster.name}-{posted.number}-{posted.tries}"
            posted.away = self._cluster.submit(run_there, packed, place.address, key)
            posted.away.add_done_callback(functools.partial(self._came_back, posted))
        except Exception as error:  # noqa: BLE001 -- told to who waits
            self._heard(posted, error)

    def _came_back(self, posted: Posted, away: Any) -> None:
        if posted.answer.done():
            return
        answer = self._answer(posted, away)
        if not isinstance(answer, PartsWanted):
            self._heard(posted, answer)
            return
        if posted.place is not None:
            posted.place.parts.clear()
        posted.sent = 0.0
        self.send(posted)

    def _answer(
        self, posted: Posted, away: Any
    ) -> Done | Lost | PartsWanted | Exception:
        try:
            return away.result()
        except Exception as error:  # noqa: BLE001 -- of Dask's
            if type(error).__name__ == "KilledWorker":
                return posted.lost_with_worker()
            try:
                self._cluster.check()
            except RuntimeUseError as lost:
                return lost
            return RuntimeUseError(f"the Dask cluster gave up a job: {error!r}")

    def _end(self, posted: Posted) -> None:
        with contextlib.suppress(Exception):  # the cluster may be no more
            self._ask(posted, end_there)
            if posted.away is not None:
                posted.away.cancel()

    def _ask_where(self, posted: Posted, told: Future[str]) -> None:
        where: object = None
        with contextlib.suppress(Exception):  # the cluster may be no more
            where = self._ask(posted, where_there)
        told.set_result(where if isinstance(where, str) else "")

    def _ask(self, posted: Posted, what: Callable[[str, int], object]) -> object:
        if posted.place is None:
            return None
        name, at = self._cluster.name, posted.place.address
        return self._cluster.call(what, name, posted.number, at=at)

    def _call(self, posted: Posted, place: Place) -> Call:
        whole = Call(
            executor=self._cluster.name,
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
        self._cluster.call(keep_there, self._cluster.name, parts, at=place.address)
        return {}
