"""What of a stage is run in this process, whole or in part, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from parpass.runner.driving.small_work import Left, begin_here, bring_through
from parpass.runner.executor import Executor
from parpass.runner.placing.forecasts import Ledger
from parpass.runner.report.account import Account
from parpass.runner.report.figures import Reason
from parpass.runner.stage.here import take_over
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.retained import HeldModule, Retainer
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.steps import run_stage_in_place

if TYPE_CHECKING:
    from parpass.runner.driving.hosts import Host


class UnderWay(msgspec.Struct, frozen=True):
    """A stage that workers are to run.

    Attributes:
        command: What was asked for.
        held: The functions.
        outcomes: What has come of it.
        began: When that was, by `time.perf_counter()`.
    """

    command: RunStage
    held: HeldModule
    outcomes: StageOutcomes
    began: float

    @property
    def work(self) -> tuple[Sequence[Pass], HeldModule]:
        """The passes, and what they are to be run on."""
        return self.command.steps, self.held

    def first(self, count: int) -> UnderWay:
        """Return a stage of so many of the passes, with what is known of these."""
        command, outcomes = self.command.first(count), self.outcomes.first(count)
        return UnderWay(command, self.held, outcomes, self.began)


class InProcess:
    """Runs stages of one run here; see `Drive` for the arguments.

    Attributes:
        checkpoint: Ends a run that was abandoned; None where none can be.
    """

    def __init__(
        self,
        host: Host,
        context: PassContext,
        adapter: ModuleAdapter,
        ledger: Ledger,
        retainer: Retainer,
        account: Account,
    ) -> None:
        self._host = host
        self._context = context
        self._adapter = adapter
        self._ledger = ledger
        self._retainer = retainer
        self._account = account
        self.checkpoint = retainer.check_open if host.abandons else None

    def module(self, mod: Any) -> Any:
        """Return a module as an object, for somebody who looks at it."""
        if type(mod) is not HeldModule:
            return mod
        if mod.made is not None:
            return mod.made
        with self._account.looking():
            return self._retainer.module(mod)

    def run(self, command: RunStage, reason: Reason) -> StageResult:
        """Run all of a stage, as a serial run does."""
        outcome = run_stage_in_place(
            command.steps,
            self.module(command.mod),
            self._context,
            self._adapter,
            self.checkpoint,
        )
        self._account.stayed(reason, outcome)
        return outcome

    def begin(self, command: RunStage, executor: Executor) -> StageResult | Left:
        """Run the first pass of a stage, while that is cheaper."""
        mod = self.module(command.mod)
        functions = len(self._adapter.functions(mod))
        with self._account.here(Reason.SMALL):
            begun = begin_here(
                command.steps,
                mod,
                functions,
                self._context,
                executor,
                self._retainer,
                self._ledger,
            )
        if isinstance(begun, StageResult):
            self._account.work(begun.records)
        return begun

    async def bring_through(self, left: Left, stage: UnderWay) -> None:
        """Run the other passes on what the first one has been through here."""
        args = (left, *stage.work, self._context, self._retainer, stage.outcomes)
        with self._account.here(Reason.SMALL):
            await self._host.call(bring_through, *args)

    async def take_over(
        self, stage: UnderWay, reason: Reason, functions: Iterable[int] | None = None
    ) -> None:
        """Run a stage, by default on those functions that have no outcome."""
        args = (*stage.work, self._context, self._retainer, stage.outcomes, functions)
        with self._account.here(reason):
            await self._host.call(take_over, *args)
