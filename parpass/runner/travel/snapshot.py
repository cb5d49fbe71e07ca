"""The settings in force, frozen for a journey to the workers."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from parpass.runner.travel.logging_state import LoggingState
from parpass.runner.travel.pickling import why_not_picklable
from parpass.runner.travel.propagation import propagated_values, values_in_force
from parpass.transform import PassContext
from parpass.transform.context import in_force


class Snapshot(msgspec.Struct, frozen=True):
    """A PassContext without its instruments, propagated contextvars, what is logged."""

    opt_level: int
    required_pass: tuple[str, ...]
    disabled_pass: tuple[str, ...]
    config: Mapping[str, Any]
    contextvars: Mapping[str, Any]
    logging: LoggingState

    @classmethod
    def take(cls, context: PassContext) -> Snapshot:
        """Return a snapshot of a context and of this place's contextvars."""
        return cls(
            context.opt_level,
            context.required_pass,
            context.disabled_pass,
            dict(context.config),
            propagated_values(),
            LoggingState.take(),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (
            self.opt_level,
            self.required_pass,
            self.disabled_pass,
            self.config,
            self.contextvars,
            self.logging.packed(),
        )

    def why_not_picklable(self) -> str | None:
        """Return None if it can travel, else what is in the way, by its path."""
        parts = [(f"config['{key}']", value) for key, value in self.config.items()]
        parts += [
            (f"the propagated contextvar '{name}'", value)
            for name, value in self.contextvars.items()
        ]
        parts += [(f"the warnings filter {one}", one) for one in self.logging.filters]
        reasons = (why_not_picklable(value, name) for name, value in parts)
        return next((reason for reason in reasons if reason), None)

    def context(self) -> PassContext:
        """Return a PassContext with these settings, for the worker."""
        # The values were checked where they were set, and options that a module of
        # the user registered may be unknown in this process.
        return PassContext.restored(
            self.opt_level, self.required_pass, self.disabled_pass, self.config
        )

    @contextlib.contextmanager
    def in_force(self, context: PassContext) -> Generator[None]:
        """Make the settings current while passes run."""
        with in_force(context), values_in_force(self.contextvars):
            yield


def _loaded(
    opt_level: int,
    required: tuple[str, ...],
    disabled: tuple[str, ...],
    config: Mapping[str, Any],
    contextvars: Mapping[str, Any],
    logging: bytes,
) -> Snapshot:
    loaded = LoggingState.loaded(logging)
    return Snapshot(opt_level, required, disabled, config, contextvars, loaded)
