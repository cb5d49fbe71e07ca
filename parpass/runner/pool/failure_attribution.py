"""Attribution of worker deaths and time-outs to functions, and what they result in.

When a worker dies, the coordinator reads from the status board what it was doing, and
records that here. The scheduler finds the function at fault by running suspects alone.
The attribution decides on the outcome: an error, a retry, or a skipped pass.

The watchdog cancels jobs whose functions are overdue: status slots of the workers show
which are. To cancel a job kills its worker, which may be in Python or in C.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
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
from parpass.runner.ipc.function_outcome import ANY_FUNCTION, FunctionOutcome
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


class LateJob(NamedTuple):
    """A job that was ended for what its worker was doing.

    Attributes:
        limit: The limit that this exceeded; None if a serial run ends before it.
    """

    job: int
    work: Status
    limit: Limit | None


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
        # By function: what killed its worker, or exceeded a limit.
        self._at_fault: dict[int, tuple[Status, str | Limit]] = {}
        # Those resolved so far: a function, and the body that its worker called.
        self._resolved: set[tuple[int, tuple[str, int]]] = set()

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

    def is_beyond_end(self, work: Status) -> bool:
        """Return whether a worker is at a pass that a serial run does not reach.

        It runs the pass, or decodes a function for it, or encodes its result.
        """
        steps = self.outcomes.cutoff.steps_on(work.function)
        return work.phase != Phase.START and work.step >= steps

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
        self._at_fault[work.function] = work, cause

    def resolve(self, function: int) -> FailureResolved:
        """Decide the outcome of a function at fault.

        By the budget of the pass the call is retried, or quarantined, so that the
        function runs again without it, or the function fails.
        """
        work, cause = self._at_fault.pop(function)
        error = self._error(work, cause)
        error.traceback = self.tracebacks.pop(work.owner, "")
        attach_process_traceback(error)
        names, budget = self.outcomes.names, self._budgets[work.body_step]
        body = names[work.body], work.body_step
        quarantined = self.outcomes.quarantined
        is_first = (function, body) not in self._resolved
        self._resolved.add((function, body))
        skips = budget.on_failure is OnFailure.SKIP
        is_pass = work.phase == Phase.PASS
        # A death although the body is not called is one of pickling or unpickling. It
        # may have been called: several workers may, each for another function.
        if body not in quarantined:
            if budget.on_failure is OnFailure.RETRY and is_first:
                return FailureResolved(function, again=True, may_truncate=True)
            if skips or is_pass:
                quarantined[body] = error.reason if skips else error
            is_called = skips or is_pass
        else:
            is_called = is_first and is_pass
        # It runs again up to this step, for the effects of the passes before.
        if is_called and (skips or work.step):
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
    """Ends jobs that hang, and jobs that run beyond the end of a serial run.

    Args:
        failures: Has the time limits, and takes the tracebacks of overdue workers.
        in_flight: The current jobs; those that are ended are removed.
    """

    def __init__(
        self,
        executor: Executor,
        board: StatusBoard,
        failures: FailureAttribution,
        in_flight: MutableMapping[int, tuple[SubmitJob, Future[bytes]]],
    ) -> None:
        self._executor = executor
        self._board = board
        self._failures = failures
        self._in_flight = in_flight
        self._killed: set[str] = set()  # slots of workers killed here
        least = failures.least_limit
        self._interval = 1.0 if least is None else min(_MAX_POLL_SECONDS, least / 4)
        self._due = time.monotonic() + self._interval

    @property
    def seconds_left(self) -> float:
        """The seconds until the next check is due."""
        return max(0.0, self._due - time.monotonic())

    def end_late_jobs(self) -> Iterator[LateJob]:
        """Check the status board, if that is due; end jobs, each as it is yielded.

        What follows from one may end others first.

        Raises:
            RuntimeUseError: Workers hang before they begin.
        """
        if self.seconds_left:
            return
        for late in self._find_late_jobs() if self._in_flight else ():
            _, answer = self._in_flight.get(late.job, (None, None))
            if answer is None or answer.done():  # meanwhile
                continue
            if self._executor.end(answer, at_once=True) is False:
                continue  # at the last moment; its end is an event
            del self._in_flight[late.job]
            self._killed.add(late.work.owner)
            yield late
        self._due = time.monotonic() + self._interval

    def _find_late_jobs(self) -> list[LateJob]:
        """Return the jobs to end; get the tracebacks of those that are overdue.

        Raises:
            RuntimeUseError: As `end_late_jobs`.
        """
        now, failures = time.monotonic_ns(), self._failures
        works = [one for one in self._board.read() if one.owner not in self._killed]
        hung = [one for one in works if failures.hangs_at_start(one, now)]
        late: list[tuple[Status, Limit | None]] = []
        for work in works:
            if failures.is_beyond_end(work):
                late.append((work, None))
            elif (limit := failures.overrun(work, now)) is not None:
                late.append((work, limit))
        if not (late or hung):
            return []
        jobs = {
            function: job
            for job, (command, _) in self._in_flight.items()
            for function in command.functions
        }
        found = [
            LateJob(jobs[work.function], work, limit)
            for work, limit in late
            if work.function in jobs  # else it is of a job that has ended
        ]
        overdue = [one.work for one in found if one.limit is not None]
        hung = [one for one in hung if one.function in jobs]
        if hung and not overdue:
            loading = failures.name_loading(hung[0])
            raise workers_hang_error(failures.start_seconds, loading)
        if overdue:
            failures.tracebacks |= self._dump_tracebacks(overdue)
        return found

    def _dump_tracebacks(self, works: Sequence[Status]) -> dict[str, str]:
        found = self._executor.dump_tracebacks(works)
        return self._board.dump_tracebacks(works) if found is None else found


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
