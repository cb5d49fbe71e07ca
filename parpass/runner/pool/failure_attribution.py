"""Attribution of worker deaths and time-outs to functions, and what they result in.

When a worker dies, the coordinator reads from the status board what it was doing, and
records that here. The scheduler finds the function at fault by running suspects alone.
The attribution decides on the outcome: an error, a retry, or a skipped pass.

The watchdog cancels jobs whose functions are overdue: status slots of the workers show
which are. To cancel a job kills its worker, which may be in Python or in C.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from parpass.errors import (
    FunctionFailure,
    Hint,
    HintedMessage,
    RuntimeUseError,
    WorkerDiedError,
)
from parpass.limits import LIMITS, Limit
from parpass.runner.executor import Executor
from parpass.runner.ipc.messages import ANY_FUNCTION, FunctionOutcome
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.ipc.pickled_errors import attach_process_traceback
from parpass.runner.ipc.status_board import Phase, Status, StatusBoard
from parpass.runner.pool.scheduler_events import FailureResolved, SubmitJob
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.config import OnFailure

_MAX_POLL_SECONDS = 0.1  # seconds between two reads of the status board
TRANSFER_SECONDS = 10.0  # minimum limit for pickling or unpickling a function


class Overrun(NamedTuple):
    """An activity, and the limit that it exceeds."""

    work: Status
    limit: Limit


class FailureAttribution:
    """The deaths and time-outs of the workers of a stage, by function.

    Args:
        outcomes: The outcomes of the stage; those of functions at fault are put there.
        start_seconds: The time limit for a worker to load the stage.

    Attributes:
        tracebacks: The tracebacks of workers that ended, by owner of a status slot.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        held: Mapping[str, FunctionHandle],
        outcomes: StageOutcomes,
        budgets: Sequence[Budget],
        start_seconds: float,
    ) -> None:
        self._steps, self._held, self.outcomes = steps, held, outcomes
        self._budgets, self.start_seconds = budgets, start_seconds
        self._watched = {
            one.name: one.watched() for one in LIMITS if one.watched is not None
        }
        self.tracebacks: dict[str, str] = {}
        self._failed_activities: dict[int, Status] = {}  # by function
        self._causes: dict[int, str | Limit] = {}  # likewise
        self._retried: set[int] = set()
        self._attempts: Counter[tuple[str, int]] = Counter()

    @property
    def least_limit(self) -> float | None:
        """The least limit that is watched, in seconds; None if there are none."""
        watched = [
            value
            for budget in self._budgets
            for limit, value in budget.items()
            if limit.name in self._watched
        ]
        return min(watched, default=None)

    def hangs_at_start(self, work: Status, now: int) -> bool:
        """Return whether a worker loads the stage for too long at `now`."""
        is_loading = work.phase == Phase.START and work.since
        return bool(is_loading) and now - work.since > self.start_seconds * 1e9

    def overrun(self, work: Status, now: int) -> Limit | None:
        """Return the limit that an activity exceeds at `now`; None for none.

        `now` is in nanoseconds of the monotonic clock. Asked regularly, as some limits
        count from when an activity was first seen.
        """
        if work.phase == Phase.START or not work.since:
            return None
        for limit, value in self._budgets[work.body_step].items():
            if limit.name in self._watched:
                # Transfer is not time of the pass.
                is_pass = work.phase == Phase.PASS
                most = value if is_pass else max(value, TRANSFER_SECONDS)
                if self._watched[limit.name](work, now) > most:
                    return limit
        return None

    def name_loading(self, work: Status) -> str:
        """Return the name of the pass that a worker loads; empty if it loads none."""
        return "" if work.loading is None else self._steps[work.loading].info.name

    def record_failure(self, work: Status, cause: str | Limit) -> None:
        """Record that an activity killed its worker, or exceeded a limit."""
        self._failed_activities[work.function] = work
        self._causes[work.function] = cause

    def allow_retry(self, function: int) -> bool:
        """Return whether a suspect may run alone again; True once for each function.

        A kill may come from outside, such as when memory is short, and may hit a
        suspect twice.
        """
        is_first_time = function not in self._retried
        self._retried.add(function)
        return is_first_time

    def resolve(self, function: int) -> FailureResolved:
        """Decide the outcome of a function at fault.

        By the budget of the pass the call is retried, or quarantined, so that the
        function runs again without it, or the function fails.
        """
        work = self._failed_activities.pop(function)
        error = self._error(work, self._causes.pop(function))
        error.traceback = self.tracebacks.pop(work.owner, "")
        attach_process_traceback(error)
        names, budget = self.outcomes.names, self._budgets[work.body_step]
        body = names[work.body], work.body_step
        quarantined = self.outcomes.quarantined
        # A death although the body is not called is one of pickling or unpickling.
        if body not in quarantined:
            self._attempts[body] += 1
            if budget.on_failure is OnFailure.RETRY and self._attempts[body] == 1:
                return FailureResolved(function, again=True, may_truncate=True)
            skips = budget.on_failure is OnFailure.SKIP
            if skips or work.phase == Phase.PASS:
                quarantined[body] = error.reason if skips else error
            # It runs again up to this step, for the effects of the passes before.
            if skips or (work.phase == Phase.PASS and work.step):
                return FailureResolved(function, again=True, may_truncate=not skips)
        seconds = [0.0] * (work.step + 1)
        failed = FunctionOutcome(None, seconds, failure=error)
        if work.step and work.phase == Phase.PICKLE:
            # The result that cannot be pickled may be made of what the pass read.
            failed.dependencies = (ANY_FUNCTION,)
        self.outcomes.put(work.function, self._held[names[work.function]], failed)
        return FailureResolved(function, again=False, may_truncate=True)

    def _error(self, work: Status, cause: str | Limit) -> FunctionFailure:
        pass_name = self._steps[work.body_step].info.name
        function = self.outcomes.names[work.body]
        if isinstance(cause, Limit):
            value = self._budgets[work.body_step].limits[cause.name]
            return cause.error(pass_name, function, value)
        where = Phase(work.phase).name.lower()
        return WorkerDiedError(
            pass_name=pass_name, function=function, cause=cause, where=where
        )


