"""Carrying out one pass body: the one place where bodies are called."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from typing import Any, cast

from parpass.errors import InputChangedError, PassResultError
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.collector import resting_collector
from parpass.transform.config import IMMUTABLE_MODULE
from parpass.transform.context import PassContext, in_force
from parpass.transform.passes import FunctionPass, FunctionwisePass, ModulePass, Pass
from parpass.transform.plan import Outcome, StepRecord
from parpass.transform.record import Recorder, current_recorder, has_error, recording

_in_function_pass: ContextVar[bool] = ContextVar("in_function_pass", default=False)


def inside_function_pass() -> bool:
    """Return whether this is called from the body of a function pass.

    Passes that such a body runs are not shown to instruments: they run in workers.
    """
    return _in_function_pass.get()


@contextlib.contextmanager
def function_pass_body() -> Generator[None]:
    """Mark what runs inside as bodies of function passes."""
    token = _in_function_pass.set(True)
    try:
        yield
    finally:
        _in_function_pass.reset(token)


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
) -> Any:
    """Return what a function-wise pass makes of one function.

    Raises:
        PassResultError: The pass returned something that is no function.
        Exception: What the body raised, with a note that names pass and function.
    """
    recorder = current_recorder()
    if recorder is not None:
        recorder.function_name = name
    body = cast("FunctionPass | FunctionwisePass", pass_).transform_function
    try:
        result = body(function, mod, context)
        if result is not function and not adapter.is_function(result):
            raise PassResultError(
                f"pass '{pass_.info.name}' must return a {type(function).__name__} for "
                f"function '{name}', got {type(result).__name__}",
                pass_name=pass_.info.name,
                function=name,
            )
    except Exception as error:
        error.add_note(f"in pass '{pass_.info.name}', on function '{name}'")
        raise
    return result


def run_stage_in_place(
    steps: Sequence[Pass],
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[], None] | None = None,
) -> Outcome:
    """Run function-wise passes here, one after the other: the serial definition.

    `checkpoint` is called before each function, and may raise to end the run.
    """
    began = time.perf_counter()
    records: list[StepRecord] = []
    for pass_ in steps:
        mod, record = _run_step(pass_, mod, context, adapter, checkpoint)
        records.append(record)
        if ends_the_stage(record):
            break
    return Outcome(mod, records, began, time.perf_counter())


def ends_the_stage(record: StepRecord) -> bool:
    """Return whether the passes after this one are not run any more."""
    return record.failure is not None or has_error(record.diagnostics)


def _run_step(
    pass_: Pass,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    checkpoint: Callable[[], None] | None,
) -> tuple[Any, StepRecord]:
    began = time.perf_counter()
    record = StepRecord(pass_.info.name)
    functions = adapter.functions(mod)
    view = adapter.read_only(mod, dict(functions), pass_.info.name)
    recorder = Recorder(view)
    changed: dict[str, Any] = {}
    with recording(recorder), function_pass_body(), resting_collector():
        for name, function in functions.items():
            if checkpoint is not None:
                checkpoint()
            if not applies_to(pass_, function, adapter):
                continue
            said = len(recorder.diag_ctx.diagnostics)
            try:
                result = transform_function(
                    pass_, name, function, view, context, adapter
                )
            except Exception as error:  # noqa: BLE001 -- raised by the plan
                record.failure, record.function = error, name
                break
            if record.function is None and has_error(
                recorder.diag_ctx.diagnostics[said:]
            ):
                record.function = name
            if result is not function:
                changed[name] = result
    _take_down(record, recorder, began)
    return adapter.replace_functions(mod, changed), record


def run_module_pass(
    pass_: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> Generator[Any, Any, Outcome]:
    """Run a module pass; yield an async callable for an async body, be sent its value.

    The generator keeps the two ways to wait, in place and on an event loop, apart from
    what a module pass is.
    """
    began = time.perf_counter()
    record = StepRecord(pass_.info.name)
    recorder = Recorder(mod)
    result = mod
    watched = context.config and context.config.get(IMMUTABLE_MODULE, False)
    content = _content(mod, adapter) if watched else None
    try:
        with recording(recorder):
            result = cast("ModulePass", pass_).transform_module(mod, context)
        if hasattr(result, "__await__"):
            result = yield from _wait_for(result, recorder, context)
        _check_module(result, pass_, adapter)
        if watched and _content(mod, adapter) != content:
            raise InputChangedError(
                f"module pass '{pass_.info.name}' changed the module that it was given",
                pass_name=pass_.info.name,
            )
    except Exception as error:  # noqa: BLE001 -- raised by the plan
        error.add_note(f"in pass '{pass_.info.name}'")
        record.failure = error
    _take_down(record, recorder, began)
    return Outcome(result, [record], began, time.perf_counter())


def _wait_for(
    body: Any, recorder: Recorder, context: PassContext
) -> Generator[Any, Any, Any]:
    try:
        return (yield functools.partial(_awaited, body, recorder, context))
    finally:
        if inspect.iscoroutine(body):
            body.close()  # a driver that cannot wait has not begun it


async def _awaited(body: Any, recorder: Recorder, context: PassContext) -> Any:
    # It is awaited in a task of its own, where the context may not be the current one.
    with recording(recorder), in_force(context):
        return await body


def _content(mod: Any, adapter: ModuleAdapter) -> tuple[list[Any], bytes]:
    # Functions are values, so a module that has the same ones is the same.
    return list(adapter.functions(mod).items()), adapter.encode_shell(mod)


def _check_module(result: Any, pass_: Pass, adapter: ModuleAdapter) -> None:
    if not adapter.is_module(result):
        raise PassResultError(
            f"module pass '{pass_.info.name}' must return a module, got "
            f"{type(result).__name__}",
            pass_name=pass_.info.name,
        )


def _take_down(record: StepRecord, recorder: Recorder, began: float) -> None:
    record.diagnostics = recorder.said
    record.counters = recorder.counted
    record.seconds = time.perf_counter() - began


__all__ = [
    "applies_to",
    "ends_the_stage",
    "function_pass_body",
    "inside_function_pass",
    "run_module_pass",
    "run_stage_in_place",
    "transform_function",
]
