"""Stages of which it is known that they are best run in this process.

Most runs of small modules are made of nothing else, and are to take what a serial run
takes. So this needs nothing of what workers need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.runner.executor import Executor
from parpass.runner.placing.forecasts import (
    Forecast,
    Ledger,
    Place,
    best_place,
    correct,
    why_here,
)
from parpass.runner.report.account import Account
from parpass.runner.travel.retained import HeldModule
from parpass.transform import ModuleAdapter, PassContext
from parpass.transform.budget import budgets_of
from parpass.transform.plan.commands import RunStage, StageResult
from parpass.transform.plan.steps import run_stage_in_place


def run_if_best_here(
    command: RunStage,
    executor: Executor,
    context: PassContext,
    adapter: ModuleAdapter,
    ledger: Ledger,
    account: Account,
    module: Callable[[Any], Any],
    checkpoint: Callable[[int, Any], object] | None,
    *,
    isolated: bool,
) -> StageResult | Forecast:
    """Run a stage here if this is best, else return where it is to be run.

    Args:
        command: What was asked for.
        executor: The workers.
        context: The settings in force.
        adapter: How the module is handled.
        ledger: What the runner has lost without workers.
        account: How the time goes.
        module: Returns a module that may be held as an object.
        checkpoint: Called before each function; it may raise to end the run.
        isolated: Whether all function passes run in workers.
    """
    steps, mod = command.steps, command.mod
    budgets = budgets_of(steps, context.config)
    functions = mod.held if type(mod) is HeldModule else adapter.functions(mod)
    forecast = best_place(
        steps,
        budgets,
        functions,
        context,
        executor,
        adapter,
        ledger,
        isolated=isolated,
    )
    if forecast.place is not Place.HERE:
        return forecast
    reason = why_here(len(functions), executor.workers)
    outcome = run_stage_in_place(
        steps, module(mod), context, adapter, checkpoint, budgets=budgets
    )
    account.stayed(reason, outcome)
    if forecast.seconds:
        correct(forecast, steps, mod, outcome, adapter)
    return outcome
