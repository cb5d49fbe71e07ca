"""Which pass a failure is put down to, and the command that writes it down.

That the failing pass restores what another one broke makes the other one to blame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.errors.base import attribute_of
from parpass.transform.debug.reproducer import Failure
from parpass.transform.hooks import Hooks, hooks_of
from parpass.transform.passes import Pass, Sequential
from parpass.transform.plan.ahead import Ahead
from parpass.transform.plan.commands import Reproduce, StepRecord
from parpass.transform.plan.events import Body, Step
from parpass.transform.plan.watchers import Opened


def reproduce_body(
    event: Body,
    record: StepRecord,
    error: Exception,
    ahead: Ahead,
    opened: Sequence[Opened],
) -> Reproduce:
    """Return the command for a pass whose body failed."""
    steps: tuple[Pass, ...] = ()
    given, pass_, at = ahead.given, event.pass_, 0
    if isinstance(event, Step):
        steps = tuple(step.pass_ for step in ahead.steps)
        at = ahead.at - 1
        if event.restores is not None:
            pass_ = event.restores
            # Alone in its stage if instruments watch, or bisection numbers.
            steps, given = (steps, given) if at else ((pass_,), opened[-2].given)
            at = max(at - 1, 0)
    failure = Failure(pass_, record.pass_name, record.function, error)
    return Reproduce(steps, at, given, failure)


def reproduce_hook(
    hooks: Hooks, error: Exception, opened: Sequence[Opened], instruments: Sequence[Any]
) -> Reproduce:
    """Return the command for an instrument that failed, at the pass around it."""
    around = opened[-1]
    if len(opened) > 1 and not isinstance(opened[-2].pass_, Sequential):
        around = opened[-2]
    found = next((one for one in instruments if hooks_of(one) is hooks), None)
    name, function = around.pass_.info.name, attribute_of(error, "function")
    failure = Failure(around.pass_, name, function, error, found)
    return Reproduce((), 0, around.given, failure)
