"""Budgets: how long a pass may take on one function, how much memory, and what then.

A budget is set on the pass, by the attributes `function_timeout`, `memory_limit` and
`on_failure`; else on the call, `run_pipeline(..., function_timeout=5)`; else on the
context, by the options `parpass.function_timeout` and so on. Each of the three is
looked for on its own.

In a worker a budget holds whatever the pass does: the coordinator kills a worker that
is overdue. In this process nobody can do that, so a pass that has taken too long fails
when it ends, and memory is not limited, unless the process is one that may be disturbed
for it (`enforced_by`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar, Token
from operator import attrgetter
from typing import Any

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
from parpass.transform.saying.record import Recorder, current_recorder, recording

MemoryGuard = Callable[[int], contextlib.AbstractContextManager[None]]
Enforcer = Callable[["Budget"], contextlib.AbstractContextManager[None]]


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


UNSET = Limits()
_call: ContextVar[Limits] = ContextVar("parpass_limits_of_call", default=UNSET)
_enforcer: ContextVar[Enforcer | None] = ContextVar("parpass_enforcer", default=None)


class limits_in_force:  # noqa: N801 -- used like a function, as contextlib's own
    """Have budgets be those of a call while the block runs."""

    __slots__ = ("_limits", "_token")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __enter__(self) -> None:
        self._token: Token[Limits] = _call.set(self._limits)

    def __exit__(self, *_: object) -> None:
        _call.reset(self._token)


def limits_of_call() -> Limits:
    """Return the limits of the call that runs here."""
    return _call.get()


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


def budgets_of(steps: Sequence[Pass], config: Mapping[str, Any]) -> tuple[Budget, ...]:
    """Return the budgets of passes under a context's options.

    Raises:
        ArgumentError: A limit is not above 0, or there is no such policy.
    """
    call = _call.get()
    return tuple([_budget_of(step, config, call) for step in steps])


def are_limited(budgets: Sequence[Budget]) -> bool:
    """Return whether any of them has a limit or a policy, so that it needs a worker.

    There alone a limit can be enforced, and a death be outlived.
    """
    return budgets.count(UNLIMITED) < len(budgets)


_given = attrgetter("function_timeout", "memory_limit", "on_failure")
_NOTHING = (None, None, None)


def _budget_of(step: Pass, config: Mapping[str, Any], call: Limits) -> Budget:
    # A class that was decorated, and a pass on some functions, have an inner one.
    inner = getattr(step, "_inst", None)
    if inner is None and not config and _given(step) == _given(call) == _NOTHING:
        return UNLIMITED

    def found(name: str, key: str) -> Any:
        for place in (step, inner, call):
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
            is_told = isinstance(error, DiagnosticError)  # the program is at fault
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


__all__ = [
    "UNLIMITED",
    "UNSET",
    "Budget",
    "Enforcer",
    "Limits",
    "MemoryGuard",
    "are_enforced_here",
    "are_limited",
    "budgets_of",
    "enforced_by",
    "limits_in_force",
    "limits_of_call",
    "reason_of",
    "skipped",
    "tell_skipped",
    "within",
]
