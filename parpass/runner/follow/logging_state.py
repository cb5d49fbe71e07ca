"""The levels of loggers and the filters of warnings, which workers take over.

Log records of a pass are handled in the process of the coordinator. But whether a
record is logged at all, and whether a warning is an error, is decided in the worker.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parpass.program_modules import is_of_program
from parpass.transform.capture.intercept import active_filters, unwrap_patched


class LoggingState(msgspec.Struct, frozen=True):
    """The levels and filters of a process; may name classes and functions of modules.

    Loggers that inherit their level are left out of `levels`.
    """

    disabled_level: int
    levels: Mapping[str, int]
    disabled_loggers: Sequence[str]
    level_names: Mapping[str, int]
    added_methods: Mapping[str, Any]
    filters: Sequence[tuple[Any, ...]]

    @property
    def is_plain(self) -> bool:
        """Whether no part of it can change while the whole stays equal."""
        classes = [one[2].__module__ for one in self.filters]
        return not (self.added_methods or any(map(is_of_program, classes)))

    @classmethod
    def take(cls) -> LoggingState:
        loggers = _loggers()
        return cls(
            logging.root.manager.disable,
            {name: logger.level for name, logger in loggers.items() if logger.level},
            [name for name, logger in loggers.items() if logger.disabled],
            logging.getLevelNamesMapping(),
            _added_methods(),
            active_filters(),
        )

    def apply(self) -> None:
        for name, level in self.level_names.items():
            logging.addLevelName(level, name)
        for name, method in self.added_methods.items():
            setattr(logging.Logger, name, method)
        loggers = _loggers()
        for name in (*self.levels, *self.disabled_loggers):
            if name not in loggers:
                loggers[name] = logging.getLogger(name)
        disabled = set(self.disabled_loggers)
        for name, logger in loggers.items():
            level = self.levels.get(name, logging.NOTSET)
            if logger.level != level:
                logger.setLevel(level)
            logger.disabled = name in disabled
        # Only then, as it empties the caches of loggers.
        if logging.root.manager.disable != self.disabled_level:
            logging.disable(self.disabled_level)
        warnings.resetwarnings()
        warnings.filters = list(self.filters)


def _loggers() -> dict[str, logging.Logger]:
    # A copy, since other threads may create loggers meanwhile.
    known = dict(logging.root.manager.loggerDict)
    found = {n: one for n, one in known.items() if isinstance(one, logging.Logger)}
    found[logging.root.name] = logging.root
    return found


def _added_methods() -> dict[str, Any]:
    # Programs add a method for each level that they define.
    added = {
        name: unwrap_patched(value)
        for name, value in vars(logging.Logger).items()
        if not _is_of_logging(value)
    }
    return {name: value for name, value in added.items() if not _is_of_logging(value)}


def _is_of_logging(value: Any) -> bool:
    return getattr(value, "__module__", None) in ("logging", None)
