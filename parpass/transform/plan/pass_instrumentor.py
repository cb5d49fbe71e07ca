"""The passes that are open, and the commands that call the hooks around them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import msgspec

from parpass.errors.core import add_note
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.capture.change import AnyChange, wants
from parpass.transform.capture.intercept import allowing_capture_here, capturing
from parpass.transform.context import PassContext
from parpass.transform.instrument_hooks import Hooks, hooks_of
from parpass.transform.passes import Pass
from parpass.transform.plan.change_origin import real_changes
from parpass.transform.plan.commands import (
    CallEventHook,
    CallHook,
    Command,
    StepRecord,
)
from parpass.transform.plan.flat_pipeline import StageCursor


class ActivePass(msgspec.Struct):
    """A pass that has begun, and the instruments to be notified of its end.

    Each instrument whose before-hook ran has its after-hook or failure hook called
    once. `changes` are those of functions, by name, which no instrument got yet.
    """

    pass_: Pass
    given: Any
    entered: list[Hooks] = []
    changes: dict[str, list[AnyChange]] = {}

    def add_changes(self, changes: Iterable[AnyChange]) -> None:
        for change in changes:
            self.changes.setdefault(change.function, []).append(change)


class PassInstrumentor:
    """Yields the commands that call the hooks around passes.

    The clock for hooks is computed from `cursor`, the current stage. `given` is the
    module of the run, as an object.

    Attributes:
        opened: The passes that have begun, the innermost last.
        calling: The instrument whose hook was called last; None if a body ran since.
    """

    def __init__(
        self,
        context: PassContext,
        cursor: StageCursor,
        adapter: ModuleAdapter,
        given: Any,
    ) -> None:
        self._context, self._cursor = context, cursor
        self._adapter, self._given = adapter, given
        self.opened: list[ActivePass] = []
        self.calling: Hooks | None = None

    def current_hooks(self) -> list[Hooks]:
        """Return the hooks of the current instruments, in order.

        Call it each time: a hook or a pass may override the instruments.
        """
        return [hooks_of(one) for one in self._context.instruments]

    def enter(
        self, pass_: Pass, mod: Any, *, may_veto: bool
    ) -> Generator[Command, Any, bool]:
        """Begin a pass; return False if an instrument vetoes it."""
        should_run = True
        if may_veto and pass_.info.name not in self._context.required_pass:
            for hooks in self.current_hooks():
                if hooks.should_run is not None:
                    answer = yield self._call(hooks, "should_run", pass_, mod)
                    should_run = bool(answer) and should_run
        if should_run:
            opened = ActivePass(pass_, mod)
            self.opened.append(opened)
            for hooks in self.current_hooks():
                if hooks.run_before_pass is not None:
                    yield self._call(hooks, "run_before_pass", pass_, mod)
                opened.entered.append(hooks)
        return should_run

    def leave(self, mod: Any) -> Generator[Command, Any, None]:
        opened = self.opened[-1]
        if opened.changes:
            yield from self._tell_changes(opened)
        for hooks in self.current_hooks():
            if hooks in opened.entered:
                opened.entered.remove(hooks)
            if hooks.run_after_pass is not None:
                yield self._call(hooks, "run_after_pass", opened.pass_, mod)
        self.opened.pop()

    def call_failure_hooks(self, error: BaseException) -> Generator[Command, Any, None]:
        while self.opened:
            opened = self.opened.pop()
            entered = [
                hooks for hooks in self.current_hooks() if hooks in opened.entered
            ]
            for hooks in entered:
                if hooks.run_after_failed_pass is None:
                    continue
                failed = (hooks, "run_after_failed_pass", opened.pass_, opened.given)
                try:
                    yield self._call(*failed, error)
                except Exception as second:  # noqa: BLE001 -- attached to the first error
                    add_note(error, f"then {type(second).__name__}: {second}")

    def deliver(self, record: StepRecord) -> Generator[Command, Any, None]:
        """Give the remarks of the innermost pass to the instruments, one by one.

        A hook that raises ends the run, unless the pass has failed already.
        """
        info, time = self.opened[-1].pass_.info, self._cursor.hook_time
        for hooks in self.current_hooks():
            if hooks.on_remark is None:
                continue
            self.calling = hooks
            args = info, record.remarks
            try:
                yield CallEventHook(None, hooks, "on_remark", args, time)
            except Exception as error:
                if record.failure is None:
                    raise
                add_note(record.failure, f"then {type(error).__name__}: {error}")
        self.calling = None

    def _tell_changes(self, opened: ActivePass) -> Generator[Command, Any, None]:
        info, time = opened.pass_.info, self._cursor.hook_time
        watch, adapter = self._context.change_watch, self._adapter
        if watch is None:  # a hook has taken the instruments away
            return
        with allowing_capture_here(), capturing():  # what is emitted is not of the pass
            own = [
                watch.printed(one, adapter)
                for name, one in opened.changes.items()
                if wants(watch.wanted, info.name, name)
            ]
        changes = real_changes(opened.pass_, own, adapter, self._given)
        for hooks in self.current_hooks():
            told = [
                one
                for one in changes
                if wants((hooks.wanted,), info.name, one.function)
            ]
            if hooks.on_function_changed is not None and told:
                self.calling = hooks
                yield CallEventHook(
                    None, hooks, "on_function_changed", (info, told), time
                )

    def _call(
        self, hooks: Hooks, hook_name: str, pass_: Pass, mod: Any, *args: Any
    ) -> CallHook:
        self.calling = hooks
        seen = mod if hooks.observes_ir else None
        return CallHook(
            seen, hooks, hook_name, (pass_.info, *args), self._cursor.hook_time
        )
