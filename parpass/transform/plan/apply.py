"""Carrying out one pass body: the one place where bodies are called."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Generator, Sequence
from types import MappingProxyType
from typing import Any, cast

import msgspec

from parpass.diagnostic import renderer_is_overridden, tell_all
from parpass.errors import (
    BudgetWarning,
    InputChangedError,
    PassResultError,
)
from parpass.errors.warning import warn
from parpass.transform.adapter import ModuleAdapter, Mutability
from parpass.transform.budget import (
    UNLIMITED,
    Budget,
    MemoryGuard,
    are_enforced_here,
    budgets_of,
    within,
)
from parpass.transform.config import IMMUTABLE_MODULE
from parpass.transform.context import PassContext, in_force
from parpass.transform.passes import FunctionPass, FunctionwisePass, ModulePass, Pass
from parpass.transform.plan.plan import Outcome, StepRecord
from parpass.transform.saying.interception import intercepting, keeping, marking
from parpass.transform.saying.record import (
    Recorder,
    current_recorder,
    function_pass_body,
    has_error,
    inside_function_pass,
    recording,
    start_recording,
    stop_recording,
)


def applies_to(pass_: Pass, function: Any, adapter: ModuleAdapter) -> bool:
    """Return whether a function-wise pass is run on a function."""
    return not (isinstance(pass_, FunctionPass) and adapter.is_skipped(function))


def transform_function(
    pass_: Pass,
    name: str,
    function: Any,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    budget: Budget = UNLIMITED,
    guard: MemoryGuard | None = None,
    *watch: Callable[[], Any],
) -> Any:
    """Return what a function-wise pass makes of one function.

    The last arguments are those of `budget.within`.

    Raises:
        PassResultError: The pass returned something that is no function.
        InputChangedError: It changed the function in place, and may not.
        BaseException: What the body raised.
    """
    recorder = current_recorder()
    if recorder is not None:
        recorder.function_name = name

    def checked() -> Any:
        body = cast("FunctionPass | FunctionwisePass", pass_).transform_function
        mutability = adapter.mutability
        if mutability is None:
            result = body(function, mod, context)
        else:
            result = _watched(
                lambda given: body(given, mod, context),
                mutability,
                pass_.info.name,
                name,
                function,
            )
        if result is not function and not adapter.is_function(result):
            raise PassResultError(
                f"pass '{pass_.info.name}' must return a {type(function).__name__} for "
                f"function '{name}', got {type(result).__name__}",
                pass_name=pass_.info.name,
                function=name,
            )
        return result

    if budget == UNLIMITED:  # not `is`: it may have travelled
        return checked()
    return within(budget, pass_.info.name, name, function, checked, guard, *watch)


def _watched(
    body: Callable[[Any], Any],
    mutability: Mutability,
    pass_name: str,
    name: str,
    function: Any,
) -> Any:
    """Return what a body makes of a function that it can change in place."""
    given = mutability.to_change(function)
    before = mutability.fingerprint(given)
    result = body(given)
    is_changed = mutability.fingerprint(given) != before
    if is_changed and given is function:
        raise InputChangedError(
            f"pass '{pass_name}' changed function '{name}' in place, which functions "
            "of this IR must not be; return a new function",
            pass_name=pass_name,
            function=name,
        )
    return function if result is given and not is_changed else result


def run_stage_in_place(
    steps: Sequence[Pass],
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[int, Any], object] | None = None,
    *,
    budgets: Sequence[Budget] | None = None,
    keeps: bool = False,
) -> Outcome:
    """Run function-wise passes here, one after the other: the serial definition.

    They are run up to the first after which a hook is called or diagnostics are shown,
    so that what the next ones log comes after that; the plan asks for them then.

    `checkpoint` is called before each function, given by its index and itself, and may
    raise to end the run. By
    default `budgets` are those of the passes and the context. With `keeps` what is
    logged and warned of is left in the records, as what passes before these said is,
    and all passes are run.
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
    with function_pass_body(), marking:
        for pass_, budget in zip(steps, budgets, strict=True):
            run = _run_step_silently if keeps else _run_step
            mod, record = run(pass_, budget, mod, context, adapter, checkpoint)
            records.append(record)
            if ends_the_stage(record) or not (keeps or is_silent(record, context)):
                break
    return Outcome(mod, records, began, time.perf_counter())


