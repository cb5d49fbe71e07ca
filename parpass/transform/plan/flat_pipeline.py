"""The flat pipeline: the events that the plan interprets, and the cursor in a stage."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, final

import msgspec

from parpass.errors import (
    ArgumentError,
    ParpassError,
    UndefinedPassError,
    UnknownPassError,
)
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.adapter_registry import pass_input_error, unknown_pass_error
from parpass.transform.analysis import check_preserved
from parpass.transform.analysis_manager import Inherited
from parpass.transform.config import STRICT_REQUIRED
from parpass.transform.context import PassContext
from parpass.transform.pass_info import is_restoring
from parpass.transform.pass_registry import create_pass
from parpass.transform.passes import Pass, Sequential, restoring_after
from parpass.transform.plan.commands import RunStage, StageResult, StepRecord


@final
class Enter(msgspec.Struct, eq=False, gc=False):
    """A pass begins; `end` is the index after its Leave, where a vetoed pass goes."""

    pass_: Pass
    end: int = 0


@final
class Leave(msgspec.Struct, frozen=True, gc=False):
    """A pass ends."""

    pass_: Pass


@final
class Body(msgspec.Struct, frozen=True, gc=False):
    """The body of a pass that works function by function, or on the whole module.

    Attributes:
        is_counted: Whether bisection counts it; False for passes that others run, that
            the context requires, and that restore the IR's invariants.
        restores: The pass after which it restores the IR's invariants, if it does.
    """

    pass_: Pass
    is_counted: bool = True
    restores: Pass | None = None


@final
class Unresolved(msgspec.Struct, frozen=True):
    """A pass that cannot be run; an error if the run reaches it."""

    error: ParpassError


Event = Enter | Leave | Body | Unresolved


def flatten(root: Pass, context: PassContext, adapter: ModuleAdapter) -> list[Event]:
    """Return the events of running `root`, with required and restoring passes."""
    made = _Flattener(context, adapter)
    made.add(root, is_counted=True)
    return made.events


class _Flattener:
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
            wrong = pass_input_error(pass_, self._adapter)
            if wrong is not None:
                events[-1] = Unresolved(wrong)
                return
            if pass_.preserves:
                about = pass_.preserves, pass_.info.name
                check_preserved(*about, functionwise=pass_.is_functionwise)
            restoring = self._restoring(pass_)
            is_required = is_restoring(pass_, restoring)
            is_required = is_required or pass_.info.name in self._required
            events.append(Body(pass_, is_counted and not is_required, restores))
            restoring = restoring_after(pass_, restoring)
            if restoring is not None:
                if pass_.preserves:
                    restoring = _inheriting(restoring, pass_)
                self.add(restoring, is_counted=False, restores=pass_)
        events.append(Leave(pass_))
        enter.end = len(events)

    def _restoring(self, pass_: Pass) -> Pass | None:
        kind, known = pass_.function_kind, self._restoring_passes
        if kind not in known:
            known[kind] = self._adapter.restoring_pass(kind)
        return known[kind]

    def _add_child(
        self, child: Pass | None, parent: Sequential, *, is_counted: bool
    ) -> None:
        if child is None:
            name = parent.info.name
            error = UndefinedPassError(
                f"'{name}' holds None for a pass", pass_name=name
            )
            self.events.append(Unresolved(error))
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
            unknown = unknown_pass_error(name, self._adapter, wanted_by=child.info.name)
            self.events.append(Unresolved(unknown))
        except ArgumentError as error:
            self.events.append(Unresolved(error))
        else:
            if not (
                self._is_strict and required.info.name in self._context.disabled_pass
            ):
                self.add(required, is_counted=False)


def _inheriting(restoring: Pass, before: Pass) -> Pass:
    """Return a restoring pass that preserves what the pass before it does.

    It is a copy; where an adapter's pass cannot be changed, itself, which drops more.
    """
    try:
        made = copy.copy(restoring)
        made.preserves = Inherited(before.preserves)
    except Exception:  # noqa: BLE001 -- such as a frozen dataclass
        return restoring
    return made


class StageCursor:
    """The current stage, which may have run ahead of the plan; also of a module pass.

    Attributes:
        given: The module at its start.
        hook_time: The time that hooks read, within that in which the steps ran; None
            when the plan has caught up.
    """

    def __init__(self) -> None:
        self.steps: Sequence[Body] = ()
        self.given: Any = None
        self.hook_time: float | None = None
        self._command: RunStage | None = None
        self._ran = 0  # steps that have run
        self._records: deque[StepRecord] = (
            deque()
        )  # of steps that the plan has not reached
        self._pace = 0.0  # seconds of the clock for each second in workers

    @property
    def has_begun(self) -> bool:
        """Whether the stage has steps that the plan has not reached."""
        return bool(self._records) or self._ran < len(self.steps)

    @property
    def completed(self) -> int:
        return self._ran - len(self._records)

    def begin(
        self, steps: Sequence[Body], mod: Any, command: RunStage | None = None
    ) -> None:
        self.steps, self.given, self._command, self._ran = steps, mod, command, 0

    def remaining_command(self, mod: Any) -> RunStage:
        """Return the command for the steps that the driver has not run."""
        command = self._command
        assert command is not None
        if not self._ran:
            return command
        return msgspec.structs.replace(
            command,
            steps=command.steps[self._ran :],
            mod=mod,
            done=self._ran,
            is_restoring=self.steps[self._ran].restores is not None,
        )

    def take(self, result: StageResult) -> StepRecord:
        """Return the first record of a result; keep the others for `next_record`."""
        first, *others = result.records
        self._ran += len(result.records)
        if others:
            self._records.extend(others)
            total = sum([record.seconds for record in result.records])
            self._pace = (result.ended - result.began) / total if total else 0.0
            self.hook_time = result.began + first.seconds * self._pace
        return first

    def next_record(self) -> StepRecord | None:
        if not self._records:
            return None
        record = self._records.popleft()
        if not self._records:
            self.hook_time = None
        elif self.hook_time is not None:
            self.hook_time += record.seconds * self._pace
        return record
