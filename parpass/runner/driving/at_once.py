"""Runs that are known to be small, and are over before a pool is even thought of.

They are what a serial run is, but for the account. Only making ready for workers,
though none are asked, would take longer than a pass on a small function. What turns out
not to be small is handed on as it is, its first command with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import sniffio

from parpass.runner.placing.forecasts import correct, forecast_of_small, why_here
from parpass.runner.report.account import Account
from parpass.transform import ModuleAdapter, Pass, PassContext, adapter_of
from parpass.transform.adapters import Unwrap, wrapped
from parpass.transform.budget import UNSET, are_limited, budgets_of, limits_of_call
from parpass.transform.plan.commands import Command, Plan, RunStage
from parpass.transform.plan.plan import plan
from parpass.transform.plan.serial import carry_out_serially, go_on
from parpass.transform.plan.steps import run_stage_in_place
from parpass.transform.saying.record import inside_function_pass

NOT_SMALL = object()


class Begun(msgspec.Struct):
    """A run that has begun, as far as its plan's first command.

    Attributes:
        unwrap: Gives what was asked for of the resulting module.
        adapter: How modules are handled.
        context: The settings in force.
        commands: The plan.
        advance: Has it go on from where it is, to its next command.
    """

    unwrap: Unwrap
    adapter: ModuleAdapter
    context: PassContext
    commands: Plan
    advance: Callable[[], Command]


def begin(mod: Any, root: Pass, context: PassContext) -> Begun:
    """Return a run of a pass on a module, whose plan has not begun."""
    module, unwrap = wrapped(mod)
    adapter = adapter_of(module, root.info.name)
    commands = plan(
        root, module, context, adapter, instrumented=not inside_function_pass()
    )
    return Begun(unwrap, adapter, context, commands, commands.__next__)


def may_be_small(context: PassContext) -> bool:
    """Return whether a run may be run at once: there is no more to it than its passes.

    The context is the current one.
    """
    return not (
        context.config
        or context.instruments
        or sniffio.thread_local.name == "trio"  # which must not be blocked
        or limits_of_call() is not UNSET
    )


def run_if_small(begun: Begun, account: Account) -> Any:
    """Run what is known to be small.

    Returns:
        The new module; `NOT_SMALL` if the run is to be gone on with.

    Raises:
        Exception: What a serial run raises.
    """
    adapter, context = begun.adapter, begun.context
    try:
        stage = begun.advance()
    except StopIteration as end:  # there is nothing to run
        return end.value
    begun.advance = [stage].pop  # which gives it to who goes on, and keeps nothing
    if type(stage) is not RunStage or not stage.ends_run:
        return NOT_SMALL
    steps, mod = stage.steps, stage.mod
    budgets, functions = budgets_of(steps, context.config), adapter.functions(mod)
    forecast = forecast_of_small(steps, functions, adapter)
    if forecast is None or are_limited(budgets):
        return NOT_SMALL

    def carry_out(command: Command) -> Any:
        if type(command) is not RunStage:
            return carry_out_serially(command, context, adapter)
        outcome = run_stage_in_place(command.steps, command.mod, context, adapter)
        account.stayed(why_here(len(functions), account.workers), outcome)
        if forecast.seconds and command is stage:
            correct(forecast, steps, mod, outcome, adapter)
        return outcome

    return go_on(begun.commands, begun.advance, carry_out)
