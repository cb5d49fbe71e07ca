"""Running the body of a pass within its budget, and what becomes of it if it is not."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

from parpass.diagnostic import Diagnostic
from parpass.errors import (
    DiagnosticError,
    FunctionFailure,
    FunctionTimeoutError,
    MemoryLimitError,
    UnreadFunctionError,
)
from parpass.transform.budget import Budget
from parpass.transform.config import OnFailure
from parpass.transform.saying.record import Recorder, current_recorder, recording

MemoryGuard = Callable[[int], contextlib.AbstractContextManager[None]]
Enforcer = Callable[[Budget], contextlib.AbstractContextManager[None]]

_enforcer: ContextVar[Enforcer | None] = ContextVar("parpass_enforcer", default=None)


@contextlib.contextmanager
def enforced_by(enforcer: Enforcer) -> Generator[None]:
    """Have passes that run here be held to their budgets while the block runs.

    Args:
        enforcer: Entered around each body that has a budget. What is beyond the budget
            it interrupts by an error of its own, or a MemoryError.
    """
    token = _enforcer.set(enforcer)
    try:
        yield
    finally:
        _enforcer.reset(token)


def are_enforced_here() -> bool:
    """Return whether something in this process holds passes to their budgets."""
    return _enforcer.get() is not None


def skipped(pass_name: str, function: str, reason: str) -> Diagnostic:
    """Return the diagnostic that tells of a function left alone by a failed pass."""
    return Diagnostic.warning(
        None,
        f"pass '{pass_name}' was skipped on function '{function}', which stays as it "
        f"was: {reason}",
    )


def reason_of(error: Exception) -> str:
    """Return what a failure comes to, for that diagnostic."""
    if isinstance(error, FunctionFailure):
        return error.reason
    return f"{type(error).__name__}: {error}"


def within(
    budget: Budget,
    pass_name: str,
    name: str,
    function: Any,
    body: Callable[[], Any],
    guard: MemoryGuard | None = None,
    away: Callable[[], float] = float,
    begin_again: Callable[[], object] = int,
) -> Any:
    """Return what the body of a pass makes of a function, under a budget.

    Each try has all of it.

    Args:
        budget: The budget.
        pass_name: The pass.
        name: The function's name.
        function: The function, which is returned if it is skipped.
        body: Calls the body.
        guard: Limits memory while it is entered.
        away: Seconds so far that are not to be counted.
        begin_again: Called before a second try.

    Raises:
        FunctionTimeoutError: It took too long.
        MemoryLimitError: It took too much memory.
        Exception: What the body raised.
    """
    outer = current_recorder()
    tries = 2 if budget.on_failure is OnFailure.RETRY else 1
    while True:
        tries -= 1
        inner = Recorder(None if outer is None else outer.module, pass_name)
        inner.function_name = name
        inner.said_before = 0 if outer is None else outer.said_so_far
        try:
            with recording(inner):
                result = _limited(budget, pass_name, name, body, guard, away)
        except Exception as error:
            # Then the program is at fault.
            is_told = isinstance(error, DiagnosticError) and error.is_rendered
            is_told = is_told or isinstance(error, UnreadFunctionError)
            if tries and not is_told:
                begin_again()
                continue
            if budget.on_failure is OnFailure.SKIP and not is_told:
                tell_skipped(pass_name, name, reason_of(error))
                return function
            if outer is not None:
                outer.take_over(inner)
            raise
        if outer is not None:
            outer.take_over(inner)
        return result


def tell_skipped(pass_name: str, name: str, reason: str) -> None:
    """Have the pass that runs here say that it was skipped."""
    recorder = current_recorder()
    if recorder is not None:
        recorder.diag_ctx.emit(skipped(pass_name, name, reason))


def _limited(
    budget: Budget,
    pass_name: str,
    name: str,
    body: Callable[[], Any],
    guard: MemoryGuard | None,
    away: Callable[[], float],
) -> Any:
    began = time.perf_counter() - away()
    cause: Exception | None = None
    result = None
    try:
        with _holding(budget, guard):
            try:
                result = body()
            except Exception as error:  # noqa: BLE001 -- raised below, if it was in time
                cause = error  # not in the block, which would write to it: `in_force`
    except Exception as error:  # noqa: BLE001 -- what the guard itself raised
        cause = error
    spent = time.perf_counter() - away() - began
    if budget.seconds is not None and spent > budget.seconds:
        # Whatever came of it then: a worker would not have lived to tell.
        raise FunctionTimeoutError(
            pass_name=pass_name, function=name, limit=budget.seconds
        ) from cause
    if isinstance(cause, MemoryError) and budget.memory is not None:
        raise MemoryLimitError(
            pass_name=pass_name, function=name, limit=budget.memory
        ) from cause
    if cause is not None:
        raise cause
    return result


def _holding(
    budget: Budget, guard: MemoryGuard | None
) -> contextlib.AbstractContextManager[None]:
    enforcer = _enforcer.get()
    if enforcer is not None:
        return enforcer(budget)
    if guard is None or budget.memory is None:
        return contextlib.nullcontext()
    return guard(budget.memory)
