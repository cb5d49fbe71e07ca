"""Budgets: how long a pass may take on one function, how much memory, and what then.

A budget is set on the pass, by the attributes `function_timeout`, `memory_limit` and
`on_failure`; else on the call, `run_pipeline(..., function_timeout=5)`; else on the
context, by the options `parpass.function_timeout` and so on. Each of the three is
looked for on its own.

In a worker a budget holds whatever the pass does: the coordinator kills a worker that
is overdue. In this process nobody can do that, so a pass that has taken too long fails
when it ends, and memory is not limited, unless the process is one that may be disturbed
for it (`plan.within_budget.enforced_by`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from operator import attrgetter
from typing import Any

import msgspec

from parpass.errors import ArgumentError
from parpass.transform.config import (
    FUNCTION_TIMEOUT,
    MEMORY_LIMIT,
    ON_FAILURE,
    OnFailure,
)
from parpass.transform.passes import Pass


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

    def __reduce__(self) -> Any:
        if self is UNLIMITED:  # as nearly all are, which travel with each stage
            return "UNLIMITED"
        return Budget, (self.seconds, self.memory, self.on_failure)


UNLIMITED = Budget()


class Limits(msgspec.Struct, frozen=True):
    """What was given for a budget in one place; None where nothing was."""

    function_timeout: float | None = None
    memory_limit: int | None = None
    on_failure: str | None = None

    def __reduce__(self) -> Any:
        if self is UNSET:
            return "UNSET"
        return Limits, (self.function_timeout, self.memory_limit, self.on_failure)


UNSET = Limits()
_call: ContextVar[Limits] = ContextVar("parpass_limits_of_call", default=UNSET)


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
