"""Runs that are known to be small, and are over before a pool is even thought of.

They are what a serial run is, but for the account. Only making ready for workers,
though none are asked, would take longer than a pass on a small function.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from trio.lowlevel import in_trio_run

from parpass.runtime.account import Account, seconds_by_pass
from parpass.runtime.report import RunReport
from parpass.runtime.small_work import correct, forecast_of_small, why_here
from parpass.transform import Pass, PassContext
from parpass.transform.adapter import adapter_of, wrapped
from parpass.transform.apply import inside_function_pass, run_stage_in_place
from parpass.transform.budget import UNSET, are_limited, budgets_of, limits_of_call
from parpass.transform.plan import Command, RunStage, plan
from parpass.transform.serial import carry_out_serially, go_on

NOT_SMALL = object()


class SmallRun:
    """How a run that was small went.

    Args:
        workers: How many might have been used.

    Attributes:
        has_begun: Whether the run was small, so that this tells of one.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.has_begun = False
        self._functions = 0
        self._began = self._ended = 0.0
        self._passes: Sequence[tuple[str, float]] = ()

    def begin(self, functions: int) -> None:
        """Take down that a run on so many functions begins."""
        self.has_begun = True
        self._functions = functions
        self._began = self._ended = time.perf_counter()

    def end(self, passes: Sequence[tuple[str, float]]) -> None:
        """Take down that it is over: its passes, and the seconds of each."""
        self._ended = time.perf_counter()
        self._passes = passes

    def report(self) -> RunReport:
        """Return the account of the run."""
        account = Account(self._workers)
        seconds = self._ended - self._began
        reason = why_here(self._functions, self._workers)
        account.stayed(reason, seconds, self._passes)
        account.end(seconds)
        return account.report()


def run_if_small(mod: Any, root: Pass, told: SmallRun) -> Any:
    """Run a pass on a module if it is known to be small, under the current context.

    Returns:
        The new module; `NOT_SMALL` if nothing was run.

    Raises:
        Exception: What a serial run raises.
    """
    context = PassContext.current()
    if (
        context.config
        or context.instruments
        or in_trio_run()
        or inside_function_pass()
        or limits_of_call() is not UNSET
    ):
        return NOT_SMALL
    module, unwrap = wrapped(mod)
    adapter = adapter_of(module, root.info.name)
    commands = plan(root, module, context, adapter)
    stage = next(commands, None)
    if type(stage) is not RunStage or not stage.ends_run:
        return NOT_SMALL
    budgets = budgets_of(stage.steps, context.config)
    functions = adapter.functions(module)
    forecast = forecast_of_small(stage.steps, functions, adapter)
    if forecast is None or are_limited(budgets):
        return NOT_SMALL

    def carry_out(command: Command) -> Any:
        if type(command) is not RunStage:
            return carry_out_serially(command, context, adapter)
        outcome = run_stage_in_place(
            command.steps, module, context, adapter, budgets=budgets, finds_others=True
        )
        told.end(seconds_by_pass(outcome.records))
        correct(forecast, command.steps, module, outcome, adapter)
        return outcome

    told.begin(len(functions))
    return unwrap(go_on(commands, lambda: stage, carry_out))
