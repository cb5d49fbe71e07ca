"""Budgets: how long a pass may take on one function, how much memory, and what then.

A budget is set on the pass, by the attributes `function_timeout`, `memory_limit` and
`on_failure`; else on the call, `run_pipeline(..., function_timeout=5)`; else on the
context, by the options `parpass.function_timeout` and so on. Each of the three is
looked for on its own.

In a worker a budget holds whatever the pass does: the coordinator kills a worker that
is overdue. In this process nobody can do that, so a pass that has taken too long fails
when it ends, and memory is not limited.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, TypedDict

import msgspec

from parpass.diagnostic import Diagnostic
from parpass.errors import (
    ArgumentError,
    DiagnosticError,
    FunctionFailure,
    FunctionTimeoutError,
    MemoryLimitError,
)
from parpass.transform.config import (
    FUNCTION_TIMEOUT,
    MEMORY_LIMIT,
    ON_FAILURE,
    OnFailure,
)
from parpass.transform.passes import Pass
from parpass.transform.record import Recorder, current_recorder, recording

MemoryGuard = Callable[[int], contextlib.AbstractContextManager[None]]


class Budget(msgspec.Struct, frozen=True):
    """What a pass may take on one function; None for as much as it likes.

    Attributes:
        seconds: Time.
        memory: Bytes.
        on_failure: What to do if that, or the pass, fails.
    """

    seconds: float | None = None
    memory: int | None = None
    on_failure: OnFailure = OnFailure.FAIL

    def __post_init__(self) -> None:
        for name, value in (
            ("function_timeout", self.seconds),
            ("memory_limit", self.memory),
        ):
            if value is not None and not value > 0:
                raise ArgumentError(f"expected {name} above 0, got {value!r}")


UNLIMITED = Budget()


class Limits(msgspec.Struct, frozen=True):
    """What was given for a budget in one place; None where nothing was."""

    function_timeout: float | None = None
    memory_limit: int | None = None
    on_failure: str | None = None


class LimitArguments(TypedDict, total=False):
    """The same as keyword arguments."""

    function_timeout: float | None
    memory_limit: int | None
    on_failure: Literal["fail", "skip", "retry"] | None


_UNSET = Limits()
_call: ContextVar[Limits] = ContextVar("parpass_limits_of_call", default=_UNSET)


@contextlib.contextmanager
def limits_in_force(limits: Limits) -> Generator[None]:
    """Have budgets be those of a call while the block runs."""
    token = _call.set(limits)
    try:
        yield
    finally:
        _call.reset(token)


def limits_of_call() -> Limits:
    """Return the limits of the call that runs here."""
    return _call.get()


def budgets_of(steps: Sequence[Pass], config: Mapping[str, Any]) -> tuple[Budget, ...]:
    """Return the budgets of passes under a context's options.

    Raises:
        ArgumentError: A limit is not above 0, or there is no such policy.
    """
    return tuple(_budget_of(step, config, _call.get()) for step in steps)


def are_limited(budgets: Sequence[Budget]) -> bool:
    """Return whether any of them has a limit, which only a worker can enforce."""
    return any(one.seconds is not None or one.memory is not None for one in budgets)


def _budget_of(step: Pass, config: Mapping[str, Any], call: Limits) -> Budget:
    def found(name: str, key: str) -> Any:
        # A class that was decorated, and a pass on some functions, have an inner one.
        for place in (step, getattr(step, "_inst", None), call):
            value = getattr(place, name, None)
            if value is not None:
                return value
        return config.get(key)

    seconds = found("function_timeout", FUNCTION_TIMEOUT)
    memory = found("memory_limit", MEMORY_LIMIT)
    policy = found("on_failure", ON_FAILURE)
    if seconds is None and memory is None and policy is None:
        return UNLIMITED
    try:
        on_failure = OnFailure(policy or OnFailure.FAIL)
    except ValueError:
        raise ArgumentError(
            f"expected 'fail', 'skip' or 'retry' for on_failure of pass "
            f"'{step.info.name}', got {policy!r}"
        ) from None
    return Budget(seconds, memory, on_failure)


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
) -> Any:
    """Return what the body of a pass makes of a function, under a budget.

    Args:
        budget: The budget.
        pass_name: The pass.
        name: The function's name.
        function: The function, which is returned if it is skipped.
        body: Calls the body.
        guard: Limits memory while it is entered.
        away: Seconds so far that are not to be counted.

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
        try:
            with recording(inner):
                result = _limited(budget, pass_name, name, body, guard, away)
        except Exception as error:
            is_told = isinstance(error, DiagnosticError)  # the program is at fault
            if tries and not is_told:
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
    try:
        if guard is None or budget.memory is None:
            result = body()
        else:
            with guard(budget.memory):
                result = body()
    except MemoryError as error:
        if budget.memory is None:
            raise
        raise MemoryLimitError(
            pass_name=pass_name, function=name, limit=budget.memory
        ) from error
    spent = time.perf_counter() - away() - began
    if budget.seconds is not None and spent > budget.seconds:
        raise FunctionTimeoutError(
            pass_name=pass_name, function=name, limit=budget.seconds
        )
    return result


__all__ = [
    "UNLIMITED",
    "Budget",
    "LimitArguments",
    "Limits",
    "MemoryGuard",
    "are_limited",
    "budgets_of",
    "limits_in_force",
    "limits_of_call",
    "reason_of",
    "skipped",
    "tell_skipped",
    "within",
]
