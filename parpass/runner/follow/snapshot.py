"""The settings in force for a stage, which workers take over: context, contextvars."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from parpass.runner.follow.pickling import find_unpicklable
from parpass.runner.follow.propagation import propagated_values, setting_contextvars
from parpass.transform import PassContext
from parpass.transform.budget import Settings, setting_limits
from parpass.transform.capture.change import Wanted
from parpass.transform.capture.intercept import allowing_capture
from parpass.transform.capture.recorder import function_pass_body
from parpass.transform.context import in_force


class Snapshot(msgspec.Struct, frozen=True):
    """A PassContext without instruments, and the propagated contextvars."""

    opt_level: int
    required_pass: tuple[str, ...]
    disabled_pass: tuple[str, ...]
    config: Mapping[str, Any]
    contextvars: Mapping[str, Any]
    remarks_enabled: bool = False
    wanted_changes: Sequence[Wanted] = ()
    measures_memory: bool = False

    @classmethod
    def take(cls, context: PassContext) -> Snapshot:
        return cls(
            context.opt_level,
            context.required_pass,
            context.disabled_pass,
            dict(context.config),
            propagated_values(),
            context.remarks_enabled,
            () if context.change_watch is None else context.change_watch.wanted,
            bool(context.memory),
        )

    def find_unpicklable(self) -> str | None:
        parts = [(f"config['{key}']", value) for key, value in self.config.items()]
        parts += [
            (f"the propagated contextvar '{name}'", value)
            for name, value in self.contextvars.items()
        ]
        reasons = (find_unpicklable(value, name) for name, value in parts)
        return next((reason for reason in reasons if reason), None)

    def context(self) -> PassContext:
        # Without checks: the values were checked when they were set, and options that
        # a module of the program registered may be unknown in this process.
        return PassContext.restored(
            self.opt_level,
            self.required_pass,
            self.disabled_pass,
            self.config,
            self.remarks_enabled,
            self.wanted_changes,
        )

    @contextlib.contextmanager
    def activated(self, context: PassContext, limits: Settings) -> Generator[None]:
        """Put the settings in force in a block that runs passes.

        Args:
            context: The context of the settings.
            limits: Those of the call.
        """
        with (
            in_force(context),
            setting_contextvars(self.contextvars),
            setting_limits(limits),
            function_pass_body(),
            allowing_capture(),
        ):
            yield
