"""Budgets: the limits of a pass on one function, and the policy if it fails.

A budget is set on the pass, by the attributes that `parpass.limits` lists and
`on_failure`; else on the call, `run_pipeline(..., function_timeout=5)`; else on the
context, by the options `parpass.function_timeout` and so on. Each is resolved
separately.

In a worker a budget is enforced whatever the pass does: the coordinator kills an
overdue worker. In the coordinator that is impossible, so a pass that has taken too long
fails when it ends, and memory is not limited, unless the process may be interrupted for
it (`enforcing_budgets`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Self, TextIO

import msgspec

from parpass.diagnostic import Diagnostic, DiagnosticLevel, SkippedPass
from parpass.errors import (
    ArgumentError,
    DiagnosticError,
    FunctionFailure,
    UnreadFunctionError,
)
from parpass.limits import LIMITS, Limit
from parpass.transform.capture.bodies import pausing_observers
from parpass.transform.capture.recorder import Recorder, current_recorder, recording
from parpass.transform.config import ON_FAILURE, OnFailure
from parpass.transform.passes import Pass, declared
from parpass.transform.variable_setting import setting


class Budget(msgspec.Struct, frozen=True):
    """The limits of a pass on one function, by name, and the policy if it fails."""

    limits: Mapping[str, Any] = {}
    on_failure: OnFailure = OnFailure.FAIL

    def __post_init__(self) -> None:
        for name, value in self.limits.items():
            if not value > 0:
                raise ArgumentError(f"expected {name} above 0, got {value!r}")

    def items(self) -> list[tuple[Limit, Any]]:
        limits = self.limits
        return [(one, limits[one.name]) for one in LIMITS if one.name in limits]

    def __reduce__(self) -> Any:
        if self is UNLIMITED:  # nearly all are, and each stage sends them
            return "UNLIMITED"
        return Budget, (self.limits, self.on_failure)


UNLIMITED = Budget()

# The settings of a budget that a place has: limits, and the policy, by name.
Settings = Mapping[str, Any]
UNSET: Settings = {}

_OPTIONS = {**{one.name: one.option for one in LIMITS}, "on_failure": ON_FAILURE}
_call_settings: ContextVar[Settings] = ContextVar("parpass_limits", default=UNSET)
call_limits = _call_settings.get
setting_limits = functools.partial(setting, _call_settings)  # for a block


def budgets_of(steps: Sequence[Pass], config: Mapping[str, Any]) -> tuple[Budget, ...]:
    """Return the budgets of passes under the options of a context.

    Raises:
        ArgumentError: A limit is not above 0, or a policy is unknown.
    """
    call = call_limits()
    others: dict[str, Any] = {}  # of the call, or else of the context
    if call or config:
        for name, option in _OPTIONS.items():
            value = call.get(name)
            value = config.get(option) if value is None else value
            if value is not None:
                others[name] = value
    return tuple([_budget_of(step, others) for step in steps])


def any_limited(budgets: Sequence[Budget]) -> bool:
    """Return whether any budget has a limit or a policy, and so needs a worker.

    Only in a worker a limit can be enforced, and a death be survived.
    """
    return budgets.count(UNLIMITED) < len(budgets)


def _budget_of(step: Pass, others: Settings) -> Budget:
    found = {**others, **declared(step, *_OPTIONS)}
    if not found:
        return UNLIMITED
    policy = found.pop("on_failure", OnFailure.FAIL)
    try:
        on_failure = OnFailure(policy)
    except ValueError:
        raise ArgumentError(
            f"expected 'fail', 'skip' or 'retry' for on_failure of pass "
            f"'{step.info.name}', got {policy!r}"
        ) from None
    return Budget(found, on_failure)


Enforcer = Callable[[Budget], AbstractContextManager[None]]

_enforcer: ContextVar[Enforcer | None] = ContextVar("parpass_enforcer", default=None)


def enforcing_budgets(enforcer: Enforcer) -> AbstractContextManager[object]:
    """Enforce the budgets of passes that run in this process within the block.

    `enforcer` returns the block around a body that has a budget: `in_worker`, say, or
    `interrupting`.
    """
    return setting(_enforcer, enforcer)


def has_enforcer() -> bool:
    return _enforcer.get() is not None


def in_worker(budget: Budget) -> AbstractContextManager[None]:
    """Hold a block to a budget, in a worker process: what no watchdog does."""
    return _all_of(
        limit.in_worker(value)
        for limit, value in budget.items()
        if limit.in_worker is not None
    )


def interrupting(budget: Budget) -> AbstractContextManager[None]:
    """Hold a block to a budget, in a process that may be interrupted for it."""
    items = budget.items()
    return _all_of(
        limit.here(value) for limit, value in items if limit.here is not None
    )


def or_exit(
    budget: Budget, file: TextIO, factor: float, grace: float
) -> AbstractContextManager[None]:
    """End this process if a block exceeds what nothing interrupts, as in C code.

    It may take `factor` times the limit, and `grace` more; then a traceback goes to
    `file`.
    """
    return _all_of(
        limit.or_exit(factor * value + grace, file)
        for limit, value in budget.items()
        if limit.or_exit is not None
    )


@contextlib.contextmanager
def _all_of(blocks: Iterable[AbstractContextManager[None]]) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)
        yield


def skip_diagnostic(pass_name: str, function: str, reason: str) -> Diagnostic:
    return Diagnostic(
        DiagnosticLevel.WARNING,
        None,
        f"pass '{pass_name}' was skipped on function '{function}', which stays as it "
        f"was: {reason}",
        SkippedPass(pass_name, function, reason),
    )


def skip_reasons(diagnostics: Iterable[Diagnostic], pass_name: str) -> dict[str, str]:
    """Return why a pass was skipped, by the functions that it left unchanged.

    Args:
        diagnostics: The diagnostics of a run.
        pass_name: The pass.
    """
    skips = [one.skipped for one in diagnostics if one.skipped is not None]
    return {one.function: one.reason for one in skips if one.pass_name == pass_name}


def failure_reason(error: Exception) -> str:
    if isinstance(error, FunctionFailure):
        return error.reason
    return f"{type(error).__name__}: {error}"


def run_within(
    budget: Budget,
    pass_name: str,
    name: str,
    function: Any,
    body: Callable[[], Any],
    on_retry: Callable[[], object] = int,
) -> Any:
    """Return the result of a pass body on a function, under a budget.

    Each attempt has the whole budget. `function` is the result if the pass is skipped.
    `on_retry` is called before a second attempt.

    Raises:
        FunctionFailure: The body exceeded a limit.
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
                result = _run_limited(budget, pass_name, name, body)
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
    budget: Budget, pass_name: str, name: str, body: Callable[[], Any]
) -> Any:
    enforcer = _enforcer.get()
    cause: Exception | None = None
    result = None
    with _Meter(budget) as meter:
        try:
            with contextlib.nullcontext() if enforcer is None else enforcer(budget):
                try:
                    result = body()
                except Exception as error:  # noqa: BLE001 -- raised below, if it was in time
                    cause = error  # raised after the block, which would write to it
        except Exception as error:  # noqa: BLE001 -- raised by the block itself
            cause = error
    for limit, value in budget.items():
        # Whatever its outcome: a worker would have been killed before.
        is_beyond = limit.clock is not None and meter.spent[limit.name] > value
        if is_beyond or (limit.raised is not None and isinstance(cause, limit.raised)):
            raise limit.error(pass_name, name, value) from cause
    if cause is not None:
        raise cause
    return result


