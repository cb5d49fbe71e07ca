"""Carrying out one pass body: the one place where bodies are called."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar, Token
from typing import Any, cast

import msgspec

from parpass.diagnostic import renderer_is_overridden
from parpass.errors import (
    BudgetWarning,
    InputChangedError,
    PassResultError,
    attach_others,
)
from parpass.errors.warning import warn
from parpass.transform.adapter import ModuleAdapter
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
from parpass.transform.interception import intercepting, keeping, marking
from parpass.transform.passes import FunctionPass, FunctionwisePass, ModulePass, Pass
from parpass.transform.plan import Outcome, StepRecord
from parpass.transform.record import (
    Recorder,
    current_recorder,
    has_error,
    recording,
    start_recording,
    stop_recording,
)

_in_function_pass: ContextVar[bool] = ContextVar(
    "parpass_in_function_pass", default=False
)


def inside_function_pass() -> bool:
    """Return whether this is called from the body of a function pass.

    Passes that such a body runs are not shown to instruments: they run in workers.
    """
    return _in_function_pass.get()


class function_pass_body:  # noqa: N801 -- used like a function, as contextlib's own
    """Mark what runs inside as bodies of function passes."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token: Token[bool] = _in_function_pass.set(True)

    def __exit__(self, *_: object) -> None:
        _in_function_pass.reset(self._token)


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
    away: Callable[[], float] = float,
) -> Any:
    """Return what a function-wise pass makes of one function.

    The last three arguments are those of `budget.within`.

    Raises:
        PassResultError: The pass returned something that is no function.
        Exception: What the body raised, with a note that names pass and function.
    """
    recorder = current_recorder()
    if recorder is not None:
        recorder.function_name = name

    def checked() -> Any:
        body = cast("FunctionPass | FunctionwisePass", pass_).transform_function
        result = body(function, mod, context)
        if result is not function and not adapter.is_function(result):
            raise PassResultError(
                f"pass '{pass_.info.name}' must return a {type(function).__name__} for "
                f"function '{name}', got {type(result).__name__}",
                pass_name=pass_.info.name,
                function=name,
            )
        return result

    try:
        if budget == UNLIMITED:  # not `is`: it may have travelled
            return checked()
        return within(budget, pass_.info.name, name, function, checked, guard, away)
    except Exception as error:
        error.add_note(f"in pass '{pass_.info.name}', on function '{name}'")
        raise


def run_stage_in_place(
    steps: Sequence[Pass],
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[], None] | None = None,
    *,
    budgets: Sequence[Budget] | None = None,
    finds_others: bool = False,
    keeps: bool = False,
) -> Outcome:
    """Run function-wise passes here, one after the other: the serial definition.

    They are run up to the first after which a hook is called or diagnostics are shown,
    so that what the next ones log comes after that; the plan asks for them then.

    `checkpoint` is called before each function, and may raise to end the run. By
    default `budgets` are those of the passes and the context. With `finds_others` a
    pass that failed goes on, only to learn where else it fails. With `keeps` what is
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
            before = mod
            run = _run_step_silently if keeps else _run_step
            mod, record = run(pass_, budget, mod, context, adapter, checkpoint)
            records.append(record)
            if record.failure is not None and finds_others:
                failures = _failures_after(
                    record, pass_, budget, before, context, adapter, checkpoint
                )
                attach_others(record.failure, failures)
            if ends_the_stage(record) or not (keeps or _is_silent(record, context)):
                break
    return Outcome(mod, records, began, time.perf_counter())


def _is_silent(record: StepRecord, context: PassContext) -> bool:
    """Return whether nothing is heard of a pass before the next one runs."""
    return not (record.diagnostics or context.instruments or renderer_is_overridden())


def ends_the_stage(record: StepRecord) -> bool:
    """Return whether the passes after this one are not run any more."""
    said = record.diagnostics
    return record.failure is not None or (bool(said) and has_error(said))


def _run_step(
    pass_: Pass,
    budget: Budget,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[], None] | None,
) -> tuple[Any, StepRecord]:
    began = time.perf_counter()
    pass_name = pass_.info.name
    functions = adapter.functions(mod)
    view = adapter.read_only(mod, dict(functions), pass_name)
    recorder = Recorder(view, pass_name)
    changed: dict[str, Any] = {}
    failure: Exception | None = None
    failed_on: str | None = None
    with recording(recorder):
        for name, function in functions.items():
            if checkpoint is not None:
                checkpoint()
            if not applies_to(pass_, function, adapter):
                continue
            before = len(recorder.said)
            try:
                result = transform_function(
                    pass_, name, function, view, context, adapter, budget
                )
            except Exception as error:  # noqa: BLE001 -- raised by the plan
                failure, failed_on = error, name
                break
            said = recorder.said
            if failed_on is None and len(said) > before and has_error(said[before:]):
                failed_on = name
            if result is not function:
                changed[name] = result
    record = _record(pass_name, recorder, began, failure, failed_on)
    return adapter.replace_functions(mod, changed), record


def _run_step_silently(*args: Any) -> tuple[Any, StepRecord]:
    with intercepting(), keeping() as tape:
        mod, record = _run_step(*args)
        record.emissions = tape.take()
    return mod, record


def _failures_after(
    record: StepRecord,
    pass_: Pass,
    budget: Budget,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[], None] | None,
) -> list[Exception]:
    """Return what a pass fails with on the functions after the one it failed on."""
    functions = adapter.functions(mod)
    view = adapter.read_only(mod, dict(functions), pass_.info.name)
    failures: list[Exception] = []
    names = list(functions)
    assert record.function is not None
    with (
        recording(Recorder(view)),
        intercepting(),
        keeping(),  # in the order of the run none of this has happened
    ):
        for name in names[names.index(record.function) + 1 :]:
            if checkpoint is not None:
                checkpoint()
            if not applies_to(pass_, functions[name], adapter):
                continue
            try:
                transform_function(
                    pass_, name, functions[name], view, context, adapter, budget
                )
            except Exception as error:  # noqa: BLE001 -- it is returned
                failures.append(error)
    return failures


def run_module_pass(
    pass_: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> Outcome | AsyncBody:
    """Run a module pass; one whose body is async is begun, and not awaited."""
    name = pass_.info.name
    recorder = Recorder(mod, name)
    config = context.config
    watched = config and config.get(IMMUTABLE_MODULE, False)
    content = _content(mod, adapter) if watched else None
    result, failure = mod, None
    began = time.perf_counter()
    token = start_recording(recorder)
    try:
        result = cast("ModulePass", pass_).transform_module(mod, context)
    except Exception as error:  # noqa: BLE001 -- raised by the plan
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


def _outcome(run: _ModuleRun, result: Any, failure: Exception | None) -> Outcome:
    name = run.pass_.info.name
    if failure is None:
        failure = _why_wrong(run, result)
    if failure is not None:
        failure.add_note(f"in pass '{name}'")
    record = _record(name, run.recorder, run.began, failure)
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
    failure: Exception | None = None,
    function: str | None = None,
) -> StepRecord:
    spent = time.perf_counter() - began
    said, counted = recorder.said, recorder.counted
    return StepRecord(pass_name, said, counted, spent, failure, function)


__all__ = [
    "AsyncBody",
    "applies_to",
    "ends_the_stage",
    "function_pass_body",
    "inside_function_pass",
    "run_module_pass",
    "run_stage_in_place",
    "transform_function",
]
