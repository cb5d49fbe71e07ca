"""Budgets: the limits of a pass on one function, and the policy if it fails.

A budget is set on the pass, by the attributes `function_timeout`, `memory_limit` and
`on_failure`; else on the call, `run_pipeline(..., function_timeout=5)`; else on the
context, by the options `parpass.function_timeout` and so on. Each of the three is
resolved separately.

In a worker a budget is enforced whatever the pass does: the coordinator kills an
overdue worker. In the coordinator that is impossible, so a pass that has taken too long
fails when it ends, and memory is not limited, unless the process may be interrupted for
it (`enforcing_budgets`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
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
    UnreadFunctionError,
)
from parpass.transform.capture.recorder import Recorder, current_recorder, recording
from parpass.transform.config import (
    FUNCTION_TIMEOUT,
    MEMORY_LIMIT,
    ON_FAILURE,
    OnFailure,
)
from parpass.transform.passes import Pass

# The three settings of a budget, as attributes of a pass or of `Limits`.
_limit_values = attrgetter("function_timeout", "memory_limit", "on_failure")
_NONE_SET = (None, None, None)


class Budget(msgspec.Struct, frozen=True):
    """The limits of a pass on one function, None for no limit, and the policy.

    Attributes:
        seconds: The time limit, in seconds.
        memory: The memory limit, in bytes.
        on_failure: The policy if a limit is exceeded or the pass fails.
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

    def __reduce__(self) -> Any:
        if self is UNLIMITED:  # nearly all are, and each stage sends them
            return "UNLIMITED"
        return Budget, (self.seconds, self.memory, self.on_failure)


UNLIMITED = Budget()


class Limits(msgspec.Struct, frozen=True):
    """The settings of a budget in one place; None for those that are not set."""

    function_timeout: float | None = None
    memory_limit: int | None = None
    on_failure: str | None = None

    def __reduce__(self) -> Any:
        if self is UNSET:
            return "UNSET"
        return Limits, (self.function_timeout, self.memory_limit, self.on_failure)


UNSET = Limits()
_call_limits: ContextVar[Limits] = ContextVar("parpass_limits_of_call", default=UNSET)


class setting_limits:  # noqa: N801 -- used like a function, as contextlib's own
    """A context manager that sets the limits of a call for the block."""

    __slots__ = ("_limits", "_token")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __enter__(self) -> None:
        self._token: Token[Limits] = _call_limits.set(self._limits)

    def __exit__(self, *_: object) -> None:
        _call_limits.reset(self._token)


def call_limits() -> Limits:
    """Return the limits of the current call."""
    return _call_limits.get()


def budgets_of(steps: Sequence[Pass], config: Mapping[str, Any]) -> tuple[Budget, ...]:
    """Return the budgets of passes under the options of a context.

    Raises:
        ArgumentError: A limit is not above 0, or a policy is unknown.
    """
    call = _call_limits.get()
    return tuple([_budget_of(step, config, call) for step in steps])


def any_limited(budgets: Sequence[Budget]) -> bool:
    """Return whether any budget has a limit or a policy, and so needs a worker.

    Only in a worker a limit can be enforced, and a death be survived.
    """
    return budgets.count(UNLIMITED) < len(budgets)


def _budget_of(step: Pass, config: Mapping[str, Any], call: Limits) -> Budget:
    # A pass of a decorated class, and a pass on some functions, wrap an inner one.
    inner = getattr(step, "_inst", None)
    if (
        inner is None
        and not config
        and _limit_values(step) == _limit_values(call) == _NONE_SET
    ):
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


MemoryGuard = Callable[[int], contextlib.AbstractContextManager[None]]
Enforcer = Callable[[Budget], contextlib.AbstractContextManager[None]]

_enforcer: ContextVar[Enforcer | None] = ContextVar("parpass_enforcer", default=None)


@contextlib.contextmanager
def enforcing_budgets(enforcer: Enforcer) -> Generator[None]:
    """Enforce the budgets of passes that run in this process within the block.

    Args:
        enforcer: Returns the context manager around each body that has a budget. It
            interrupts a body that exceeds it by an error of its own or a MemoryError.
    """
    token = _enforcer.set(enforcer)
    try:
        yield
    finally:
        _enforcer.reset(token)


def has_enforcer() -> bool:
    """Return whether budgets are enforced in this process."""
    return _enforcer.get() is not None


