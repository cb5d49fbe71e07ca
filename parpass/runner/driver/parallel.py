"""The parallel driver: carries out the commands of the plan, over a pool of workers.

Commands that need no waiting are carried out in one go, in a thread of the async
backend (`backends`); workers and async module passes are awaited by it. So this runs
under trio, under asyncio, and from a plain thread.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parpass.runner.driver.local import reproduce
from parpass.runner.driver.stages import StageExecutor
from parpass.runner.driver.state import RunState
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.observers import Activity, timing
from parpass.transform.adapter_registry import Unwrap
from parpass.transform.capture.recorder import inside_function_pass
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.mutability import copying_seconds
from parpass.transform.plan.commands import (
    Call,
    CallHook,
    Command,
    HandOut,
    NameFunctions,
    Plan,
    Reproduce,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
    TakeIn,
)
from parpass.transform.plan.invoke import PendingModulePass, run_module_pass
from parpass.transform.plan.serial import Suspended, drive_plan

if TYPE_CHECKING:
    from parpass.runner.check.checker import ContractChecker


class ParallelDriver:
    """Carries out the commands of a plan over a pool of workers.

    Args:
        unwrap: Makes what the caller gets of the new module.

    Attributes:
        adapter: The adapter of the run.
    """

    def __init__(self, state: RunState, unwrap: Unwrap) -> None:
        self._state, self._unwrap = state, unwrap
        self.adapter = state.adapter
        self._backend = state.backend
        self._store = state.store
        self._stages = StageExecutor(state)
        self._start_stage = self._stages.start
        self._checker: ContractChecker | None = None
        if state.context.config.get(CHECK_CONTRACT) and not inside_function_pass():
            # Few ask for it, and it has a pool of its own.
            from parpass.runner.check.checker import ContractChecker

            self._checker = ContractChecker()
            self._start_stage = self._start_checked

    async def run(self, commands: Plan) -> Any:
        """Carry out the commands of a plan, and return what the caller gets."""
        state = self._state
        policy = state.policy
        workers = policy.executor.workers if policy.why_serial is None else 0
        state.observers.run_began(workers, state.backend.poster())
        try:
            made = await self._carry_out(commands)
        except BaseException as error:
            state.observers.run_ended(error, copying_seconds(state.adapter))
            raise
        state.observers.run_ended(None, copying_seconds(state.adapter))
        return made

    async def _carry_out(self, commands: Plan) -> Any:
        call, call_shielded = self._backend.call, self._backend.call_shielded
        try:
            end = await call(self._advance_plan, commands, commands.__next__)
            while type(end) is Suspended:
                try:
                    answer = await end.answer()
                except Exception as error:  # noqa: BLE001 -- the plan raises it again
                    advance = functools.partial(commands.throw, error)
                else:
                    advance = functools.partial(commands.send, answer)
                    del answer  # it holds a module
                end = await call(self._advance_plan, commands, advance)
            return end
        except Exception:
            with contextlib.suppress(Exception):  # the run's own error says more
                await call_shielded(self._keep_results)
            raise
        finally:
            self._store.has_ended = True
            if self._checker is not None:
                await call_shielded(self._checker.close)
            if self._store.has_directory:
                await call_shielded(self._store.close)

    def _advance_plan(self, commands: Plan, advance: Callable[[], Command]) -> Any:
        end = drive_plan(commands, advance, self._execute)
        if type(end) is Suspended:
            return end
        made = self._unwrap(self._state.load(end))
        self._keep_results()
        return made

    def _keep_results(self) -> None:
        """Keep results for later runs; those of a failed run, too."""
        cache = self._state.cache
        if cache is not None:
            cache.commit()
            self._state.observers.cache_used(cache.figures)

    def _execute(self, command: Command) -> Any:
        self._store.check_open()
        match command:
            case RunStage():
                return self._start_stage(command)
            case RunModulePass():
                return self._module_pass(command)
            case CallHook():
                return self._hook(command)
            case TakeIn():
                return self._store.take_in(command.mod)
            case HandOut():
                return self._store.own_functions(command.mod)
            case NameFunctions():
                return list(self._store.wrap(command.mod).handles)
            case Reproduce():
                return reproduce(self._state, command, self._stages.quarantined)
            case Call():
                return command.call(self._state.load(command.mod))

    def _hook(self, command: CallHook) -> Any:
        seen = self._state.load(command.mod)
        hooks = command.hooks
        activity = Activity.INSTRUMENT
        if hooks.observes_ir:
            activity = Activity.READING_INSTRUMENT
        with timing(self._state.observers, activity, hooks.name):
            return command.call(seen)

    def _start_checked(self, command: RunStage) -> StageResult | Suspended:
        return Suspended(functools.partial(self._checked_stage, command))

    async def _checked_stage(self, command: RunStage) -> StageResult:
        """Check the first pass and run it; the plan asks for the others."""
        assert self._checker is not None
        began = time.perf_counter()
        first, step = command.first(1), command.steps[0]
        mod = await self._backend.call(self._state.load, command.mod)
        snapshot = await self._backend.call_shielded(Snapshot.take, self._state.context)
        error = await self._backend.call(
            self._checker.check, step, mod, self._state.adapter, snapshot
        )
        if error is None:
            return await self._stages.run(first)
        record = StepRecord(step.info.name, failure=error, function=error.function)
        return StageResult(mod, [record], began, time.perf_counter())

    def _module_pass(self, command: RunModulePass) -> StageResult | Suspended:
        mod = self._state.load(command.mod)
        name = command.pass_.info.name
        observers = self._state.observers
        observers.module_pass_began(name)
        with timing(observers, Activity.MODULE_PASS, name):
            answer = run_module_pass(
                command.pass_,
                mod,
                self._state.context,
                self._state.adapter,
                self._state.analyses,
            )
        if isinstance(answer, StageResult):
            return answer
        return Suspended(functools.partial(self._async_module_pass, name, answer))

    async def _async_module_pass(
        self, name: str, pending: PendingModulePass
    ) -> StageResult:
        backend = self._backend
        with (
            timing(self._state.observers, Activity.MODULE_PASS, name),
            contextlib.closing(pending),
        ):
            try:
                result = await backend.wait(pending.wait)
            # The pass's own, for its record; any other cancels the run.
            except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
                return await backend.call(pending.finish, None, error)
            return await backend.call(pending.finish, result)
