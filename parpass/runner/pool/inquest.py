"""Who is to blame where workers die or hang, and what becomes of that.

The schedule finds out which function it was, by running suspects alone. What that comes
to is decided here: an error, another try, or a pass that is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from parpass.errors import FunctionFailure, FunctionTimeoutError, WorkerDiedError
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.errors import show_where_it_ended
from parpass.runner.travel.function_outcome import ANYONE, FunctionOutcome
from parpass.runner.travel.notes import Phase, Work
from parpass.runner.travel.retained import Held
from parpass.transform import Pass
from parpass.transform.budget import Budget
from parpass.transform.config import OnFailure

ON_THE_WAY_SECONDS = 10.0  # at least, for a function that is unpickled or pickled


class Inquest:
    """What is known of workers of a stage that died, or take too long.

    Args:
        steps: The passes.
        held: The functions by name.
        outcomes: Where to put what becomes known of those that are to blame.
        budgets: Of the passes.
        start_seconds: How long a worker may take to load the stage.

    Attributes:
        tracebacks: Where workers were when they ended, by owner of a note.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        held: Mapping[str, Held],
        outcomes: StageOutcomes,
        budgets: Sequence[Budget],
        start_seconds: float,
    ) -> None:
        self._steps, self._held, self._outcomes = steps, held, outcomes
        self._budgets, self._start_seconds = budgets, start_seconds
        self.tracebacks: dict[str, str] = {}
        self._to_blame: dict[int, Work] = {}  # by function
        self._causes: dict[int, str] = {}  # of deaths, likewise; the others were late
        self._spared: set[int] = set()
        self._tries: Counter[tuple[str, int]] = Counter()

    def shortest_limit(self) -> float | None:
        """Return the shortest time that a step may take; None if none is limited."""
        limits = [one.seconds for one in self._budgets if one.seconds is not None]
        return min(limits, default=None)

    def overdue(self, work: Work, now: int) -> bool:
        """Return whether a worker has been at something for longer than it may."""
        limit = self._budgets[work.body_step].seconds
        if work.phase == Phase.START:
            limit = self._start_seconds
        elif work.phase != Phase.PASS and limit is not None:
            limit = max(limit, ON_THE_WAY_SECONDS)  # it is none of the pass's time
        if limit is None or not work.since:
            return False
        return now - work.since > limit * 1e9

    def blame(self, work: Work, cause: str | None = None) -> None:
        """Take down that work took too long or, for a cause, killed its worker."""
        self._to_blame[work.function] = work
        if cause is not None:
            self._causes[work.function] = cause

    def spare(self, function: int) -> bool:
        """Return whether a suspect that was killed runs alone once more.

        A kill may come from outside, as when the system is out of memory, and a
        suspect may be its victim twice.
        """
        is_first_time = function not in self._spared
        self._spared.add(function)
        return is_first_time

    def settle(self, function: int) -> bool:
        """Decide what becomes of one to blame; return whether to run it again."""
        work = self._to_blame.pop(function)
        error = self._error(work, self._causes.pop(function, None))
        error.traceback = self.tracebacks.pop(work.owner, "")
        show_where_it_ended(error)
        names, budget = self._outcomes.names, self._budgets[work.body_step]
        body = names[work.body], work.body_step
        verdicts = self._outcomes.verdicts
        # What kills again although its body is not called kills on its way.
        if body not in verdicts:
            self._tries[body] += 1
            if budget.on_failure is OnFailure.RETRY and self._tries[body] == 1:
                return True
            skips = budget.on_failure is OnFailure.SKIP
            if skips or work.phase == Phase.PASS:
                # It is run again up to there, for what the passes before have to say.
                verdicts[body] = error.reason if skips else error
                return True
        failed = FunctionOutcome(None, [0.0] * (work.step + 1), failure=error)
        if work.step and work.phase == Phase.PICKLE:
            failed.relied_on = (ANYONE,)  # what cannot be sent back may be made of that
        self._outcomes.put(work.function, self._held[names[work.function]], failed)
        return False

    def _error(self, work: Work, cause: str | None) -> FunctionFailure:
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