def skip_diagnostic(pass_name: str, function: str, reason: str) -> Diagnostic:
    """Return the diagnostic for a function that a failed pass leaves unchanged."""
    before, after = _skipped(pass_name)
    return Diagnostic.warning(None, f"{before}{function}{after}{reason}")


def skip_reasons(diagnostics: Iterable[Diagnostic], pass_name: str) -> dict[str, str]:
    """Return why a pass was skipped, by the functions that it left unchanged.

    Args:
        diagnostics: Those of a run, in which `skip_diagnostic` is looked for.
        pass_name: The pass.
    """
    before, after = _skipped(pass_name)
    reasons: dict[str, str] = {}
    for one in diagnostics:
        if one.message.startswith(before):
            function, _, reason = one.message.removeprefix(before).partition(after)
            reasons[function] = reason
    return reasons


def _skipped(pass_name: str) -> tuple[str, str]:
    """Return what a skip's message has before the function, and behind it."""
    before = f"pass '{pass_name}' was skipped on function '"
    return before, "', which stays as it was: "


def failure_reason(error: Exception) -> str:
    """Return the reason of a failure, for `skip_diagnostic`."""
    if isinstance(error, FunctionFailure):
        return error.reason
    return f"{type(error).__name__}: {error}"


def run_within(
    budget: Budget,
    pass_name: str,
    name: str,
    function: Any,
    body: Callable[[], Any],
    memory_guard: MemoryGuard | None = None,
    excluded_seconds: Callable[[], float] = float,
    on_retry: Callable[[], object] = int,
) -> Any:
    """Return the result of a pass body on a function, under a budget.

    Each attempt has the whole budget.

    Args:
        budget: The budget.
        pass_name: The pass.
        name: The function's name.
        function: The function, which is the result if the pass is skipped.
        body: Calls the body.
        memory_guard: Returns the context manager that limits memory.
        excluded_seconds: Returns the seconds so far that do not count.
        on_retry: Called before a second attempt.

    Raises:
        FunctionTimeoutError: The body took too long.
        MemoryLimitError: The body took too much memory.
        Exception: An exception of the body.
    """
    outer = current_recorder()
    attempts = 2 if budget.on_failure is OnFailure.RETRY else 1
    while True:
        attempts -= 1
        inner = Recorder(None) if outer is None else outer.nested()
        inner.pass_name, inner.function_name = pass_name, name
        try:
            with recording(inner):
                result = _run_limited(
                    budget, pass_name, name, body, memory_guard, excluded_seconds
                )
        except Exception as error:
            # These are faults of the program, not of the pass.
            is_final = isinstance(error, DiagnosticError) and error.is_rendered
            is_final = is_final or isinstance(error, UnreadFunctionError)
            if attempts and not is_final:
                on_retry()
                continue
            if budget.on_failure is OnFailure.SKIP and not is_final:
                report_skipped(pass_name, name, failure_reason(error))
                return function
            if outer is not None:
                outer.take_over(inner)
            raise
        if outer is not None:
            outer.take_over(inner)
        return result


def report_skipped(pass_name: str, name: str, reason: str) -> None:
    """Emit the diagnostic of a skipped pass in the recorder of that pass."""
    recorder = current_recorder()
    if recorder is not None:
        recorder.diag_ctx.emit(skip_diagnostic(pass_name, name, reason))


def _run_limited(
    budget: Budget,
    pass_name: str,
    name: str,
    body: Callable[[], Any],
    memory_guard: MemoryGuard | None,
    excluded_seconds: Callable[[], float],
) -> Any:
    began = time.perf_counter() - excluded_seconds()
    cause: Exception | None = None
    result = None
    try:
        with _enforcing(budget, memory_guard):
            try:
                result = body()
            except Exception as error:  # noqa: BLE001 -- raised below, if it was in time
                cause = error  # raised after the block, which would write to it
    except Exception as error:  # noqa: BLE001 -- raised by the guard itself
        cause = error
    spent = time.perf_counter() - excluded_seconds() - began
    if budget.seconds is not None and spent > budget.seconds:
        # Whatever its outcome: a worker would have been killed before.
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


def _enforcing(
    budget: Budget, memory_guard: MemoryGuard | None
) -> contextlib.AbstractContextManager[None]:
    enforcer = _enforcer.get()
    if enforcer is not None:
        return enforcer(budget)
    if memory_guard is None or budget.memory is None:
        return contextlib.nullcontext()
    return memory_guard(budget.memory)
