"""How much is logged and warned of, as the workers have to know it.

What a pass logs is given to the coordinator's handlers; but whether something is logged
at all, and whether a warning is an error, is asked where the body runs.
"""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from parpass.runner.travel.pickling import pack_by_value
from parpass.runner.travel.reloading import is_of_program
from parpass.transform.saying.interception import filters_in_force

_applied: LoggingState | None = None
_packed: tuple[LoggingState, bytes] | None = None  # the last that was
_loaded: tuple[bytes, LoggingState] | None = None  # likewise


class LoggingState(msgspec.Struct, frozen=True):
    """The levels of loggers and the filters of warnings.

    Attributes:
        disabled: What `logging.disable` was given.
        levels: Of the loggers that have one of their own.
        silent: The loggers that are disabled.
        filters: Those of `warnings`.
    """

    disabled: int
    levels: Mapping[str, int]
    silent: Sequence[str]
    filters: Sequence[tuple[Any, ...]]

    @classmethod
    def take(cls) -> LoggingState:
        """Return that of this process."""
        loggers = _loggers()
        return cls(
            logging.root.manager.disable,
            {name: logger.level for name, logger in loggers.items() if logger.level},
            [name for name, logger in loggers.items() if logger.disabled],
            filters_in_force(),
        )

    def packed(self) -> bytes:
        """Return it as bytes; mostly they are what they were.

        Raises:
            Exception: A filter cannot be pickled.
        """
        # The filters take as long to pickle as all else that goes with a small stage.
        global _packed
        last = _packed
        if last is not None and last[0] == self:
            return last[1]
        packed = pack_by_value(astuple(self))
        if not any(is_of_program(one[2].__module__) for one in self.filters):
            _packed = self, packed  # else a class may change while it stays the same
        return packed

    @classmethod
    def loaded(cls, packed: bytes) -> LoggingState:
        """Return what was packed: a new object, as bodies may change what it set."""
        global _loaded
        last = _loaded
        if last is None or last[0] != packed:
            last = _loaded = packed, cls(*pickle.loads(packed))  # of our own
        return replace(last[1])

    def apply(self) -> None:
        """Make it that of this process, which is a worker's own."""
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
    # A copy at once: other threads may be making loggers.
    known = dict(logging.root.manager.loggerDict)
    found = {n: one for n, one in known.items() if isinstance(one, logging.Logger)}
    found[logging.root.name] = logging.root
    return found
