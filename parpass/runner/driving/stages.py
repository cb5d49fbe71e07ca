"""How a stage is run: here, by the workers, or some of its passes here and some there.

What cannot be done in the workers is done here, with one warning: a pass or a function
that cannot be pickled, bytes for which there is no room. The result is the same.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parpass.runner.driving.best_here import run_if_best_here
from parpass.runner.driving.in_process import InProcess, UnderWay
from parpass.runner.driving.obstacles import (
    BE_LOADED,
    BE_SENT,
    REASONS,
    check_not_isolated,
    is_kept_back,
    tell_of_passes,
    tell_of_run,
    why_not_loaded,
    why_not_sent,
)
from parpass.runner.driving.sending import Sending, UnpublishedError
from parpass.runner.executor import Executor
from parpass.runner.placing.forecasts import (
    Forecast,
    Ledger,
    Place,
    best_place,
    correct,
    learn_of_the_rest,
    seconds_here,
)
from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.report.account import Account
from parpass.runner.report.figures import Reason
from parpass.runner.stage.merge import merged_records
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.function_outcome import Verdict
from parpass.runner.travel.retained import HeldModule, Retainer
from parpass.runner.travel.shipment import UnloadableError
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import ModuleAdapter, PassContext
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import Later
from parpass.transform.plan.steps import ends_the_stage

if TYPE_CHECKING:
    from parpass.runner.driving.hosts import Host

# Passes that go together at most: a pass that reads other functions has the passes
# before it run on them, and those read others, as deep on Python's stack as this.
_MOST_STEPS = 16


class Stages:
    """Runs the stages of one run; see `Drive` for most arguments.

    Args:
        in_process: Runs what is run here.

    Attributes:
        verdicts: What is known of bodies that kill workers, or hang, in the stage of
            the plan that was run last.
    """

    def __init__(
        self,
        host: Host,
        executor: Executor | None,
        context: PassContext,
        adapter: ModuleAdapter,
        ledger: Ledger,
        retainer: Retainer,
        account: Account,
        in_process: InProcess,
        *,
        isolated: bool = False,
    ) -> None:
        self._host = host
        self._executor = executor
        self._in_process = in_process
        self._context = context
        self._adapter = adapter
        self._ledger = ledger
        self._retainer = retainer
        self._account = account
        self._isolated = isolated
        self._fell_behind = False  # workers, in the last stage
        self._was_finished_here = False  # that stage, as workers could not
        self._why_none = Reason.NO_WORKERS  # where there is no executor
        self._optimizations = optimizations_in(context.config)
        self.verdicts: dict[tuple[str, int], Verdict] = {}

    def begin(self, command: RunStage) -> StageResult | Later:
        """Run a stage here if it is known that this is best, else have it awaited."""
        if not command.done:
            self.verdicts = {}
        executor = self._executor
        if executor is None:
            return self._in_process.run(command, self._why_none)
        begun = run_if_best_here(
            command,
            executor,
            self._context,
            self._adapter,
            self._ledger,
            self._account,
            self._in_process.module,
            self._in_process.checkpoint,
            isolated=self._isolated,
        )
        if isinstance(begun, Forecast):
            return self.elsewhere(command, executor, begun)
        return begun

    def elsewhere(
        self, command: RunStage, executor: Executor, forecast: Forecast
    ) -> Later:
        """Return a stage as it is run if it is not known to be best run here."""
        return Later(functools.partial(self._elsewhere, command, executor, forecast))

    async def run(self, command: RunStage) -> StageResult:
        """Run a stage."""
        begun = await self._host.call(self.begin, command)
        return await begun.answer() if isinstance(begun, Later) else begun

    async def _elsewhere(
        self, command: RunStage, executor: Executor, forecast: Forecast
    ) -> StageResult:
        most = _MOST_STEPS if self._optimizations.stages else 1
        command = command.first(most)
        began = time.perf_counter()
        left = None
        if forecast.place is Place.UNKNOWN:
            begun = await self._host.call(self._in_process.begin, command, executor)
            if isinstance(begun, StageResult):
                return begun
            left = begun
        held = await self._host.call_through(self._retainer.hold, command.mod)
        outcomes = StageOutcomes(list(held.held), len(command.steps))
        stage = UnderWay(command, held, outcomes, began)
        if left is not None:
            await self._in_process.bring_through(left, stage)
        missing = outcomes.missing()
        there = {name: held.held[name] for name in outcomes.missing_names()}
        alone = seconds_here(command.steps, there, self._adapter)
        asked, started = time.perf_counter(), self._account.starting
        was_warm = executor.is_warm
        self._fell_behind = self._was_finished_here = False
        is_told = left is not None or forecast.expected > 0
        outcome = await self._there(
            stage, executor, alone_seconds=alone if is_told else None
        )
        was_there = not (self._was_finished_here or outcomes.missing())
        if ends_the_stage(outcome.records[-1]):
            self._account.would_take(None)  # a serial run does not come to all of it
        elif was_there:
            took = sum([outcomes.seconds[at] for at in missing])
            self._account.would_take(alone, took)
            spent = outcome.ended - asked - (self._account.starting - started)
            # Workers that were started just now had to load what passes use.
            has_lost = self._fell_behind or (was_warm and spent > (alone or math.inf))
            if left is not None and has_lost:
                args = (command.steps, there, executor, self._adapter, spent)
                await self._host.call(learn_of_the_rest, *args)
        if forecast.seconds and not self._was_finished_here:
            args = (forecast, command.steps, command.mod, outcome, self._adapter)
            await self._host.call(correct, *args)
        return outcome

    async def _there(
        self,
        stage: UnderWay,
        executor: Executor,
        *,
        alone_seconds: float | None = None,
    ) -> StageResult:
        """Have workers run a stage on those functions that have no outcome."""
        command, outcomes = stage.command, stage.outcomes
        snapshot = await self._host.call_through(Snapshot.take, self._context)
        pooled = PooledStage(
            command.steps,
            stage.held,
            snapshot,
            self._retainer,
            outcomes,
            wanted=command.wanted,
            is_last=command.is_last,
            workers=executor.workers,
            alone_seconds=alone_seconds,
        )
        try:
            sending = Sending(self._host, self._retainer, self._account)
            await sending.run(pooled, executor, isolated=self._isolated)
        except tuple(REASONS) as error:
            return await self._stay_here(stage, REASONS[type(error)], str(error))
        except UnloadableError as error:
            return await self._unloadable(stage, executor, error)
        except UnpublishedError as failed:
            return await self._unsendable(stage, executor, snapshot, failed.error)
        if pooled.is_recalled:
            self._fell_behind = True
            await self._in_process.take_over(stage, Reason.BEHIND)
        else:
            outcomes.have_been_asked()
        while outcomes.doubt():
            missing = {name: stage.held.held[name] for name in outcomes.missing_names()}
            forecast = await self._host.call(
                functools.partial(best_place, isolated=self._isolated),
                command.steps,
                pooled.budgets,
                missing,
                self._context,
                executor,
                self._adapter,
                self._ledger,
            )
            if outcomes.must_be_asked or forecast.place is not Place.HERE:
                return await self._there(stage, executor)
            await self._in_process.take_over(stage, Reason.AGAIN)
        return await self._merged(stage)

    async def _finish_here(self, stage: UnderWay, reason: Reason) -> StageResult:
        """Run what is missing of a stage here: all of it, as a serial run, or the rest.

        What was heard is not said again, and what killed a worker is not called.
        """
        self._was_finished_here = True
        if stage.outcomes.is_new:
            return await self._host.call(self._in_process.run, stage.command, reason)
        self._account.would_take(None)  # workers may have run some of it
        await self._in_process.take_over(stage, reason)
        while stage.outcomes.doubt():
            await self._in_process.take_over(stage, reason)
        return await self._merged(stage)

    async def _merged(self, stage: UnderWay) -> StageResult:
        """Return what the outcomes of all functions, here or there, come to."""
        command, outcomes = stage.command, stage.outcomes
        for (name, at), verdict in outcomes.verdicts_here().items():
            self.verdicts[name, command.done + at] = verdict
        self._account.functions(outcomes)
        made = HeldModule(stage.held.base, outcomes.by_name())
        records = merged_records(command.steps, outcomes)
        self._account.work(records)
        if not self._optimizations.retained_bytes:
            await self._host.call_through(self._retainer.unpack_all, made)
        return StageResult(made, records, stage.began, time.perf_counter())

    async def _unsendable(
        self,
        stage: UnderWay,
        executor: Executor,
        snapshot: Snapshot,
        error: Exception,
    ) -> StageResult:
        """Run passes that cannot travel here, and the others between them on the pool.

        Raises:
            RuntimeUseError: The settings cannot travel.
        """
        reasons = why_not_sent(stage.command.steps, snapshot, error)
        if not any(reasons):
            text = f"the module, {type(error).__name__}: {error}"
            return await self._stay_here(stage, Reason.UNSENDABLE, text)
        return await self._partly_here(stage, executor, reasons, BE_SENT)

    async def _unloadable(
        self, stage: UnderWay, executor: Executor, error: UnloadableError
    ) -> StageResult:
        """Run here what cannot be loaded there: a pass, or if it is no pass all."""
        if is_kept_back(error):
            return await self._there(stage, executor)
        if error.step is None:
            return await self._stay_here(stage, Reason.UNLOADABLE, str(error))
        reasons = why_not_loaded(len(stage.command.steps), error)
        return await self._partly_here(stage, executor, reasons, BE_LOADED)

    async def _partly_here(
        self,
        stage: UnderWay,
        executor: Executor,
        reasons: Sequence[str | None],
        what: str,
    ) -> StageResult:
        """Run passes that have a reason here, and the others between on the pool.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        steps, isolated = stage.command.steps, self._isolated
        check_not_isolated(steps, reasons, what, isolated=isolated)
        stays = [reason is not None for reason in reasons]
        # The plan asks for what comes after those that go the same way as the first.
        count = next((at for at, one in enumerate(stays) if one != stays[0]), None)
        first = stage if count is None else stage.first(count)
        if not stays[0]:
            if first.outcomes.is_new:
                return await self.run(first.command)
            await self._in_process.take_over(first, Reason.SMALL, first.outcomes.begun)
            return await self._there(first, executor)
        tell_of_passes(first.command.steps, reasons, what, self._account)
        return await self._finish_here(first, Reason.UNSENDABLE)

    async def _stay_here(
        self, stage: UnderWay, reason: Reason, detail: str
    ) -> StageResult:
        """Run a stage, and the rest of the run, in this process.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        self._executor, self._why_none = None, reason
        tell_of_run(reason, detail, isolated=self._isolated)
        return await self._finish_here(stage, reason)
