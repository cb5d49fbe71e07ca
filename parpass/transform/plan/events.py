"""A pipeline laid out flat: the events that the plan walks through."""

from __future__ import annotations

from typing import final

import msgspec

from parpass.errors import (
    ArgumentError,
    ParpassError,
    UndefinedPassError,
    UnknownPassError,
)
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapters import wrong_input
from parpass.transform.config import STRICT_REQUIRED
from parpass.transform.context import PassContext
from parpass.transform.factories import create_pass, registered_passes
from parpass.transform.passes import FunctionPass, Pass, Sequential


@final
class Enter(msgspec.Struct, eq=False, gc=False):
    """A pass begins; `end` is the index after its Leave, where a vetoed pass goes."""

    pass_: Pass
    end: int = 0


@final
class Leave(msgspec.Struct, frozen=True, gc=False):
    """A pass ends."""

    pass_: Pass


class Step(msgspec.Struct, frozen=True, gc=False):
    """The body of a pass that works function by function.

    Attributes:
        pass_: The pass.
        is_counted: Whether bisection counts it. What others bring along it does not,
            nor what makes the IR whole again, nor what the context requires.
        restores: The pass that it restores the IR's invariants after, if it does.
    """

    pass_: Pass
    is_counted: bool = True
    restores: Pass | None = None


class Whole(msgspec.Struct, frozen=True, gc=False):
    """The body of a pass that works on the whole module; see `Step`."""

    pass_: Pass
    is_counted: bool = True


@final
class Impossible(msgspec.Struct, frozen=True):
    """Something that cannot be run; an error if the run comes here."""

    error: ParpassError


Body = Step | Whole
Event = Enter | Leave | Body | Impossible


def events_of(root: Pass, context: PassContext, adapter: ModuleAdapter) -> list[Event]:
    """Return the events of running `root`, with what it requires and restores."""
    made = _Events(context, adapter)
    made.add(root, is_counted=True)
    return made.events


class _Events:
    def __init__(self, context: PassContext, adapter: ModuleAdapter) -> None:
        self.events: list[Event] = []
        self._context = context
        self._required = context.required_pass
        self._adapter = adapter
        self._restoring_passes: dict[str, Pass | None] = {}
        self._is_strict = context.config.get(STRICT_REQUIRED, False)

    def add(
        self, pass_: Pass, *, is_counted: bool, restores: Pass | None = None
    ) -> None:
        events = self.events
        enter = Enter(pass_)
        events.append(enter)
        if isinstance(pass_, Sequential):
            for child in pass_.passes:
                self._add_child(child, pass_, is_counted=is_counted)
        else:
            wrong = wrong_input(pass_, self._adapter)
            if wrong is not None:
                events[-1] = Impossible(wrong)
                return
            is_counted = is_counted and not self._is_required(pass_)
            if pass_.is_functionwise:
                events.append(Step(pass_, is_counted, restores))
                restoring = self._restoring(pass_)
                if isinstance(pass_, FunctionPass) and restoring is not None:
                    self.add(restoring, is_counted=False, restores=pass_)
            else:
                events.append(Whole(pass_, is_counted))
        events.append(Leave(pass_))
        enter.end = len(events)

    def _restoring(self, pass_: Pass) -> Pass | None:
        kind, known = pass_.function_kind, self._restoring_passes
        if kind not in known:
            known[kind] = self._adapter.restoring_pass(kind)
        return known[kind]

    def _is_required(self, pass_: Pass) -> bool:
        if type(pass_) is type(self._restoring(pass_)):
            return True
        return bool(self._required) and pass_.info.name in self._required

    def _add_child(
        self, child: Pass | None, parent: Sequential, *, is_counted: bool
    ) -> None:
        if child is None:
            name = parent.info.name
            error = UndefinedPassError(
                f"'{name}' holds None for a pass", pass_name=name
            )
            self.events.append(Impossible(error))
            return
        info = child.info
        if not self._context.pass_enabled(info):
            return
        for name in info.required:
            self._add_required(name, child)
        self.add(child, is_counted=is_counted)

    def _add_required(self, name: str, child: Pass) -> None:
        # A required pass runs whatever its level, each time anew, and what it requires
        # itself does not count (contract items 7.7 and 7.8).
        try:
            required = create_pass(name)
        except UnknownPassError:
            unknown = UnknownPassError(
                name, registered_passes(), wanted_by=child.info.name
            )
            self.events.append(Impossible(unknown))
        except ArgumentError as error:
            self.events.append(Impossible(error))
        else:
            if not (
                self._is_strict and required.info.name in self._context.disabled_pass
            ):
                self.add(required, is_counted=False)
