"""Passes that log and warn, and all that is heard of them."""

from __future__ import annotations

import contextlib
import logging
import threading
import warnings
from collections.abc import Generator
from typing import Any

from parpass.transform import FunctionPass, PassContext, PassInfo
from tests.support.toy.ir import Fn, Program

LOGGER = "tests.talking"

Heard = list[tuple[Any, ...]]


class NumberWarning(UserWarning):
    """A number is odd."""


class Talk(FunctionPass):
    """Logs, and warns of, the numbers in a function; fails, or goes on, after."""

    pass_info = PassInfo(0, "Talk")
    cacheable = "1"

    def __init__(self, fail_on: int | None = None, level: int = logging.INFO) -> None:
        self.fail_on = fail_on
        self.level = level

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        logger = logging.getLogger(LOGGER)
        logger.debug("looking at %s", func)
        for value in func.values:
            logger.log(self.level, "met %d", value, extra={"number": value})
            if value % 2:
                warnings.warn(f"{value} is odd", NumberWarning, stacklevel=1)
                warnings.warn("some are odd", UserWarning, stacklevel=2)
        if self.fail_on in func.values:
            logger.error("giving up")
            raise ValueError(f"met {self.fail_on}")
        return func.with_values(value + 1 for value in func.values)


class TalkAside(FunctionPass):
    """Looks at another function, and tells of it things that are hard to send."""

    pass_info = PassInfo(0, "TalkAside")
    cacheable = "1"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        other = mod["f0"]
        logger = logging.getLogger(f"{LOGGER}.aside")
        logger.warning("saw %s", other.values, extra={"lock": threading.Lock()})
        try:
            raise KeyError("aside")
        except KeyError:
            logger.exception("met %s", threading.Lock)
        return func


class Catch(FunctionPass):
    """Catches a warning, by which what was shown before may be shown again."""

    pass_info = PassInfo(0, "Catch")
    cacheable = "1"

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            warnings.warn("caught", UserWarning, stacklevel=1)
        return func


class WarnOfAll(FunctionPass):
    """Reads all functions, and warns of the same before and after.

    Args:
        catches: Whether it also does what `Catch` does, before it reads.
    """

    pass_info = PassInfo(0, "WarnOfAll")
    cacheable = "1"

    def __init__(self, catches: bool = False) -> None:
        self.catches = catches

    def transform_function(self, func: Fn, mod: Program, ctx: PassContext) -> Fn:
        for _ in range(2):
            warnings.warn("some", UserWarning, stacklevel=1)
            if self.catches:
                Catch().transform_function(func, mod, ctx)
            sum(len(one.values) for one in mod.functions.values())
        return func


def told(record: logging.LogRecord) -> tuple[Any, ...]:
    """Return what a record says, clocks and processes left out."""
    extra = vars(record)
    kind = record.exc_info[0] if record.exc_info else None
    return (
        record.name,
        record.levelname,
        record.getMessage(),
        record.funcName,
        record.lineno,
        extra.get("number"),
        kind,
        extra.get("parpass_pass"),
        extra.get("parpass_function"),
    )


class _Listener(logging.Handler):
    def __init__(self, heard: Heard) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(told(record))


@contextlib.contextmanager
def listening(
    level: int = logging.DEBUG, action: Any = "default", odd: Any = None
) -> Generator[Heard]:
    """Hear logs and warnings, in their order; the filters are these and no others."""
    heard: Heard = []
    logger = logging.getLogger(LOGGER)
    listener = _Listener(heard)

    def show(message: Any, category: Any, filename: Any, lineno: Any, *_: Any) -> None:
        heard.append((category, str(message), filename, lineno))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter(action)
        if odd is not None:
            warnings.simplefilter(odd, NumberWarning)
        warnings.showwarning = show
        logger.addHandler(listener)
        logger.setLevel(level)
        before, logger.propagate = logger.propagate, False
        try:
            yield heard
        finally:
            logger.propagate = before
            logger.removeHandler(listener)
            logger.setLevel(logging.NOTSET)
