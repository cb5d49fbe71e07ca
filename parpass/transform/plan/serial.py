"""The serial driver: every command of the plan, in place.

This is the definition of what a pipeline does; the parallel driver must agree with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from parpass.errors import RuntimeUseError
from parpass.transform import clock
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapters import adapter_of, wrapped
from parpass.transform.context import PassContext
from parpass.transform.passes import Pass
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
    TellVerdicts,
)
from parpass.transform.plan.module_body import run_module_pass
from parpass.transform.plan.plan import plan
from parpass.transform.plan.steps import run_stage_in_place
from parpass.transform.saying.interception import marking
from parpass.transform.saying.record import inside_function_pass


def run_serial(root: Pass, given: Any) -> Any:
    """Run a pass on a module in this thread, under the current context."""
    context = PassContext.current()
    mod, unwrap = wrapped(given)
    adapter = adapter_of(mod, root.info.name)
    commands = plan(
        root, mod, context, adapter, instrumented=not inside_function_pass()
    )

    def carry_out(command: Command) -> Any:
        return carry_out_serially(command, context, adapter)

    return unwrap(go_on(commands, commands.__next__, carry_out))


class Later(msgspec.Struct, frozen=True):
    """In place of an answer to a command: what has to be awaited for it."""

    answer: Callable[[], Awaitable[Any]]


def go_on(
    commands: Plan,
    advance: Callable[[], Command],
    carry_out: Callable[[Command], Any],
) -> Any:
    """Carry out the commands of a plan in place.

    Args:
        commands: The plan.
        advance: Has it go on from where it is, to its next command.
        carry_out: Returns the answer to a command, or a `Later`.

    Returns:
        The new module; or the `Later`, for a driver that goes on when it has the
        answer.
    """
    try:
        with marking:  # here, since of module passes each would pay for it
            command = advance()
            while True:
                try:
                    answer = carry_out(command)
                except BaseException as error:  # noqa: BLE001 -- the plan raises it again
                    command = commands.throw(error)
                    continue
                if type(answer) is Later:
                    return answer
                command = commands.send(answer)
    except StopIteration as end:
        return end.value


def carry_out_serially(
    command: Command, context: PassContext, adapter: ModuleAdapter
) -> Any:
    """Return the answer to a command, in the serial run's way."""
    match command:
        case RunModulePass():
            return _run_module_pass(command, context, adapter)
        case RunStage():
            return run_stage_in_place(command.steps, command.mod, context, adapter)
        case CallHook():
            return call_hook(command, command.mod)
        case NameFunctions():
            return list(adapter.functions(command.mod))
        case TellVerdicts():
            return command.tell()
        case Reproduce():
            return _reproduce(command, context, adapter)
        case Emit():
            return command.emit(command.mod)
        case Render():
            return command.render(command.mod, context)


def _reproduce(
    command: Reproduce, context: PassContext, adapter: ModuleAdapter
) -> None:
    before, mod = command.steps[: command.at], command.mod
    if before:
        # It has been heard, so nobody emits what is kept.
        mod = run_stage_in_place(before, mod, context, adapter, keeps=True).mod
    command.write(mod, context, adapter)


def call_hook(command: CallHook, mod: Any) -> Any:
    """Call the hook of a command, with the clock that it asks for."""
    if command.moment is None:
        return command.call(mod)
    token = clock.replayed.set(command.moment)
    try:
        return command.call(mod)
    finally:
        clock.replayed.reset(token)


def _run_module_pass(
    command: RunModulePass, context: PassContext, adapter: ModuleAdapter
) -> StageResult:
    answer = run_module_pass(command.pass_, command.mod, context, adapter)
    if isinstance(answer, StageResult):
        return answer
    name = command.pass_.info.name
    try:
        next(answer.waiting)
        answer.waiting.throw(
            RuntimeUseError(
                f"module pass '{name}' is async, and nothing here can wait for it; use "
                "'await parpass.run_pipeline(mod, ...)' or "
                "'parpass.run_pipeline_sync(mod, ...)'"
            )
        )
    except StopIteration as end:
        return end.value
    raise AssertionError("a module pass waits once at most")
