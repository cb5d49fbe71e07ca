"""Function-wise passes on all functions of a module, here: the serial definition."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from parpass.diagnostic import renderer_is_overridden, tell_all
from parpass.errors import BudgetWarning
from parpass.errors.warning import warn
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.budget import Budget, budgets_of
from parpass.transform.context import PassContext
from parpass.transform.passes import Pass
from parpass.transform.plan.bodies import applies_to, transform_function
from parpass.transform.plan.commands import StageResult, StepRecord
from parpass.transform.plan.within_budget import are_enforced_here
from parpass.transform.saying.interception import intercepting, keeping, marking
from parpass.transform.saying.record import (
    Recorder,
    function_pass_body,
    has_error,
    inside_function_pass,
    recording,
)


def run_stage_in_place(
    steps: Sequence[Pass],
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[int, Any], object] | None = None,
    *,
    budgets: Sequence[Budget] | None = None,
    keeps: bool = False,
) -> StageResult:
    """Run function-wise passes here, one after the other: the serial definition.

    They are run up to the first after which a hook is called or diagnostics are shown,
    so that what the next ones log comes after that; the plan asks for them then.

    `checkpoint` is called before each function, given by its index and itself, and may
    raise to end the run. By default `budgets` are those of the passes and the context.
    With `keeps` what is logged and warned of is left in the records, as what passes
    before these said is, and all passes are run.
    """
    began = time.perf_counter()
    records: list[StepRecord] = []
    if budgets is None:
        budgets = budgets_of(steps, context.config)
    if any(one.memory is not None for one in budgets) and not (
        inside_function_pass() or are_enforced_here()
    ):
        warn(
            "memory_limit is enforced in workers only, and this pass runs in process; "
            "run it by run_pipeline, with workers",
            BudgetWarning,
        )
    # Asked before the bodies run, for they are shown no instruments.
    is_watched = bool(context.instruments) or renderer_is_overridden()
    with function_pass_body(), marking:
        for pass_, budget in zip(steps, budgets, strict=True):
            run = _run_step_silently if keeps else _run_step
            mod, record = run(pass_, budget, mod, context, adapter, checkpoint)
            records.append(record)
            is_heard = (is_watched or record.diagnostics) and not keeps
            if is_heard or ends_the_stage(record):
                break
    return StageResult(mod, records, began, time.perf_counter())


def ends_the_stage(record: StepRecord) -> bool:
    """Return whether the passes after this one are not run any more."""
    said = record.diagnostics
    return record.failure is not None or (bool(said) and has_error(said))


class StepHere:
    """One function-wise pass on the functions of a module, here: the serial definition.

    Args:
        pass_: The pass.
        budget: Its budget.
        mod: The module.
        context: The settings in force.
        adapter: How the module is handled.

    Attributes:
        changed: The functions that came out as others, by name.
        told: What was said and counted on functions, by index, where anything was.
    """

    def __init__(
        self,
        pass_: Pass,
        budget: Budget,
        mod: Any,
        context: PassContext,
        adapter: ModuleAdapter,
    ) -> None:
        self._pass, self._budget = pass_, budget
        self._mod, self._context, self._adapter = mod, context, adapter
        self._recorder: Recorder | None = None
        self._failure: BaseException | None = None
        self._failed_on: str | None = None
        self.changed: dict[str, Any] = {}
        self.told: dict[int, Recorder] = {}

    def run(self, goes_on: Callable[[int, Any], object] | None = None) -> bool:
        """Run it on the functions in order; return whether on all that are to be run.

        Args:
            goes_on: Asked before each function, given by index and itself; the pass is
                left where this returns False. It may raise to end the run.
        """
        pass_, adapter, context = self._pass, self._adapter, self._context
        pass_name, budget = pass_.info.name, self._budget
        functions = adapter.functions(self._mod)
        view = MappingProxyType(dict(functions))
        view = adapter.read_only(self._mod, view, pass_name)
        # Of the pass; a body sees what it says itself.
        self._recorder = recorder = Recorder(view, pass_name)
        for at, (name, function) in enumerate(functions.items()):
            if goes_on is not None and goes_on(at, function) is False:
                return False
            if not applies_to(pass_, function, adapter):
                continue
            result, own = function, Recorder(view, pass_name)
            own.said_before = len(recorder.said)
            try:
                with recording(own):
                    result = transform_function(
                        pass_, name, function, view, context, adapter, budget
                    )
            except BaseException as error:  # noqa: BLE001 -- raised by the plan
                self._failure, self._failed_on = error, name
            if own.said or own.counted:
                self.told[at] = own
                recorder.take_over(own)
            if self._failure is not None:
                tell_all(self._failure, own.said, recorder.said)
                break
            if self._failed_on is None and own.said and has_error(own.said):
                self._failed_on = name
            if result is not function:
                self.changed[name] = result
        return True

    def outcome(self, began: float) -> tuple[Any, StepRecord]:
        """Return the module, and what there is to tell, when all were run."""
        assert self._recorder is not None
        record = StepRecord.of(self._recorder, began, self._failure, self._failed_on)
        return self._adapter.replace_functions(self._mod, self.changed), record


def _run_step(
    pass_: Pass,
    budget: Budget,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[int, Any], object] | None,
) -> tuple[Any, StepRecord]:
    began = time.perf_counter()
    step = StepHere(pass_, budget, mod, context, adapter)
    step.run(checkpoint)
    return step.outcome(began)


def _run_step_silently(*args: Any) -> tuple[Any, StepRecord]:
    with intercepting(), keeping() as tape:
        mod, record = _run_step(*args)
        record.emissions = tape.take()
    return mod, record
