"""The settings in force for a stage, frozen and pickled for the workers.

Log records of a pass are handled in the process of the coordinator. But whether a
record is logged at all, and whether a warning is an error, is decided in the worker, so
levels and filters are part of the settings.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import warnings
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from parpass.runner.ipc.module_sync import is_user_module
from parpass.runner.ipc.pickling import find_unpicklable, pickle_by_value
from parpass.runner.ipc.propagation import propagated_values, setting_contextvars
from parpass.transform import PassContext
from parpass.transform.capture.change import Wanted
from parpass.transform.capture.intercept import active_filters
from parpass.transform.context import in_force

_applied: LoggingState | None = None
_last_encoded: tuple[LoggingState, bytes] | None = None
_last_decoded: tuple[bytes, LoggingState] | None = None


class LoggingState(msgspec.Struct, frozen=True):
    """The levels of loggers and the filters of warnings in a process.

    Attributes:
        disabled: The level that `logging.disable` was given.
        levels: The levels of loggers, by name; without those that inherit theirs.
        silent: The names of disabled loggers.
        filters: The filters of `warnings`.
    """

    disabled: int
    levels: Mapping[str, int]
    silent: Sequence[str]
    filters: Sequence[tuple[Any, ...]]

    @classmethod
    def take(cls) -> LoggingState:
        """Return the state of this process."""
        loggers = _loggers()
        return cls(
            logging.root.manager.disable,
            {name: logger.level for name, logger in loggers.items() if logger.level},
            [name for name, logger in loggers.items() if logger.disabled],
            active_filters(),
        )

    def encode(self) -> bytes:
        """Return the state as bytes; those of the last call, if it is equal.

        Raises:
            Exception: A filter cannot be pickled.
        """
        # Pickling the filters takes as long as all the rest of a small stage.
        global _last_encoded
        last = _last_encoded
        if last is not None and last[0] == self:
            return last[1]
        encoded = pickle_by_value(astuple(self))
        if not any(is_user_module(one[2].__module__) for one in self.filters):
            # Only then: a class of the program may change while it stays equal.
            _last_encoded = self, encoded
        return encoded

    @classmethod
    def decode(cls, encoded: bytes) -> LoggingState:
        """Return the state that `encode` encoded, as a new object.

        `apply` skips the object that it applied last, and passes may have changed the
        settings of the process since.
        """
        global _last_decoded
        last = _last_decoded
        if last is None or last[0] != encoded:
            # The bytes are from the coordinator.
            last = _last_decoded = encoded, cls(*pickle.loads(encoded))
        return replace(last[1])

    def apply(self) -> None:
        """Set this process, a worker, to the state."""
        global _applied
        if _applied is self:
            return
        _applied = self
        loggers = _loggers()
        for name in (*self.levels, *self.silent):
            if name not in loggers:
                loggers[name] = logging.getLogger(name)
        silent = set(self.silent)
        for name, logger in loggers.items():
            level = self.levels.get(name, logging.NOTSET)
            if logger.level != level:
                logger.setLevel(level)
            logger.disabled = name in silent
        if logging.root.manager.disable != self.disabled:  # else no cache is emptied
            logging.disable(self.disabled)
        warnings.resetwarnings()
        warnings.filters = list(self.filters)


def _loggers() -> dict[str, logging.Logger]:
    # A copy, since other threads may create loggers meanwhile.
    known = dict(logging.root.manager.loggerDict)
    found = {n: one for n, one in known.items() if isinstance(one, logging.Logger)}
    found[logging.root.name] = logging.root
    return found


class Snapshot(msgspec.Struct, frozen=True):
    """A PassContext without instruments, the propagated contextvars, the log levels."""

    opt_level: int
    required_pass: tuple[str, ...]
    disabled_pass: tuple[str, ...]
    config: Mapping[str, Any]
    contextvars: Mapping[str, Any]
    logging: LoggingState
    remarks_enabled: bool = False
    wanted_changes: Sequence[Wanted] = ()
    measures_memory: bool = False

    @classmethod
    def take(cls, context: PassContext) -> Snapshot:
        """Return a snapshot of a context and of the current contextvars."""
        return cls(
            context.opt_level,
            context.required_pass,
            context.disabled_pass,
            dict(context.config),
            propagated_values(),
            LoggingState.take(),
            context.remarks_enabled,
            () if context.change_watch is None else context.change_watch.wanted,
            bool(context.memory),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_snapshot, (
            self.opt_level,
            self.required_pass,
            self.disabled_pass,
            self.config,
            self.contextvars,
            self.logging.encode(),
            self.remarks_enabled,
            self.wanted_changes,
            self.measures_memory,
        )

    def find_unpicklable(self) -> str | None:
        """Return the path and error of what cannot be pickled; None if all can."""
        parts = [(f"config['{key}']", value) for key, value in self.config.items()]
        parts += [
            (f"the propagated contextvar '{name}'", value)
            for name, value in self.contextvars.items()
        ]
        parts += [(f"the warnings filter {one}", one) for one in self.logging.filters]
        reasons = (find_unpicklable(value, name) for name, value in parts)
        return next((reason for reason in reasons if reason), None)

    def context(self) -> PassContext:
        """Return a PassContext with these settings, for a worker."""
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
    def activated(self, context: PassContext) -> Generator[None]:
        """Put the settings in force in the `with` block, with their `context`."""
        with in_force(context), setting_contextvars(self.contextvars):
            yield


def _load_snapshot(
    opt_level: int,
    required: tuple[str, ...],
    disabled: tuple[str, ...],
    config: Mapping[str, Any],
    contextvars: Mapping[str, Any],
    logging: bytes,
    remarks_enabled: bool,
    wanted_changes: Sequence[Wanted],
    measures_memory: bool,
) -> Snapshot:
    loaded = LoggingState.decode(logging)
    settings = opt_level, required, disabled, config, contextvars, loaded
    return Snapshot(*settings, remarks_enabled, wanted_changes, measures_memory)
