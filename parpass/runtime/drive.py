"""The parallel driver: carries out the commands of the same plan as the serial one.

It is written once, as a coroutine. What waiting means is the host's (`hosts`), so
it runs under trio, under asyncio, and in one go when called from a plain thread.
"""

from __future__ import annotations

import functools
import itertools
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from parpass.errors import PassStateWarning, RuntimeUseError, UnpicklablePassWarning
from parpass.runtime.executor import Executor
from parpass.runtime.in_process import reproduce, settle
from parpass.runtime.merge import merged_records
from parpass.runtime.pooled import PooledStage
from parpass.runtime.retained import HeldModule, Retainer
from parpass.runtime.shipping import why_not_picklable
from parpass.runtime.small_work import Ledger, Place, begin_here, best_place
from parpass.runtime.snapshot import Snapshot
from parpass.runtime.stage import FunctionOutcome
from parpass.runtime.store import Note
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import (
    ends_the_stage,
    inside_function_pass,
    run_module_pass,
    run_stage_in_place,
)
from parpass.transform.collector import resting_collector
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.plan import (
    CallHook,
    Command,
    NameFunctions,
    Outcome,
    Render,
    Reproduce,
    RunModulePass,
    RunStage,
    StepRecord,
    TellVerdicts,
    plan,
)
from parpass.transform.serial import call_hook

if TYPE_CHECKING:
    from parpass.runtime.contract_check import ContractChecker
    from parpass.runtime.hosts import Host

# Passes that go together at most: a pass that reads other functions has the passes
# before it run on them, and those read others, as deep on Python's stack as this.
_MOST_STEPS = 16

Waiter = Callable[[], Awaitable[Any]]


def _contract_checker(context: PassContext) -> ContractChecker | None:
    if not context.config.get(CHECK_CONTRACT) or inside_function_pass():
        return None
    from parpass.runtime.contract_check import ContractChecker

    return ContractChecker()


def _advanced(advance: Callable[[], Waiter]) -> Waiter | Outcome:
    try:
        return advance()
    except StopIteration as end:
        return end.value


