"""A pipeline laid out flat: the events that the plan walks through."""

from __future__ import annotations

from dataclasses import dataclass

from parpass.errors import (
    ArgumentError,
    ParpassError,
    UndefinedPassError,
    UnknownPassError,
)
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.config import STRICT_REQUIRED
from parpass.transform.context import PassContext
from parpass.transform.passes import FunctionPass, Pass, Sequential
from parpass.transform.registry import create_pass, registered_passes


@dataclass(slots=True)
class Enter:
    """A pass begins; `end` is the index after its Leave, where a vetoed pass goes."""

    pass_: Pass
    end: int = 0


@dataclass(frozen=True, slots=True)
class Leave:
    """A pass ends."""

    pass_: Pass


@dataclass(frozen=True, slots=True)
class Step:
    """The body of a pass that works function by function."""

    pass_: Pass


@dataclass(frozen=True, slots=True)
class Whole:
    """The body of a pass that works on the whole module."""

    pass_: Pass


@dataclass(frozen=True, slots=True)
class Impossible:
    """Something that cannot be run; an error if the run comes here."""

    error: ParpassError


Body = Step | Whole
Event = Enter | Leave | Body | Impossible


def lay_out(root: Pass, context: PassContext, adapter: ModuleAdapter) -> list[Event]:
    """Return the events of running `root`, with what it requires and restores."""
    events: list[Event] = []
    _add(root, context, adapter, events)
    return events


def _add(
    pass_: Pass, context: PassContext, adapter: ModuleAdapter, events: list[Event]
) -> None:
    enter = Enter(pass_)
    events.append(enter)
    if isinstance(pass_, Sequential):
        for child in pass_.passes:
            _add_child(child, pass_, context, adapter, events)
    elif pass_.is_functionwise:
        events.append(Step(pass_))
        restoring = adapter.restoring_pass()
        if isinstance(pass_, FunctionPass) and restoring is not None:
            _add(restoring, context, adapter, events)
    else:
        events.append(Whole(pass_))
    events.append(Leave(pass_))
    enter.end = len(events)


def _add_child(
    child: Pass | None,
    parent: Sequential,
    context: PassContext,
    adapter: ModuleAdapter,
    events: list[Event],
) -> None:
    if child is None:
        name = parent.info.name
        error = UndefinedPassError(f"'{name}' holds None for a pass", pass_name=name)
        events.append(Impossible(error))
        return
    if not context.pass_enabled(child.info):
        return
    strict = context.config.get(STRICT_REQUIRED, False)
    for name in child.info.required:
        # A required pass runs whatever its level, each time anew, and what it requires
        # itself does not count (contract items 7.7 and 7.8).
        try:
            required = create_pass(name)
        except UnknownPassError:
            unknown = UnknownPassError(
                name, registered_passes(), wanted_by=child.info.name
            )
            events.append(Impossible(unknown))
        except ArgumentError as error:
            events.append(Impossible(error))
        else:
            if not (strict and required.info.name in context.disabled_pass):
                _add(required, context, adapter, events)
    _add(child, context, adapter, events)
