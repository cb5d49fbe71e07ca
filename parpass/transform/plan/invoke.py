"""Invocation of pass bodies: function-wise on one function, module passes on a module.

Functions that can be changed in place are copied for each body (`function_copies`), or
they are boxes: a pass takes the content out of one, changes it, and puts it into a new
box. If the old function may be read again, the pass has to keep a copy, which may take
as long as the pass. That is so if other functions read it, if the pass is retried or
skipped on failure, and in a serial run, whose modules are values. Otherwise, mostly in
workers, the pass owns its argument (move semantics).
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, cast

import msgspec

from parpass.errors import (
    InputChangedError,
    PassResultError,
    PreservedAnalysisError,
)
from parpass.errors.tracebacks import calls_user_code
from parpass.transform.adapter import (
    ModuleAdapter,
    round_trip,
    round_trip_changed,
)
from parpass.transform.analysis_manager import AnalysisManager, PreservationCheck
from parpass.transform.body_place import call_error, describe_result
from parpass.transform.budget import UNLIMITED, Budget, run_within
from parpass.transform.capture.bodies import begin_body, end_body
from parpass.transform.capture.change import ChangeWatch
from parpass.transform.capture.intercept import tagging_log_records
from parpass.transform.capture.recorder import (
    Recorder,
    current_recorder,
    recording,
    start_recording,
    stop_recording,
)
from parpass.transform.checked_adapter import function_fault
from parpass.transform.config import CHECK_CONTRACT, IMMUTABLE_MODULE
from parpass.transform.context import PassContext, in_force
from parpass.transform.function_copies import own_module
from parpass.transform.mutability import RunMutability
from parpass.transform.passes import (
    FunctionPass,
    FunctionwisePass,
    ModulePass,
    Pass,
    restoring_after,
)
from parpass.transform.plan.commands import StageResult, StepRecord
from parpass.transform.variable_setting import setting

_owned: ContextVar[Any] = ContextVar("parpass_handed_over", default=None)


def owns(function: Any) -> bool:
    """Return whether the running pass may consume this function.

    True if the function is the pass's argument and is not read again, whether or not
    the pass fails.
    """
    return function is not None and _owned.get() is function


def applies_to(pass_: Pass, function: Any, adapter: ModuleAdapter) -> bool:
    if pass_.function_kind != adapter.kind_of(function):
        return False
    return not (isinstance(pass_, FunctionPass) and adapter.is_skipped(function))


@calls_user_code
def transform_function(
    pass_: Pass,
    name: str,
    function: Any,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    budget: Budget = UNLIMITED,
    on_retry: Callable[[], object] = int,
    *,
    transfers_ownership: bool = False,
) -> Any:
    """Return the result of a function-wise pass on one function.

    It is encoded and decoded if the adapter has `round_trip_between_passes`.

    `on_retry` is that of `budget.run_within`. A function whose ownership is transferred
    is not read again: see `owns`.

    Raises:
        PassResultError: The pass returned an object that is no function.
        AdapterError: So did `functions` of the adapter, and the body could not do with
            that.
        InputChangedError: It changed the function in place, and must not.
        BaseException: The exception of the body, or of the codec.
    """
    recorder = current_recorder()
    if recorder is not None:
        recorder.function_name = name
    analyses = None if recorder is None else recorder.analyses
    check = None if analyses is None else analyses.check(pass_, function, context)

    owned = function if transfers_ownership else None
    args = pass_, name, function, mod, context, adapter, owned
    begun = begin_body(pass_.info.name, name, context)
    try:
        if budget == UNLIMITED:  # not `is`: it may have been unpickled
            result = _call_body(*args)
        else:
            call_body = functools.partial(_call_body, *args)
            about = budget, pass_.info.name, name, function
            result = run_within(*about, call_body, on_retry)
    except Exception as error:
        fault = function_fault(adapter, function, name)
        fault = fault or call_error(pass_, error, function, mod, context)
        if fault is None:
            raise
        raise fault from error
    finally:
        end_body(begun)
    if result is not function and adapter.round_trip_between_passes:
        result = round_trip(adapter, result, mod)
    if check is not None:
        restoring = adapter.restoring_pass(pass_.function_kind)
        check.check(result, name, restoring_after(pass_, restoring), mod)
    if analyses is not None:
        analyses.after_function(pass_, name, function, result)
    watch = context.change_watch
    # A version that is made on demand for another function has no pass's recorder.
    if watch is not None and recorder is not None and recorder.pass_name is not None:
        about = pass_, name, function, result, mod, adapter
        recorder.changes = watch.in_function(*about)
    return result


def _call_body(
    pass_: Pass,
    name: str,
    function: Any,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    owned: Any,
) -> Any:
    body = cast("FunctionPass | FunctionwisePass", pass_).transform_function
    mutability = cast("RunMutability | None", adapter.mutability)
    if adapter.consumes_functions:
        with setting(_owned, owned):
            result = body(function, mod, context)
    elif mutability is None or mutability.is_frozen(function):
        result = body(function, mod, context)
    else:
        about = pass_.info.name, name, function, mod
        result = mutability.call(*about, lambda given: body(given, mod, context))
    if result is not function and not adapter.is_function(result):
        raise _result_type_error(pass_, name, function, result)
    return result


def _result_type_error(
    pass_: Pass, name: str, function: Any, result: Any
) -> PassResultError:
    return PassResultError(
        f"pass '{pass_.info.name}' must return a {type(function).__name__} for "
        f"function '{name}', got {describe_result(pass_, result)}",
        pass_name=pass_.info.name,
        function=name,
    )


@calls_user_code
def run_module_pass(
    pass_: Pass,
    mod: Any,
    context: PassContext,
    adapter: ModuleAdapter,
    analyses: AnalysisManager,
) -> StageResult | PendingModulePass:
    """Run a module pass; if its body is async, return it to be awaited."""
    name = pass_.info.name
    recorder = Recorder(mod, name, analyses)
    watch = context.change_watch
    before = None if watch is None else dict(adapter.functions(mod))
    mod = own_module(adapter, mod, for_pass=True)
    config = context.config
    watched = config and (
        config.get(IMMUTABLE_MODULE, False) or config.get(CHECK_CONTRACT, False)
    )
    content = _content(mod, adapter) if watched else None
    checks: dict[str | None, PreservationCheck] = {}
    if analyses.is_checking and pass_.preserves:
        checks = _preservation_checks(pass_, mod, context, adapter)
    result = mod
    failure: BaseException | None = None
    began = time.perf_counter()
    token = start_recording(recorder)
    begun = begin_body(name, None, context)
    try:
        with analyses:
            result = cast("ModulePass", pass_).transform_module(mod, context)
    except Exception as error:  # noqa: BLE001 -- raised by the plan
        failure = call_error(pass_, error, mod, context) or error
    except BaseException as error:  # noqa: BLE001 -- likewise
        failure = error
    finally:
        end_body(begun)
        stop_recording(token)
    run = _ModuleRun(
        pass_, mod, adapter, recorder, content, began, analyses, checks, watch, before
    )
    if isinstance(result, Awaitable) and not adapter.is_module(result):
        return PendingModulePass(result, run, context)
    return _result(run, result, failure)


class _ModuleRun(msgspec.Struct, frozen=True):
    pass_: Pass
    mod: Any
    adapter: ModuleAdapter
    recorder: Recorder
    content: Any  # of the argument, if changes of it are detected
    began: float
    analyses: AnalysisManager
    checks: Mapping[str | None, PreservationCheck]  # by function; None: the module
    watch: ChangeWatch | None
    before: Mapping[str, Any] | None  # the functions, if they are watched


def _result(run: _ModuleRun, result: Any, failure: BaseException | None) -> StageResult:
    if failure is None:
        failure = _result_error(run, result)
    if failure is None:
        failure = run.analyses.changed_result(run.pass_, None)
    if failure is None and run.adapter.round_trip_between_passes:
        try:
            result = round_trip_changed(run.adapter, run.mod, result)
        except Exception as error:  # noqa: BLE001 -- raised by the plan
            failure = error
    if failure is None:
        failure = _preservation_error(run, result)
        run.analyses.after_module(run.pass_, run.mod, result)
    record = StepRecord.of(run.recorder, run.began, failure)
    if failure is None and run.watch is not None and run.before is not None:
        about = run.pass_, run.before, result, run.adapter
        record.changes = run.watch.in_module(*about)
    return StageResult(result, (record,), run.began, run.began + record.seconds)


def _preservation_checks(
    pass_: Pass, mod: Any, context: PassContext, adapter: ModuleAdapter
) -> dict[str | None, PreservationCheck]:
    return {
        None: PreservationCheck(pass_, mod, "module", context),
        **{
            name: PreservationCheck(pass_, one, "function", context)
            for name, one in adapter.functions(mod).items()
        },
    }


def _preservation_error(run: _ModuleRun, result: Any) -> Exception | None:
    if not run.checks:
        return None
    made: dict[str | None, Any] = {None: result, **run.adapter.functions(result)}
    try:
        for name, check in run.checks.items():
            if name in made:
                check.check(made[name], name)
    except PreservedAnalysisError as error:
        return error
    return None


def _result_error(run: _ModuleRun, result: Any) -> Exception | None:
    name = run.pass_.info.name
    if not run.adapter.is_module(result):
        return PassResultError(
            f"module pass '{name}' must return a module, got "
            f"{describe_result(run.pass_, result)}",
            pass_name=name,
        )
    if run.content is not None and _content(run.mod, run.adapter) != run.content:
        return InputChangedError(
            f"module pass '{name}' changed the module that it was given",
            pass_name=name,
        )
    return None


class PendingModulePass(msgspec.Struct, frozen=True):
    """A module pass whose async body has not been awaited yet.

    A driver awaits `wait`, if it can, and then calls `finish`; and closes it.
    """

    body: Any
    run: _ModuleRun
    context: PassContext

    @calls_user_code
    async def wait(self) -> Any:
        """Await the body, and return its result."""
        recorder, analyses = self.run.recorder, self.run.analyses
        # It is awaited in a task of its own, where the context may not be the current
        # one.
        begun = begin_body(recorder.pass_name or "", None, self.context)
        try:
            with (
                recording(recorder),
                tagging_log_records,
                in_force(self.context),
                analyses,
            ):
                return await self.body
        finally:
            end_body(begun)

    def finish(self, result: Any, failure: BaseException | None = None) -> StageResult:
        """Return the result of the pass, by that of its body or the error of that."""
        made = result if failure is None else self.run.mod
        return _result(self.run, made, failure)

    def close(self) -> None:
        """Close the body, which may not have been awaited."""
        if inspect.iscoroutine(self.body):
            self.body.close()


def _content(mod: Any, adapter: ModuleAdapter) -> tuple[list[Any], bytes]:
    # Functions are values, so a module that has the same ones is the same.
    return list(adapter.functions(mod).items()), adapter.encode_shell(mod)
