"""The parallel driver: carries out the commands of the same plan as the serial one.

It is written once, as a coroutine. What waiting means is the host's (`hosts`), so
it runs under trio, under asyncio, and in one go when called from a plain thread.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from parpass.runtime.account import Account
from parpass.runtime.executor import Executor
from parpass.runtime.in_process import reproduce
from parpass.runtime.retained import Retainer
from parpass.runtime.small_work import Ledger
from parpass.runtime.snapshot import Snapshot
from parpass.runtime.stages import Stages
from parpass.transform import ModuleAdapter, Pass, PassContext
from parpass.transform.apply import (
    inside_function_pass,
    run_module_pass,
)
from parpass.transform.collector import working_collector
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan import (
    CallHook,
    Command,
    Emit,
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

    Attributes:
        account: How the time goes.
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
        self._context = context
        self._adapter = adapter
        self._optimizations = optimizations_in(context.config)
        self._retainer = Retainer(adapter, self._optimizations)
        self.account = Account(0 if executor is None else executor.workers)
        self._stages = Stages(
            host,
            executor,
            context,
            adapter,
            ledger,
            self._retainer,
            self.account,
        )
        self._checker = _contract_checker(context)

    async def run(self, root: Pass, mod: Any) -> Any:
        """Run a pass on a module and return the new module."""
        if self._optimizations.resting_collector:
            return await self._run(root, mod)
        with working_collector():
            return await self._run(root, mod)

    async def _run(self, root: Pass, mod: Any) -> Any:
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
            return await self._stages.module(end.value)
        finally:
            self.account.end()
            if self._checker is not None:
                await self._host.call_through(self._checker.close)
            await self._host.call_through(self._retainer.close)

    async def _carry_out(self, command: Command) -> Any:
        match command:
            case CallHook():
                return await self._hook(command)
            case RunStage():
                if self._checker is not None:
                    return await self._checked_stage(command, self._checker)
                return await self._stages.run(command)
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
            case Emit():
                return await self._host.call(command.emit)
            case Render():
                seen = await self._stages.module(command.mod)
                return await self._host.call(command.render, seen, self._context)

    async def _hook(self, command: CallHook) -> Any:
        seen = await self._stages.module(command.mod)
        hooks = command.hooks
        with self.account.hook(hooks.name, observes_ir=hooks.observes_ir):
            return await self._host.call(call_hook, command, seen)

    async def _checked_stage(
        self, command: RunStage, checker: ContractChecker
    ) -> Outcome:
        """Run passes one by one, each after a check of its contract."""

        async def run_checked(one: RunStage) -> Outcome:
            began = time.perf_counter()
            (step,) = one.steps
            mod = await self._stages.module(one.mod)
            snapshot = await self._host.call_through(Snapshot.take, self._context)
            error = await self._host.call(
                checker.check, step, mod, self._adapter, snapshot
            )
            if error is None:
                return await self._stages.run(one)
            record = StepRecord(step.info.name, failure=error, function=error.function)
            return Outcome(mod, [record], began, time.perf_counter())

        parts = [(run_checked, (step,)) for step in command.steps]
        return await self._stages.run_in_parts(command, parts)

    async def _module_pass(self, command: RunModulePass) -> Outcome:
        mod = await self._stages.module(command.mod)
        with self.account.module_pass(command.pass_.info.name):
            return await self._run_module_pass(command, mod)

    async def _run_module_pass(self, command: RunModulePass, mod: Any) -> Outcome:
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