class _Meter:
    """The time of a body, by the clocks of its limits, without that of `uncounted`."""

    def __init__(self, budget: Budget) -> None:
        self._clocks = {
            one.name: one.clock for one, _ in budget.items() if one.clock is not None
        }
        self.spent = dict.fromkeys(self._clocks, 0.0)

    def __enter__(self) -> Self:
        self._token = _meter.set(self)
        self.resume()
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()
        _meter.reset(self._token)

    def resume(self) -> None:
        for name, clock in self._clocks.items():
            self.spent[name] -= clock()

    def pause(self) -> None:
        for name, clock in self._clocks.items():
            self.spent[name] += clock()


_meter: ContextVar[_Meter | None] = ContextVar("parpass_meter", default=None)
_LIFTED = [one.lifted for one in LIMITS if one.lifted is not None]


@contextlib.contextmanager
def uncounted() -> Generator[None]:
    """Count the block, in a body, for nothing: it is not the body's own work.

    That is for no limit of the body, and for no observer of bodies.
    """
    meter = _meter.get()
    token = _meter.set(None)  # it is paused once, however deep the blocks are
    if meter is not None:
        meter.pause()
    try:
        with pausing_observers(), _all_of(lifted() for lifted in _LIFTED):
            yield
    finally:
        if meter is not None:
            meter.resume()
        _meter.reset(token)
