"""The parallel driver: carries out the commands of the same plan as the serial one.

What needs no waiting is carried out in one go, in a thread of the host's (`hosts`);
what does (the workers, an async module pass) is awaited. What that means is the host's,
so this runs under trio, under asyncio, and called from a plain thread.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from parpass.errors import InternalError
from parpass.runner.driving.best_here import run_if_best_here
from parpass.runner.driving.in_process import InProcess
from parpass.runner.driving.stages import Stages
from parpass.runner.executor import Executor
from parpass.runner.placing.forecasts import Forecast, Ledger
from parpass.runner.report.account import Account
from parpass.runner.stage.here import reproduce
from parpass.runner.travel.retained import HeldModule, Retainer
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import ModuleAdapter, PassContext
from parpass.transform.config import CHECK_CONTRACT
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.commands import (
    CallHook,
    Command,
    Emit,
    NameFunctions,
    Plan,
    Render,
    Reproduce,
    RunModulePass,
    RunStage,
    StageResult,
    StepRecord,
    TellVerdicts,
)
from parpass.transform.plan.module_body import run_module_pass
from parpass.transform.plan.serial import Later, call_hook, go_on
from parpass.transform.saying.record import inside_function_pass

if TYPE_CHECKING:
    from parpass.runner.check.contract_check import ContractChecker
    from parpass.runner.driving.hosts import Host

Waiter = Callable[[], Awaitable[Any]]
ValueT = TypeVar("ValueT")


def _completed(run: Coroutine[Any, Any, ValueT]) -> ValueT:
    """Return the value of a coroutine that never suspends: its host blocks instead."""
    try:
        run.send(None)
    except StopIteration as end:
        return end.value
    run.close()
    raise InternalError("a blocking host suspended")


def _contract_checker(context: PassContext) -> ContractChecker | None:
    if not context.config.get(CHECK_CONTRACT) or inside_function_pass():
        return None
    # Few ask for it, and it has a pool of its own.
    from parpass.runner.check.contract_check import ContractChecker

    return ContractChecker()


def _advanced(advance: Callable[[], Waiter]) -> Waiter | StageResult:
    try:
        return advance()
    except StopIteration as end:
        return end.value


def _as_it_is(mod: Any) -> Any:
    return mod


class Drive:
    """One run of a pipeline over a pool.

    Args:
        host: Where it is run from.
        executor: The pool; None to stay in process.
        context: The settings in force.
        adapter: How the module is handled.
        ledger: What the runner has lost without workers.
        isolated: Whether all function passes run in workers.
        began: When the run began, by `time.perf_counter()`; by default now.

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
        *,
        isolated: bool = False,
        began: float | None = None,
    ) -> None:
        self._host = host
        self._executor = executor
        self._context = context
        self._adapter = adapter
        self._ledger = ledger
        self._isolated = isolated
        self._retainer = Retainer(adapter, optimizations_in(context.config))
        self.account = Account(0 if executor is None else executor.workers, began)
        self._checker = _contract_checker(context)

    # Not even made for a run that does not come to need them, as small ones do not.
    @functools.cached_property
    def _in_process(self) -> InProcess:
        return InProcess(
            self._host,
            self._context,
            self._adapter,
            self._ledger,
            self._retainer,
            self.account,
        )

    @functools.cached_property
    def _stages(self) -> Stages:
        return Stages(
            self._host,
            self._executor,
            self._context,
            self._adapter,
            self._ledger,
            self._retainer,
            self.account,
            self._in_process,
            isolated=self._isolated,
        )

    async def run(self, commands: Plan) -> Any:
        """Carry out the commands of a plan and return the new module."""
        try:
            advance = commands.__next__
            # In no variable, for it holds a module.
            return await self._rest(
                commands, await self._host.call(self._go_on, commands, advance)
            )
        finally:
            if self._is_open_after_end():
                await self._close()

    def run_blocking(self, commands: Plan) -> Any:
        """Do the same where the host blocks; small work begins no coroutine."""
        try:
            end = self._go_on(commands, commands.__next__)
            if type(end) is not Later:
                return end
            rest = self._rest(commands, end)
            del end  # it holds a module
            return _completed(rest)
        finally:
            if self._is_open_after_end():
                _completed(self._close())

    async def _rest(self, commands: Plan, end: Any) -> Any:
        """Go on from the first command that has to be waited for, if there is one."""
        while type(end) is Later:
            try:
                answer = await end.answer()
            except Exception as error:  # noqa: BLE001 -- the plan raises it again
                advance = functools.partial(commands.throw, error)
            else:
                advance = functools.partial(commands.send, answer)
            end = await self._host.call(self._go_on, commands, advance)
        return end

    def _is_open_after_end(self) -> bool:
        """Take down that the run is over; return whether something must be closed."""
        self.account.end()
        self._retainer.end()
        return self._checker is not None or self._retainer.has_folder

    async def _close(self) -> None:
        if self._checker is not None:
            await self._host.call_through(self._checker.close)
        if self._retainer.has_folder:
            await self._host.call_through(self._retainer.close)

    def _go_on(self, commands: Plan, advance: Callable[[], Command]) -> Any:
        end = go_on(commands, advance, self._carry_out)
        return self._in_process.module(end) if type(end) is HeldModule else end

    def _carry_out(self, command: Command) -> Any:
        self._retainer.check_open()
        match command:
            case RunStage():
                if self._checker is None:
                    return self._begin(command)
                checked = functools.partial(self._checked_stage, command, self._checker)
                return Later(checked)
            case RunModulePass():
                return self._module_pass(command)
            case CallHook():
                return self._hook(command)
            case NameFunctions():
                return list(self._retainer.hold(command.mod).held)
            case TellVerdicts():
                return command.tell()
            case Reproduce():
                held = self._retainer.hold(command.mod)
                verdicts = self._stages.verdicts
                return reproduce(command, held, self._context, self._retainer, verdicts)
            case Emit():
                shown = (
                    self._in_process.module(command.mod)
                    if command.shows_module
                    else None
                )
                return command.emit(shown)
            case Render():
                return command.render(
                    self._in_process.module(command.mod), self._context
                )

    def _begin(self, command: RunStage) -> StageResult | Later:
        executor = self._executor
        is_small_so_far = "_stages" not in vars(self) and not self._host.abandons
        if executor is None or not is_small_so_far:
            return self._stages.begin(command)
        begun = run_if_best_here(
            command,
            executor,
            self._context,
            self._adapter,
            self._ledger,
            self.account,
            _as_it_is,
            None,
            isolated=self._isolated,
        )
        if isinstance(begun, Forecast):
            return self._stages.elsewhere(command, executor, begun)
        return begun

    def _hook(self, command: CallHook) -> Any:
        seen = self._in_process.module(command.mod)
        hooks = command.hooks
        with self.account.hook(hooks.name, observes_ir=hooks.observes_ir):
            return call_hook(command, seen)

    async def _checked_stage(
        self, command: RunStage, checker: ContractChecker
    ) -> StageResult:
        """Check the first pass and run it; the plan asks for the others."""
        began = time.perf_counter()
        first, step = command.first(1), command.steps[0]
        mod = await self._host.call(self._in_process.module, command.mod)
        snapshot = await self._host.call_through(Snapshot.take, self._context)
        error = await self._host.call(checker.check, step, mod, self._adapter, snapshot)
        if error is None:
            return await self._stages.run(first)
        record = StepRecord(step.info.name, failure=error, function=error.function)
        return StageResult(mod, [record], began, time.perf_counter())

    def _module_pass(self, command: RunModulePass) -> StageResult | Later:
        mod = self._in_process.module(command.mod)
        name = command.pass_.info.name
        with self.account.module_pass(name):
            answer = run_module_pass(command.pass_, mod, self._context, self._adapter)
        if isinstance(answer, StageResult):
            return answer
        return Later(functools.partial(self._async_module_pass, name, answer.waiting))

    async def _async_module_pass(
        self, name: str, waiting: Generator[Waiter, Any, StageResult]
    ) -> StageResult:
        with self.account.module_pass(name):
            return await self._waited_for(waiting)

    async def _waited_for(
        self, waiting: Generator[Waiter, Any, StageResult]
    ) -> StageResult:
        advance = waiting.__next__
        while True:
            # A StopIteration cannot come out of a coroutine, so it is caught below it.
            answer = await self._host.call(_advanced, advance)
            if isinstance(answer, StageResult):
                return answer
            try:
                value = await self._host.wait(answer)
            except Exception as error:  # noqa: BLE001 -- the pass's own, for its record
                advance = functools.partial(waiting.throw, error)
            else:
                advance = functools.partial(waiting.send, value)