def is_silent(record: StepRecord, context: PassContext) -> bool:
    """Return whether nothing is heard of a pass before the next one runs."""
    return not (record.diagnostics or context.instruments or renderer_is_overridden())


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
        name, recorder = self._pass.info.name, self._recorder
        record = _record(name, recorder, began, self._failure, self._failed_on)
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


def run_module_pass(
    pass_: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> Outcome | AsyncBody:
    """Run a module pass; one whose body is async is begun, and not awaited."""
    name = pass_.info.name
    recorder = Recorder(mod, name)
    config = context.config
    watched = config and config.get(IMMUTABLE_MODULE, False)
    content = _content(mod, adapter) if watched else None
    result = mod
    failure: BaseException | None = None
    began = time.perf_counter()
    token = start_recording(recorder)
    try:
        result = cast("ModulePass", pass_).transform_module(mod, context)
    except BaseException as error:  # noqa: BLE001 -- raised by the plan
        failure = error
    finally:
        stop_recording(token)
    is_module = adapter.is_module(result)
    if failure is None and is_module and not watched:
        record = _record(name, recorder, began)
        return Outcome(result, (record,), began, began + record.seconds)
    running = _ModuleRun(pass_, mod, adapter, recorder, content, began)
    if not is_module and hasattr(result, "__await__"):
        return AsyncBody(_wait_for(result, running, context))
    return _outcome(running, result, failure)


class AsyncBody(msgspec.Struct, frozen=True):
    """The body of an async module pass, not awaited yet.

    Attributes:
        waiting: A generator that yields an async callable, is sent its value or thrown
            its error, and returns the Outcome. It keeps the two ways to wait, in place
            and on an event loop, apart from what a module pass is.
    """

    waiting: Generator[Any, Any, Outcome]


class _ModuleRun(msgspec.Struct, frozen=True):
    pass_: Pass
    mod: Any
    adapter: ModuleAdapter
    recorder: Recorder
    content: Any  # of the module that was given, if that is watched
    began: float


def _outcome(run: _ModuleRun, result: Any, failure: BaseException | None) -> Outcome:
    if failure is None:
        failure = _why_wrong(run, result)
    record = _record(run.pass_.info.name, run.recorder, run.began, failure)
    return Outcome(result, (record,), run.began, run.began + record.seconds)


def _why_wrong(run: _ModuleRun, result: Any) -> Exception | None:
    name = run.pass_.info.name
    if not run.adapter.is_module(result):
        return PassResultError(
            f"module pass '{name}' must return a module, got {type(result).__name__}",
            pass_name=name,
        )
    if run.content is not None and _content(run.mod, run.adapter) != run.content:
        return InputChangedError(
            f"module pass '{name}' changed the module that it was given",
            pass_name=name,
        )
    return None


def _wait_for(
    body: Any, run: _ModuleRun, context: PassContext
) -> Generator[Any, Any, Outcome]:
    try:
        result = yield functools.partial(_awaited, body, run.recorder, context)
    except Exception as error:  # noqa: BLE001 -- raised by the plan
        return _outcome(run, run.mod, error)
    finally:
        if inspect.iscoroutine(body):
            body.close()  # a driver that cannot wait has not begun it
    return _outcome(run, result, None)


async def _awaited(body: Any, recorder: Recorder, context: PassContext) -> Any:
    # It is awaited in a task of its own, where the context may not be the current one.
    with recording(recorder), marking, in_force(context):
        return await body


def _content(mod: Any, adapter: ModuleAdapter) -> tuple[list[Any], bytes]:
    # Functions are values, so a module that has the same ones is the same.
    return list(adapter.functions(mod).items()), adapter.encode_shell(mod)


def _record(
    pass_name: str,
    recorder: Recorder,
    began: float,
    failure: BaseException | None = None,
    function: str | None = None,
) -> StepRecord:
    spent = time.perf_counter() - began
    said, counted = recorder.said, recorder.counted
    return StepRecord(pass_name, said, counted, spent, failure, function)


__all__ = [
    "AsyncBody",
    "StepHere",
    "applies_to",
    "ends_the_stage",
    "function_pass_body",
    "inside_function_pass",
    "run_module_pass",
    "run_stage_in_place",
    "transform_function",
]
