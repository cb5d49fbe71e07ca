"""Tracebacks of passes that fail: from the user's call straight to the user's body.

Between the two are a dozen frames of the machine, and an event loop's besides where
workers are asked. They tell nobody what is wrong with a pass. With
`PARPASS_FULL_TRACEBACKS=1` in the environment they are shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_SHOW_ALL = "PARPASS_FULL_TRACEBACKS"

_package = Path(__file__).parents[1]
_MACHINE = tuple(f"{_package / room}{os.sep}" for room in ("transform", "runner"))

# Frames are known by file and name, as one from a worker has nothing else of its own.
_callers: set[tuple[str, str]] = set()


def calls_users_code(function: FunctionT) -> FunctionT:
    """Say that what a function of the machine calls was written by users."""
    code = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
    _callers.add((code.co_filename, code.co_name))
    return function


def fold(error: BaseException) -> None:
    """Leave the machine's frames out of the traceback of what users' code raised.

    To be called where that leaves the machine: in an `except` that raises it again, so
    that the frame there is left out too. Errors of the machine's own keep all frames.
    """
    if os.environ.get(_SHOW_ALL):
        return
    last = _last_of_the_machine(error.__traceback__)
    if last is None:
        return
    _put(error, _users(last.tb_next))
    for linked in _linked(error):
        frames = _users(linked.__traceback__)
        if frames is not None:
            _put(linked, frames)


class _Folding:
    """Folds what is raised while the block runs; it has no state."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            fold(error)


folding = _Folding()


def _last_of_the_machine(tb: TracebackType | None) -> TracebackType | None:
    """Return the frame that calls what users wrote, None if there is none."""
    if tb is not None and tb.tb_next is not None and not _is_machines(tb.tb_next):
        return tb  # it was folded below, in a call that this one has made
    while tb is not None and _place(tb) not in _callers:
        tb = tb.tb_next
    return tb


def _users(tb: TracebackType | None) -> TracebackType | None:
    """Return the frames from the first one on that is not the machine's."""
    while tb is not None and _is_machines(tb):
        tb = tb.tb_next
    return tb


def _is_machines(tb: TracebackType) -> bool:
    return _place(tb)[0].startswith(_MACHINE)


def _place(tb: TracebackType) -> tuple[str, str]:
    code = tb.tb_frame.f_code
    return code.co_filename, code.co_name


def _linked(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes and contexts of an error, and theirs, each once."""
    seen, waiting = {id(error)}, [error.__cause__, error.__context__]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += [one.__cause__, one.__context__]
            yield one


def _put(error: BaseException, tb: TracebackType | None) -> None:
    BaseException.with_traceback(error, tb)  # a class may be frozen, or have its own
