"""The watchdog: cancels jobs whose functions are overdue.

Status slots of the workers show which are. To cancel a job kills its worker, which may
be in Python or in C.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

import trio

from parpass.errors import Hint, HintedMessage, RuntimeUseError
from parpass.runner.executor import Executor
from parpass.runner.ipc.status_board import Activity, Phase, StatusBoard
from parpass.runner.pool.failure_attribution import FailureAttribution
from parpass.runner.pool.scheduler_events import SubmitJob
from parpass.runner.stage.outcomes import StageOutcomes

_in_thread = trio.to_thread.run_sync

_MAX_POLL_SECONDS = 0.1  # seconds between two reads of the status board


class Watchdog:
    """Cancels jobs that hang, and jobs that run beyond the end of a serial run.

    Args:
        executor: The pool.
        board: The status slots of the workers.
        failures: Has the time limits, and records which function was overdue.
        outcomes: The outcomes of the stage, with its cutoff.
        in_flight: The current jobs; a live mapping.
        start_seconds: The time limit for a worker to load the stage.
    """

    def __init__(
        self,
        executor: Executor,
        board: StatusBoard,
        failures: FailureAttribution,
        outcomes: StageOutcomes,
        in_flight: Mapping[int, tuple[SubmitJob, Future[bytes]]],
        start_seconds: float,
    ) -> None:
        self._executor = executor
        self._board = board
        self._failures = failures
        self._outcomes = outcomes
        self._in_flight = in_flight
        self._start_seconds = start_seconds
        self._overdue: dict[int, Activity] = {}  # by job, cancelled for it
        self._superseded: set[int] = set()  # jobs cancelled beyond the end
        self._killed: set[str] = set()  # slots of workers killed here

    def take_overdue(self, job: int) -> Activity | None:
        """Return the activity for which a job was cancelled, once; else None."""
        return self._overdue.pop(job, None)

    def take_superseded(self, job: int) -> bool:
        """Return whether a job was cancelled beyond the end of a serial run, once."""
        if job not in self._superseded:
            return False
        self._superseded.discard(job)
        return True

    async def watch(self) -> None:
        """Check the status board periodically, until cancelled.

        Raises:
            RuntimeUseError: Workers hang before they begin.
        """
        shortest = self._failures.shortest_limit()
        interval = 1.0 if shortest is None else min(_MAX_POLL_SECONDS, shortest / 4)
        while True:
            await trio.sleep(interval)
            if self._in_flight:
                await self._check()

    async def _check(self) -> None:
        now, works = time.monotonic_ns(), await _in_thread(self._board.read)
        overdue = [work for work in works if self._failures.is_overdue(work, now)]
        end = self._outcomes.cutoff
        is_cut = any(work.step >= end.steps_on(work.function) for work in works)
        if not overdue and not is_cut:
            return
        jobs = {
            function: job
            for job, (command, _) in self._in_flight.items()
            for function in command.functions
        }
        self._cancel_superseded(works, jobs)
        late = [
            work
            for work in overdue
            if work.function in jobs and work.owner not in self._killed
        ]
        at_work = [work for work in late if work.phase != Phase.START]
        if late and not at_work:
            raise workers_hang_error(self._start_seconds)
        await self._cancel_overdue(at_work, jobs)

    def _cancel_superseded(
        self, works: Sequence[Activity], jobs: Mapping[int, int]
    ) -> None:
        """Cancel jobs that run beyond the end of a serial run: they may hang."""
        steps_on = self._outcomes.cutoff.steps_on
        for work in works:
            job = jobs.get(work.function)
            if job is None or work.owner in self._killed or work.phase != Phase.PASS:
                continue
            if work.step >= steps_on(work.function):
                self._superseded.add(job)
                self._killed.add(work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)

    async def _cancel_overdue(
        self, late: Sequence[Activity], jobs: Mapping[int, int]
    ) -> None:
        """Cancel the jobs of overdue workers; `jobs` maps functions to jobs."""
        dump_tracebacks = getattr(
            self._executor, "dump_tracebacks", self._board.dump_tracebacks
        )
        self._failures.tracebacks |= await _in_thread(dump_tracebacks, late)
        for work in late:
            job = jobs[work.function]
            if job in self._in_flight:  # it may have finished meanwhile
                self._overdue[job] = work
                self._killed.add(work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)


def workers_hang_error(seconds: float) -> RuntimeUseError:
    """Return the error for workers that hang before they begin."""
    return RuntimeUseError(
        HintedMessage(
            f"the worker processes hang before they can begin, for {seconds:g} s now; "
            "an import of the program's main module, or of the module that a pass "
            "comes from, may wait for something. If it only takes long, ",
            Hint.START_TIMEOUT,
            "; ",
            Hint.WITHOUT_WORKERS,
        )
    )
