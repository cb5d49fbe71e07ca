"""How a stage is run: here, by the workers, or some of its passes here and some there.

What cannot be done in the workers is done here, with one warning: a pass or a function
that cannot be pickled, bytes for which there is no room. The result is the same.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from parpass.errors import (
    PassStateWarning,
    RuntimeUseError,
    SlowerRunWarning,
    UnpicklablePassWarning,
)
from parpass.errors.warning import warn
from parpass.runtime.account import Account
from parpass.runtime.executor import Executor, NoWorkersError
from parpass.runtime.forecasts import (
    Forecast,
    Ledger,
    Place,
    best_place,
    correct,
    seconds_here,
    why_here,
)
from parpass.runtime.in_process import settle
from parpass.runtime.merge import merged_records
from parpass.runtime.notes import Notes
from parpass.runtime.outcomes import StageOutcomes
from parpass.runtime.pooled import PooledStage
from parpass.runtime.report import Reason
from parpass.runtime.retained import HeldModule, Retainer
from parpass.runtime.shipment import UnloadableError, UnsendableError
from parpass.runtime.shipping import why_not_picklable
from parpass.runtime.small_work import begin_here
from parpass.runtime.snapshot import Snapshot
from parpass.runtime.store import StorageError
from parpass.tables import keep_back, program_entries
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import ends_the_stage, run_stage_in_place
from parpass.transform.budget import Budget, are_limited, budgets_of
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan import Outcome, RunStage, StepRecord
from parpass.transform.serial import Later

if TYPE_CHECKING:
    from parpass.runtime.hosts import Host

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

RunPart = Callable[[RunStage], Awaitable[Outcome]]


class Stages:
    """Runs the stages of one run; see `Drive` for the arguments."""

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
        self._isolated = isolated
        self._checkpoint = retainer.check_open if host.abandons else None
        self._why_none = Reason.NO_WORKERS  # where there is no executor
        self._optimizations = optimizations_in(context.config)

    def module(self, mod: Any) -> Any:
        """Return a module as an object, for somebody who looks at it."""
        if type(mod) is not HeldModule:
            return mod
        if mod.made is not None:
            return mod.made
        with self._account.looking():
            return self._retainer.module(mod)

    def begin(self, command: RunStage) -> Outcome | Later:
        """Run a stage here if it is known that this is best, else have it awaited."""
        executor = self._executor
        if executor is None:
            return self._here(command, self._why_none)
        steps, mod = command.steps, command.mod
        budgets = budgets_of(steps, self._context.config)
        is_held = type(mod) is HeldModule
        functions = mod.held if is_held else self._adapter.functions(mod)
        forecast = best_place(
            steps,
            budgets,
            functions,
            self._context,
            executor,
            self._adapter,
            self._ledger,
            isolated=self._isolated,
        )
        if forecast.place is not Place.HERE:
            return Later(
                functools.partial(self._elsewhere, command, executor, forecast)
            )
        reason = why_here(len(functions), executor.workers)
        outcome = self._here(command, reason, budgets)
        if forecast.seconds:
            correct(forecast, steps, mod, outcome, self._adapter)
        return outcome

    async def run(self, command: RunStage) -> Outcome:
        """Run a stage."""
        begun = await self._host.call(self.begin, command)
        return await begun.answer() if isinstance(begun, Later) else begun

    async def _elsewhere(
        self, command: RunStage, executor: Executor, forecast: Forecast
    ) -> Outcome:
        most = _MOST_STEPS if self._optimizations.stages else 1
        if len(command.steps) > most:
            parts = range(0, len(command.steps), most)
            steps = [command.steps[at : at + most] for at in parts]
            return await self.run_in_parts(command, [(self.run, one) for one in steps])
        began = time.perf_counter()
        held = await self._host.call_through(self._retainer.hold, command.mod)
        outcomes = StageOutcomes(list(held.held), len(command.steps))
        is_done = not outcomes.names
        if forecast.place is Place.UNKNOWN:
            with self._account.here(Reason.SMALL):
                is_done = await self._host.call(
                    begin_here,
                    command.steps,
                    held,
                    self._context,
                    executor,
                    self._retainer,
                    self._ledger,
                    outcomes,
                )
        if is_done:
            return await self._merged(command.steps, held, outcomes, began)
        left = {name: held.held[name] for name in outcomes.missing_names()}
        self._account.would_take(seconds_here(command.steps, left, self._adapter))
        outcome = await self._there(command, held, outcomes, executor, began)
        if forecast.seconds:
            args = (forecast, command.steps, command.mod, outcome, self._adapter)
            await self._host.call(correct, *args)
        return outcome

    async def run_in_parts(
        self, command: RunStage, parts: Sequence[tuple[RunPart, tuple[Pass, ...]]]
    ) -> Outcome:
        """Run some passes of a stage after the others, each part in its own way."""
        began = time.perf_counter()
        mod = command.mod
        records: list[StepRecord] = []
        for run, steps in parts:
            ends = steps is parts[-1][1]
            wanted, is_last = command.wanted and ends, command.is_last and ends
            outcome = await run(RunStage(steps, mod, wanted, is_last, is_part=True))
            mod = outcome.mod
            records.extend(outcome.records)
            if ends_the_stage(records[-1]):
                break
        return Outcome(mod, records, began, time.perf_counter())

    async def _there(
        self,
        command: RunStage,
        held: HeldModule,
        outcomes: StageOutcomes,
        executor: Executor,
        began: float,
        *,
        assumes: bool = True,
    ) -> Outcome:
        snapshot = await self._host.call_through(Snapshot.take, self._context)
        stage = PooledStage(
            command.steps,
            held,
            snapshot,
            self._retainer,
            outcomes,
            wanted=command.wanted,
            is_last=command.is_last,
            workers=executor.workers,
            assumes=assumes,
        )
        try:
            await self._host.call_through(stage.publish_spec)
        except StorageError as error:
            return await self._stay_here(command, Reason.NO_ROOM, str(error))
        except UnsendableError as error:
            return await self._stay_here(command, Reason.UNSENDABLE, str(error))
        except Exception as error:  # noqa: BLE001 -- looked into
            return await self._unsendable(command, snapshot, error)
        try:
            await self._pooled(stage, executor)
        except StorageError as error:
            return await self._stay_here(command, Reason.NO_ROOM, str(error))
        except UnsendableError as error:
            return await self._stay_here(command, Reason.UNSENDABLE, str(error))
        except UnloadableError as error:
            return await self._unloadable(command, error)
        except NoWorkersError as error:
            return await self._stay_here(command, Reason.NO_PROCESSES, error.cause)
        never_here = self._isolated or are_limited(stage.budgets)
        if assumes and outcomes.has_new_signature and never_here:
            # `settle` would do it in this process, where nobody can end a pass.
            outcomes.forget_those_that_looked()
            return await self._there(
                command, held, outcomes, executor, began, assumes=False
            )
        return await self._merged(
            command.steps, held, outcomes, began, settled=not assumes
        )

    async def _pooled(self, stage: PooledStage, executor: Executor) -> None:
        from parpass.runtime.coordinator import run_stage

        notes = Notes(self._retainer.folder)
        was_warm = executor.is_warm
        try:
            await self._host.run(run_stage, stage, executor, notes)
        finally:
            self._account.journey(stage.journey, stage.total, was_warm=was_warm)
            await self._host.call_through(stage.end)
        self._account.functions(stage.outcomes)
        for pass_name, attribute in stage.written:
            warn(
                f"pass '{pass_name}' changed its attribute '{attribute}' from one "
                "function to another, in a worker; what a function pass writes to "
                "itself does not come back, nor does it reach other workers. Count "
                "with ctx.count, or write a module pass",
                PassStateWarning,
            )

    async def _merged(
        self,
        steps: Sequence[Pass],
        mod: HeldModule,
        outcomes: StageOutcomes,
        began: float,
        *,
        settled: bool = False,
    ) -> Outcome:
        """Return what the outcomes of all functions, here or there, come to."""
        if not settled:
            await self._host.call(
                settle, outcomes, steps, mod, self._context, self._retainer
            )
        made = HeldModule(mod.base, outcomes.by_name())
        records = merged_records(steps, outcomes)
        self._account.work(records)
        if not self._optimizations.retained_bytes:
            await self._host.call_through(self._retainer.unpack_all, made)
        return Outcome(made, records, began, time.perf_counter())

    async def _unsendable(
        self, command: RunStage, snapshot: Snapshot, error: Exception
    ) -> Outcome:
        """Run passes that cannot travel here, and the others between them on the pool.

        Raises:
            RuntimeUseError: The settings cannot travel.
        """
        reason = snapshot.why_not_picklable()
        if reason is not None:
            raise RuntimeUseError(
                f"the settings cannot be sent to the workers: {reason}"
            ) from error
        reasons = [why_not_picklable(step, step.info.name) for step in command.steps]
        if not any(reasons):
            text = f"the module, {type(error).__name__}: {error}"
            return await self._stay_here(command, Reason.UNSENDABLE, text)
        return await self._partly_here(command, reasons, "be sent to the workers")

    async def _unloadable(self, command: RunStage, error: UnloadableError) -> Outcome:
        """Run here what cannot be loaded there: a pass, or if it is no pass all."""
        stuck = [one for one in program_entries() if str(one) == error.entry]
        for entry in stuck:
            keep_back(entry, error.why)
        if any(entry.has_state for entry in stuck):
            return await self.run(command)  # it does without, while nobody asks for it
        if error.step is None:
            return await self._stay_here(command, Reason.UNLOADABLE, str(error))
        reasons: list[str | None] = [None] * len(command.steps)
        reasons[error.step] = error.why
        return await self._partly_here(command, reasons, "be loaded by the workers")

    async def _partly_here(
        self, command: RunStage, reasons: Sequence[str | None], what: str
    ) -> Outcome:
        """Run passes that have a reason here, and the others between on the pool.

        Raises:
            RuntimeUseError: The run is isolated.
        """
        for step, reason in zip(command.steps, reasons, strict=True):
            name = step.info.name
            if reason is not None and self._isolated:
                raise self._not_isolated(f"pass '{name}' cannot {what}: {reason}")
            if reason is not None:
                self._account.stays(name, reason)
                warn(
                    f"pass '{name}' cannot {what}, so it runs in this process: "
                    f"{reason}",
                    UnpicklablePassWarning,
                )

        async def here(part: RunStage) -> Outcome:
            return await self._host.call(self._here, part, Reason.UNSENDABLE)

        stays = [reason is not None for reason in reasons]
        pairs = zip(stays, command.steps, strict=True)
        parts = [
            (here if stay else self.run, tuple(step for _, step in part))
            for stay, part in itertools.groupby(pairs, key=lambda pair: pair[0])
        ]
        return await self.run_in_parts(command, parts)

    async def _stay_here(
        self, command: RunStage, reason: Reason, detail: str
    ) -> Outcome:
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
        return await self._host.call(self._here, command, reason)

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
    ) -> Outcome:
        outcome = run_stage_in_place(
            command.steps,
            self.module(command.mod),
            self._context,
            self._adapter,
            self._checkpoint,
            budgets=budgets,
            finds_others=True,
            keeps=command.is_part,
        )
        self._account.stayed(reason, outcome)
        return outcome
