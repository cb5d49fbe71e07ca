"""Attribution of worker deaths and time-outs to functions, and what they result in.

The scheduler finds the function at fault by running suspects alone. This module decides
on the outcome: an error, a retry, or a skipped pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from parpass.errors import FunctionFailure, FunctionTimeoutError, WorkerDiedError
from parpass.runner.ipc.messages import ANY_FUNCTION, FunctionOutcome
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.ipc.pickling import attach_process_traceback
from parpass.runner.ipc.status_board import Activity, Phase
from parpass.runner.pool.scheduler_events import FailureResolved
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.config import OnFailure

TRANSFER_SECONDS = 10.0  # minimum limit for pickling or unpickling a function


class FailureAttribution:
    """The deaths and time-outs of the workers of a stage, by function.

    Args:
        steps: The passes.
        held: The functions by name.
        outcomes: The outcomes of the stage; those of functions at fault are put there.
        budgets: The budgets of the passes.
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
        self._steps, self._held, self._outcomes = steps, held, outcomes
        self._budgets, self._start_seconds = budgets, start_seconds
        self.tracebacks: dict[str, str] = {}
        self._failed_activities: dict[int, Activity] = {}  # by function
        self._causes: dict[int, str] = {}  # of deaths, likewise; absent for time-outs
        self._retried: set[int] = set()
        self._attempts: Counter[tuple[str, int]] = Counter()

    def shortest_limit(self) -> float | None:
        """Return the shortest time limit of a step in seconds; None if none has one."""
        limits = [one.seconds for one in self._budgets if one.seconds is not None]
        return min(limits, default=None)

    def is_overdue(self, work: Activity, now: int) -> bool:
        """Return whether an activity exceeds its limit at `now`, in monotonic ns."""
        limit = self._budgets[work.body_step].seconds
        if work.phase == Phase.START:
            limit = self._start_seconds
        elif work.phase != Phase.PASS and limit is not None:
            limit = max(limit, TRANSFER_SECONDS)  # transfer is not time of the pass
        if limit is None or not work.since:
            return False
        return now - work.since > limit * 1e9

    def record_failure(self, work: Activity, cause: str | None = None) -> None:
        """Record that an activity was overdue or, with a cause, killed its worker."""
        self._failed_activities[work.function] = work
        if cause is not None:
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
        error = self._error(work, self._causes.pop(function, None))
        error.traceback = self.tracebacks.pop(work.owner, "")
        attach_process_traceback(error)
        names, budget = self._outcomes.names, self._budgets[work.body_step]
        body = names[work.body], work.body_step
        quarantined = self._outcomes.quarantined
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
        failed = FunctionOutcome(None, [0.0] * (work.step + 1), failure=error)
        if work.step and work.phase == Phase.PICKLE:
            # The result that cannot be pickled may be made of what the pass read.
            failed.dependencies = (ANY_FUNCTION,)
        self._outcomes.put(work.function, self._held[names[work.function]], failed)
        return FailureResolved(function, again=False, may_truncate=True)

    def _error(self, work: Activity, cause: str | None) -> FunctionFailure:
        pass_name = self._steps[work.body_step].info.name
        function = self._outcomes.names[work.body]
        if cause is None:
            limit = self._budgets[work.body_step].seconds
            assert limit is not None
            return FunctionTimeoutError(
                pass_name=pass_name, function=function, limit=limit
            )
        where = Phase(work.phase).name.lower()
        return WorkerDiedError(
            pass_name=pass_name, function=function, cause=cause, where=where
        )