class Watchdog:
    """Cancels jobs that hang, and jobs that run beyond the end of a serial run.

    Args:
        failures: Has the time limits, and records which function was overdue.
        in_flight: The current jobs; a live mapping.
    """

    def __init__(
        self,
        executor: Executor,
        board: StatusBoard,
        failures: FailureAttribution,
        in_flight: Mapping[int, tuple[SubmitJob, Future[bytes]]],
    ) -> None:
        self._executor = executor
        self._board = board
        self._failures = failures
        self._in_flight = in_flight
        self._overdue: dict[int, Overrun] = {}  # by job, cancelled for it
        self._superseded: set[int] = set()  # jobs cancelled beyond the end
        self._killed: set[str] = set()  # slots of workers killed here
        least = failures.least_limit
        self._interval = 1.0 if least is None else min(_MAX_POLL_SECONDS, least / 4)
        self._due = time.monotonic() + self._interval

    @property
    def seconds_left(self) -> float:
        """The seconds until the next check is due."""
        return max(0.0, self._due - time.monotonic())

    def take_overdue(self, job: int) -> Overrun | None:
        """Return what a job was cancelled for, once; else None."""
        return self._overdue.pop(job, None)

    def take_superseded(self, job: int) -> bool:
        """Return whether a job was cancelled beyond the end of a serial run, once."""
        if job not in self._superseded:
            return False
        self._superseded.discard(job)
        return True

    def check(self) -> None:
        """Check the status board, if that is due.

        Raises:
            RuntimeUseError: Workers hang before they begin.
        """
        if self.seconds_left:
            return
        if self._in_flight:
            self._check()
        self._due = time.monotonic() + self._interval

    def _check(self) -> None:
        now, works = time.monotonic_ns(), self._board.read()
        hanging = [work for work in works if self._failures.hangs_at_start(work, now)]
        found = [(work, self._failures.overrun(work, now)) for work in works]
        overdue = [Overrun(work, limit) for work, limit in found if limit is not None]
        end = self._failures.outcomes.cutoff
        is_cut = any(work.step >= end.steps_on(work.function) for work in works)
        if not overdue and not hanging and not is_cut:
            return
        jobs = {
            function: job
            for job, (command, _) in self._in_flight.items()
            for function in command.functions
        }
        self._cancel_superseded(works, jobs)

        def is_current(work: Status) -> bool:
            return work.function in jobs and work.owner not in self._killed

        late = [one for one in overdue if is_current(one.work)]
        hung = [work for work in hanging if is_current(work)]
        if hung and not late:
            raise workers_hang_error(
                self._failures.start_seconds, self._failures.name_loading(hung[0])
            )
        self._cancel_overdue(late, jobs)

    def _cancel_superseded(
        self, works: Sequence[Status], jobs: Mapping[int, int]
    ) -> None:
        """Cancel jobs that run beyond the end of a serial run: they may hang."""
        steps_on = self._failures.outcomes.cutoff.steps_on
        for work in works:
            job = jobs.get(work.function)
            if job is None or work.owner in self._killed or work.phase != Phase.PASS:
                continue
            if work.step >= steps_on(work.function):
                self._superseded.add(job)
                self._killed.add(work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)

    def _cancel_overdue(self, late: Sequence[Overrun], jobs: Mapping[int, int]) -> None:
        """Cancel the jobs of overdue workers; `jobs` maps functions to jobs."""
        works = [one.work for one in late]
        found = self._executor.dump_tracebacks(works)
        if found is None:
            found = self._board.dump_tracebacks(works)
        self._failures.tracebacks |= found
        for one in late:
            job = jobs[one.work.function]
            if job in self._in_flight:  # it may have finished meanwhile
                self._overdue[job] = one
                self._killed.add(one.work.owner)
                self._executor.end(self._in_flight[job][1], at_once=True)


def workers_hang_error(seconds: float, loading: str = "") -> RuntimeUseError:
    during = f", loading pass '{loading}'" if loading else ""
    return RuntimeUseError(
        HintedMessage(
            f"the worker processes hang before they can begin{during} (for "
            f"{seconds:g} s so far); importing the program's main module, or the "
            "module of a pass, may be waiting for something. If the import is only "
            "slow, ",
            Hint.START_TIMEOUT,
            "; ",
            Hint.WITHOUT_WORKERS,
        )
    )