class Drive:
    """One run of a pipeline over a pool.

    Args:
        host: Where it is run from.
        executor: The pool; None to stay in process.
        context: The settings in force.
        adapter: How the module is handled.
        ledger: What the runner has lost without workers.
    """

    def __init__(
        self,
        host: Host,
        executor: Executor | None,
        context: PassContext,
        adapter: ModuleAdapter,
        ledger: Ledger,
    ) -> None:
        self._host = host
        self._executor = executor
        self._context = context
        self._adapter = adapter
        self._ledger = ledger
        self._retainer = Retainer(adapter)
        self._checker = _contract_checker(context)

    async def run(self, root: Pass, mod: Any) -> Any:
        """Run a pass on a module and return the new module."""
        commands = plan(
            root,
            mod,
            self._context,
            self._adapter,
            instrumented=not inside_function_pass(),
        )
        try:
            command = next(commands)
            while True:
                try:
                    answer = await self._carry_out(command)
                except BaseException as error:  # noqa: BLE001 -- the plan raises it
                    command = commands.throw(error)
                else:
                    command = commands.send(answer)
        except StopIteration as end:
            return await self._module(end.value)
        finally:
            if self._checker is not None:
                await self._host.call_through(self._checker.close)
            await self._host.call_through(self._retainer.close)

    async def _carry_out(self, command: Command) -> Any:
        match command:
            case CallHook():
                seen = await self._module(command.mod)
                return await self._host.call(call_hook, command, seen)
            case RunStage():
                if self._checker is not None:
                    return await self._checked_stage(command, self._checker)
                return await self._stage(command)
            case RunModulePass():
                return await self._module_pass(command)
            case NameFunctions():
                held = await self._host.call_through(self._retainer.hold, command.mod)
                return list(held.held)
            case TellVerdicts():
                return await self._host.call(command.tell)
            case Reproduce():
                held = await self._host.call_through(self._retainer.hold, command.mod)
                args = (command, held, self._context, self._retainer)
                return await self._host.call(reproduce, *args)
            case Render():
                seen = await self._module(command.mod)
                return await self._host.call(command.render, seen, self._context)

    async def _checked_stage(
        self, command: RunStage, checker: ContractChecker
    ) -> Outcome:
        """Run passes one by one, each after a check of its contract."""

        async def run_checked(one: RunStage) -> Outcome:
            began = time.perf_counter()
            (step,) = one.steps
            mod = await self._module(one.mod)
            snapshot = await self._host.call_through(Snapshot.take, self._context)
            error = await self._host.call(
                checker.check, step, mod, self._adapter, snapshot
            )
            if error is None:
                return await self._stage(one)
            record = StepRecord(step.info.name, failure=error, function=error.function)
            return Outcome(mod, [record], began, time.perf_counter())

        parts = [(run_checked, (step,)) for step in command.steps]
        return await self._in_parts(command, parts)

    async def _module(self, mod: Any) -> Any:
        if not isinstance(mod, HeldModule) or mod.made is not None:
            return self._retainer.module(mod)
        return await self._host.call_through(self._retainer.module, mod)

    async def _module_pass(self, command: RunModulePass) -> Outcome:
        mod = await self._module(command.mod)
        answer = await self._host.call(
            run_module_pass, command.pass_, mod, self._context, self._adapter
        )
        if isinstance(answer, Outcome):
            return answer
        waiting = answer.waiting
        advance = waiting.__next__
        while True:
            # A StopIteration cannot come out of a coroutine, so it is caught below it.
            answer = await self._host.call(_advanced, advance)
            if isinstance(answer, Outcome):
                return answer
            try:
                value = await self._host.wait(answer)
            except Exception as error:  # noqa: BLE001 -- the pass's own, for its record
                advance = functools.partial(waiting.throw, error)
            else:
                advance = functools.partial(waiting.send, value)

    async def _stage(self, command: RunStage) -> Outcome:
        if self._executor is None:
            return await self._stage_here(command)
        if len(command.steps) > _MOST_STEPS:
            parts = range(0, len(command.steps), _MOST_STEPS)
            steps = [command.steps[at : at + _MOST_STEPS] for at in parts]
            return await self._in_parts(command, [(self._stage, one) for one in steps])
        began = time.perf_counter()
        place = best_place(
            command.steps,
            command.mod,
            self._context,
            self._executor,
            self._adapter,
            self._ledger,
        )
        if place is Place.HERE:
            return await self._stage_here(command)
        held = await self._host.call_through(self._retainer.hold, command.mod)
        done: dict[str, FunctionOutcome] = {}
        if place is Place.UNKNOWN:
            done = await self._host.call(
                begin_here,
                command.steps,
                held,
                self._context,
                self._executor,
                self._retainer,
                self._ledger,
            )
        if len(done) == len(held.held):
            return await self._merged(command.steps, held, done, began)
        snapshot = await self._host.call_through(Snapshot.take, self._context)
        stage = PooledStage(
            command.steps, held, snapshot, self._retainer, done, wanted=command.wanted
        )
        try:
            await self._host.call_through(stage.publish_spec)
        except Exception as error:  # noqa: BLE001 -- looked into
            return await self._unsendable_stage(command, snapshot, error)
        return await self._pooled(stage, held, self._executor, began)

    async def _pooled(
        self, stage: PooledStage, mod: HeldModule, executor: Executor, began: float
    ) -> Outcome:
        from parpass.runtime.coordinator import run_stage

        notes = functools.partial(Note.take_all, self._retainer.folder)
        try:
            # For the whole stage: at the end of each short rest all that was made in
            # it would be gone through at once.
            with resting_collector():
                await self._host.run(run_stage, stage, executor, notes)
        finally:
            await self._host.call_through(stage.end)
        for pass_name, attribute in stage.written:
            warnings.warn(
                f"pass '{pass_name}' wrote its attribute '{attribute}' in a worker; "
                "what a function pass writes to itself does not come back. Count with "
                "ctx.count, or write a module pass",
                PassStateWarning,
                stacklevel=2,
            )
        return await self._merged(stage.steps, mod, stage.outcomes, began)

    async def _merged(
        self,
        steps: Sequence[Pass],
        mod: HeldModule,
        outcomes: dict[str, FunctionOutcome],
        began: float,
    ) -> Outcome:
        """Return what the outcomes of all functions, here or there, come to."""
        await self._host.call(
            settle, outcomes, steps, mod, self._context, self._retainer
        )
        made = HeldModule(mod.base, {n: outcomes[n].function for n in mod.held})
        records = merged_records(steps, list(mod.held), outcomes)
        return Outcome(made, records, began, time.perf_counter())

    async def _unsendable_stage(
        self, command: RunStage, snapshot: Snapshot, error: Exception
    ) -> Outcome:
        """Run passes that cannot travel here, and the others between them on the pool.

        Raises:
            RuntimeUseError: The settings cannot travel.
            Exception: Something else cannot.
        """
        reason = snapshot.why_not_picklable()
        if reason is not None:
            raise RuntimeUseError(
                f"the settings cannot be sent to the workers: {reason}"
            ) from error
        stays: list[bool] = []
        for step in command.steps:
            reason = why_not_picklable(step, step.info.name)
            stays.append(reason is not None)
            if reason is not None:
                warnings.warn(
                    f"pass '{step.info.name}' cannot be sent to the workers, so it "
                    f"runs in this process: {reason}",
                    UnpicklablePassWarning,
                    stacklevel=2,
                )
        if not any(stays):
            error.add_note("while a stage was packed for the workers")
            raise error
        pairs = zip(stays, command.steps, strict=True)
        parts = [
            (self._stage_here if here else self._stage, tuple(step for _, step in part))
            for here, part in itertools.groupby(pairs, key=lambda pair: pair[0])
        ]
        return await self._in_parts(command, parts)

    async def _in_parts(
        self,
        command: RunStage,
        parts: Sequence[
            tuple[Callable[[RunStage], Awaitable[Outcome]], tuple[Pass, ...]]
        ],
    ) -> Outcome:
        began = time.perf_counter()
        mod = command.mod
        records: list[StepRecord] = []
        for run, steps in parts:
            outcome = await run(RunStage(steps, mod, command.wanted))
            mod = outcome.mod
            records.extend(outcome.records)
            if ends_the_stage(records[-1]):
                break
        return Outcome(mod, records, began, time.perf_counter())

    async def _stage_here(self, command: RunStage) -> Outcome:
        return await self._host.call(
            run_stage_in_place,
            command.steps,
            await self._module(command.mod),
            self._context,
            self._adapter,
            self._retainer.check_open,
        )
