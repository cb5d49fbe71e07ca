"""How a stage is run: here, by the workers, or some of its passes here and some there.

What cannot be done in the workers is done here, with one warning: a pass or a function
that cannot be pickled, bytes for which there is no room. The result is the same.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from parpass.errors import (
    RuntimeUseError,
    SlowerRunWarning,
    UnpicklablePassWarning,
)
from parpass.errors.warning import warn
from parpass.runner.driving.sending import Sending, UnpublishedError
from parpass.runner.driving.small_work import Left, begin_here, bring_through
from parpass.runner.executor import Executor, NoWorkersError
from parpass.runner.placing.forecasts import (
    Forecast,
    Ledger,
    Place,
    best_place,
    correct,
    learn_of_the_rest,
    seconds_here,
    why_here,
)
from parpass.runner.pool.pooled_stage import PooledStage
from parpass.runner.report.account import Account
from parpass.runner.report.figures import Reason
from parpass.runner.stage.here import take_over
from parpass.runner.stage.merge import merged_records
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.function_outcome import Verdict
from parpass.runner.travel.pickling import why_not_picklable
from parpass.runner.travel.retained import HeldModule, Retainer
from parpass.runner.travel.shipment import UnloadableError, UnsendableError
from parpass.runner.travel.snapshot import Snapshot
from parpass.tables import keep_back, program_entries
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.budget import Budget, budgets_of
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.serial import Later
from parpass.transform.plan.steps import ends_the_stage, run_stage_in_place

if TYPE_CHECKING:
    from parpass.runner.driving.hosts import Host

# Passes that go together at most: a pass that reads other functions has the passes
# before it run on them, and those read others, as deep on Python's stack as this.
_MOST_STEPS = 16

_WHY_HERE = {
    Reason.NO_ROOM: (
        "there is no room to share bytes with the workers ({})",
        "; enlarge /dev/shm, or set TMPDIR to a folder with room",
    ),
    Reason.UNSENDABLE: ("the workers cannot be sent {}", ""),
    Reason.UNLOADABLE: ("the workers cannot load {}", ""),
    Reason.NO_PROCESSES: ("no processes can be started ({})", ""),
}

_REASONS: dict[type[Exception], Reason] = {
    StorageError: Reason.NO_ROOM,
    UnsendableError: Reason.UNSENDABLE,
    NoWorkersError: Reason.NO_PROCESSES,
}


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


class Stages:
    """Runs the stages of one run; see `Drive` for the arguments.

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
        *,
        isolated: bool = False,
    ) -> None:
        self._host = host
        self._executor = executor
        self._context = context
        self._adapter = adapter
        self._ledger = ledger
        self._retainer = retainer
        self._account = account
        self._sending = Sending(host, retainer, account)
        self._isolated = isolated
        self._checkpoint = retainer.check_open if host.abandons else None
        self._fell_behind = False  # workers, in the last stage
        self._was_finished_here = False  # that stage, as workers could not
        self._why_none = Reason.NO_WORKERS  # where there is no executor
        self._optimizations = optimizations_in(context.config)
        self.verdicts: dict[tuple[str, int], Verdict] = {}

    def module(self, mod: Any) -> Any:
        """Return a module as an object, for somebody who looks at it."""
        if type(mod) is not HeldModule:
            return mod
        if mod.made is not None:
            return mod.made
        with self._account.looking():
            return self._retainer.module(mod)

    def begin(self, command: RunStage) -> StageResult | Later:
        """Run a stage here if it is known that this is best, else have it awaited."""
        if not command.done:
            self.verdicts = {}
        executor = self._executor
        if executor is None:
            return self._here(command, self._why_none)
        steps, mod = command.steps, command.mod
        budgets = budgets_of(steps, self._context.config)
        is_held = type(mod) is HeldModule
        functions = mod.held if is_held else self._adapter.functions(mod)
        forecast = self._forecast(steps, budgets, functions, executor)
        if forecast.place is not Place.HERE:
            return Later(
                functools.partial(self._elsewhere, command, executor, forecast)
            )
        reason = why_here(len(functions), executor.workers)
        outcome = self._here(command, reason, budgets)
        if forecast.seconds:
            correct(forecast, steps, mod, outcome, self._adapter)
        return outcome

    def _forecast(
        self,
        steps: Sequence[Pass],
        budgets: Sequence[Budget],
        functions: Mapping[str, Any],
        executor: Executor,
    ) -> Forecast:
        return best_place(
            steps,
            budgets,
            functions,
            self._context,
            executor,
            self._adapter,
            self._ledger,
            isolated=self._isolated,
        )

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
            begun = await self._host.call(self._begun_here, command, executor)
            if isinstance(begun, StageResult):
                return begun
            left = begun
        held = await self._host.call_through(self._retainer.hold, command.mod)
        outcomes = StageOutcomes(list(held.held), len(command.steps))
        stage = UnderWay(command, held, outcomes, began)
        if left is not None:
            await self._bring_through(left, stage)
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

    async def _bring_through(self, left: Left, stage: UnderWay) -> None:
        """Run the other passes here on what the first one has been through here."""
        args = (left, *stage.work, self._context, self._retainer, stage.outcomes)
        with self._account.here(Reason.SMALL):
            await self._host.call(bring_through, *args)

    def _begun_here(self, command: RunStage, executor: Executor) -> StageResult | Left:
        """Run the first pass of a stage here, while that is cheaper."""
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
        if not getattr(executor, "shares_files", True):
            self._retainer.values.large = math.inf  # for the rest of the run
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
            await self._sending.run(pooled, executor, isolated=self._isolated)
        except tuple(_REASONS) as error:
            return await self._stay_here(stage, _REASONS[type(error)], str(error))
        except UnloadableError as error:
            return await self._unloadable(stage, executor, error)
        except UnpublishedError as failed:
            return await self._unsendable(stage, executor, snapshot, failed.error)
        if pooled.is_recalled:
            self._fell_behind = True
            await self._take_over(stage, Reason.BEHIND)
        else:
            outcomes.have_been_asked()
        while outcomes.doubt():
            missing = {name: stage.held.held[name] for name in outcomes.missing_names()}
            args = (command.steps, pooled.budgets, missing, executor)
            forecast = await self._host.call(self._forecast, *args)
            if outcomes.must_be_asked or forecast.place is not Place.HERE:
                return await self._there(stage, executor)
            await self._take_over(stage, Reason.AGAIN)
        return await self._merged(stage)

    async def _take_over(
        self, stage: UnderWay, reason: Reason, functions: Iterable[int] | None = None
    ) -> None:
        """Run a stage here, by default on those functions that have no outcome."""
        args = (*stage.work, self._context, self._retainer, stage.outcomes, functions)
        with self._account.here(reason):
            await self._host.call(take_over, *args)

    async def _finish_here(self, stage: UnderWay, reason: Reason) -> StageResult:
        """Run what is missing of a stage here: all of it, as a serial run, or the rest.

        What was heard is not said again, and what killed a worker is not called.
        """
        self._was_finished_here = True
        if stage.outcomes.is_new:
            return await self._host.call(self._here, stage.command, reason)
        self._account.would_take(None)  # workers may have run some of it
        await self._take_over(stage, reason)
        while stage.outcomes.doubt():
            await self._take_over(stage, reason)
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
        reason = snapshot.why_not_picklable()
        if reason is not None:
            raise RuntimeUseError(
                f"the settings cannot be sent to the workers: {reason}"
            ) from error
        steps = stage.command.steps
        reasons = [why_not_picklable(step, step.info.name) for step in steps]
        if not any(reasons):
            text = f"the module, {type(error).__name__}: {error}"
            return await self._stay_here(stage, Reason.UNSENDABLE, text)
        what = "be sent to the workers"
        return await self._partly_here(stage, executor, reasons, what)

    async def _unloadable(
        self, stage: UnderWay, executor: Executor, error: UnloadableError
    ) -> StageResult:
        """Run here what cannot be loaded there: a pass, or if it is no pass all."""
        stuck = [one for one in program_entries() if str(one) == error.entry]
        for entry in stuck:
            keep_back(entry, error.why)
        if any(entry.has_state for entry in stuck):
            # It does without, while nobody asks for it.
            return await self._there(stage, executor)
        if error.step is None:
            return await self._stay_here(stage, Reason.UNLOADABLE, str(error))
        reasons: list[str | None] = [None] * len(stage.command.steps)
        reasons[error.step] = error.why
        what = "be loaded by the workers"
        return await self._partly_here(stage, executor, reasons, what)

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
        stays = [reason is not None for reason in reasons]
        if any(stays) and self._isolated:
            at = stays.index(True)
            name, reason = stage.command.steps[at].info.name, reasons[at]
            raise self._not_isolated(f"pass '{name}' cannot {what}: {reason}")
        # The plan asks for what comes after those that go the same way as the first.
        count = next((at for at, one in enumerate(stays) if one != stays[0]), None)
        first = stage if count is None else stage.first(count)
        if not stays[0]:
            if first.outcomes.is_new:
                return await self.run(first.command)
            await self._take_over(first, Reason.SMALL, first.outcomes.begun)
            return await self._there(first, executor)
        for step, reason in zip(first.command.steps, reasons, strict=False):
            name = step.info.name
            self._account.stays(name, str(reason))
            warn(
                f"pass '{name}' cannot {what}, so it runs in this process: {reason}",
                UnpicklablePassWarning,
            )
        return await self._finish_here(first, Reason.UNSENDABLE)

    async def _stay_here(
        self, stage: UnderWay, reason: Reason, detail: str
    ) -> StageResult:
        """Run a stage, and the rest of the run, in this process.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        if self._isolated:
            raise self._not_isolated(_WHY_HERE[reason][0].format(detail))
        self._executor, self._why_none = None, reason
        told, advice = _WHY_HERE[reason]
        told = told.format(detail)
        warn(
            f"{told}, so the rest of this run stays in this process{advice}",
            SlowerRunWarning,
        )
        return await self._finish_here(stage, reason)

    def _not_isolated(self, why: str) -> RuntimeUseError:
        return RuntimeUseError(
            f"an isolated run has all function passes in workers, and {why}; mend "
            "that, or run without isolated=True"
        )

    def _here(
        self,
        command: RunStage,
        reason: Reason,
        budgets: Sequence[Budget] | None = None,
    ) -> StageResult:
        outcome = run_stage_in_place(
            command.steps,
            self.module(command.mod),
            self._context,
            self._adapter,
            self._checkpoint,
            budgets=budgets,
        )
        self._account.stayed(reason, outcome)
        return outcome
