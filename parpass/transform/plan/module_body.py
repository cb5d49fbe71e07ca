"""The body of a module pass, on a module: the place where it is called."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Generator
from typing import Any, cast

import msgspec

from parpass.errors import InputChangedError, PassResultError
from parpass.errors.tracebacks import calls_users_code
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.config import IMMUTABLE_MODULE
from parpass.transform.context import PassContext, in_force
from parpass.transform.passes import ModulePass, Pass
from parpass.transform.plan.commands import StageResult, StepRecord
from parpass.transform.plan.whereabouts import begin_body, end_body
from parpass.transform.saying.interception import marking
from parpass.transform.saying.record import (
    Recorder,
    recording,
    start_recording,
    stop_recording,
)


@calls_users_code
def run_module_pass(
    pass_: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> StageResult | AsyncBody:
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
    outer = begin_body(name, None)
    try:
        result = cast("ModulePass", pass_).transform_module(mod, context)
    except BaseException as error:  # noqa: BLE001 -- raised by the plan
        failure = error
    finally:
        end_body(outer)
        stop_recording(token)
    is_module = adapter.is_module(result)
    if failure is None and is_module and not watched:
        record = StepRecord.of(recorder, began)
        return StageResult(result, (record,), began, began + record.seconds)
    running = _ModuleRun(pass_, mod, adapter, recorder, content, began)
    if not is_module and hasattr(result, "__await__"):
        return AsyncBody(_wait_for(result, running, context))
    return _result(running, result, failure)


class AsyncBody(msgspec.Struct, frozen=True):
    """The body of an async module pass, not awaited yet.

    Attributes:
        waiting: A generator that yields an async callable, is sent its value or thrown
            its error, and returns the StageResult. It keeps the two ways to wait, in
            place and on an event loop, apart from what a module pass is.
    """

    waiting: Generator[Any, Any, StageResult]


class _ModuleRun(msgspec.Struct, frozen=True):
    pass_: Pass
    mod: Any
    adapter: ModuleAdapter
    recorder: Recorder
    content: Any  # of the module that was given, if that is watched
    began: float


def _result(run: _ModuleRun, result: Any, failure: BaseException | None) -> StageResult:
    if failure is None:
        failure = _why_wrong(run, result)
    record = StepRecord.of(run.recorder, run.began, failure)
    return StageResult(result, (record,), run.began, run.began + record.seconds)


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
) -> Generator[Any, Any, StageResult]:
    try:
        result = yield functools.partial(_awaited, body, run.recorder, context)
    except Exception as error:  # noqa: BLE001 -- raised by the plan
        return _result(run, run.mod, error)
    finally:
        if inspect.iscoroutine(body):
            body.close()  # a driver that cannot wait has not begun it
    return _result(run, result, None)


@calls_users_code
async def _awaited(body: Any, recorder: Recorder, context: PassContext) -> Any:
    # It is awaited in a task of its own, where the context may not be the current one.
    outer = begin_body(recorder.pass_name or "", None)
    try:
        with recording(recorder), marking, in_force(context):
            return await body
    finally:
        end_body(outer)


def _content(mod: Any, adapter: ModuleAdapter) -> tuple[list[Any], bytes]:
    # Functions are values, so a module that has the same ones is the same.
    return list(adapter.functions(mod).items()), adapter.encode_shell(mod)
