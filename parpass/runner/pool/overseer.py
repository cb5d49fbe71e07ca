"""Watching what workers are at, and ending the jobs of those that are overdue.

What is overdue is told by the notes of the workers. To end its job ends whatever it
does, in Python or in C.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

import trio

from parpass.errors import RuntimeUseError
from parpass.runner.executor import Executor
from parpass.runner.pool.inquest import Inquest
from parpass.runner.pool.schedule_events import SubmitJob
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.notes import Notes, Phase, Work

_in_thread = trio.to_thread.run_sync

_LONGEST_LOOK = 0.1  # seconds between two looks at the notes


class Overseer:
    """Ends jobs that hang, or that are at what a serial run does not come to.

    Args:
        executor: The pool.
        notes: What workers are working on.
        inquest: Knows the limits, and takes down who is to blame.
        outcomes: Knows where the stage ends.
        in_flight: The jobs, as they are at any time.
        start_seconds: How long a worker may take to load the stage.
    """

    def __init__(
        self,
        executor: Executor,
        notes: Notes,
        inquest: Inquest,
        outcomes: StageOutcomes,
        in_flight: Mapping[int, tuple[SubmitJob, Future[bytes]]],
        start_seconds: float,
    ) -> None:
        self._executor = executor
        self._notes = notes
        self._inquest = inquest
        self._outcomes = outcomes
        self._in_flight = in_flight
        self._start_seconds = start_seconds
        self._overdue: dict[int, Work] = {}  # by job; these were ended for it,
        self._overtaken: set[int] = set()  # jobs, ended for being too far
        self._gone: set[str] = set()  # and the notes of their workers mean nothing

    def was_overdue(self, job: int) -> Work | None:
        """Return at what a job was ended for its time; None if it was not.

        It is asked once for each.
        """
        return self._overdue.pop(job, None)

    def was_overtaken(self, job: int) -> bool:
        """Return whether a job was ended as a serial run does not come there."""
        if job not in self._overtaken:
            return False
        self._overtaken.discard(job)
        return True

    async def watch(self) -> None:
        """Look at the notes again and again.

        Raises:
            RuntimeUseError: Workers hang before they begin.
        """
        shortest = self._inquest.shortest_limit()
        interval = 1.0 if shortest is None else min(_LONGEST_LOOK, shortest / 4)
        while True:
            await trio.sleep(interval)
            if self._in_flight:
                await self._look()

    async def _look(self) -> None:
        now, works = time.monotonic_ns(), await _in_thread(self._notes.read)
        overdue = [work for work in works if self._inquest.overdue(work, now)]
        end = self._outcomes.end
        is_cut = any(work.step >= end.steps_on(work.function) for work in works)
        if not overdue and not is_cut:
            return
        jobs = {
            function: job
            for job, (command, _) in self._in_flight.items()
            for function in command.functions
        }
        self._end_overtaken(works, jobs)
        late = [
            work
            for work in overdue
            if work.function in jobs and work.owner not in self._gone
        ]
        at_work = [work for work in late if work.phase != Phase.START]
        if late and not at_work:
            raise hanging(self._start_seconds)
        await self._end_late(at_work, jobs)

    def _end_overtaken(self, works: Sequence[Work], jobs: Mapping[int, int]) -> None:
        """End jobs that are at what a serial run does not come to: it may hang."""
        steps_on = self._outcomes.end.steps_on
        for work in works:
            job = jobs.get(work.function)
            if job is None or work.owner in self._gone or work.phase != Phase.PASS:
                continue
            if work.step >= steps_on(work.function):
                self._overtaken.add(job)
                self._gone.add(work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)

    async def _end_late(self, late: Sequence[Work], jobs: Mapping[int, int]) -> None:
        """End the jobs, given by function, of workers that are overdue."""
        ask_where = getattr(self._executor, "ask_where", self._notes.ask_where)
        self._inquest.tracebacks |= await _in_thread(ask_where, late)
        for work in late:
            job = jobs[work.function]
            if job in self._in_flight:  # it may have come back while we asked where
                self._overdue[job] = work
                self._gone.add(work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)


def hanging(seconds: float) -> RuntimeUseError:
    """Return the error that says that workers hang before they begin."""
    return RuntimeUseError(
        f"the worker processes hang before they can begin, for {seconds:g} s now; an "
        "import of the program's main module, or of the module that a pass comes from, "
        "may wait for something. If it only takes long, set the option "
        "parpass.start_timeout; workers=0 does without them"
    )
