"""Folding of tracebacks: the frames of parpass between user code are left out.

Between the user's call and a failing pass body are a dozen frames of parpass, and those
of an event loop in a parallel run, which do not help to find a fault in the pass. The
environment variable `PARPASS_FULL_TRACEBACKS=1` keeps them.
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
_INTERNAL = tuple(f"{_package / one}{os.sep}" for one in ("transform", "runner", "cli"))

# Frames are identified by file and name, all that is known of frames from workers.
_callers: set[tuple[str, str]] = set()


def calls_user_code(function: FunctionT) -> FunctionT:
    """Mark a function of parpass as a caller of user code (a decorator)."""
    code = function.__code__  # pyright: ignore[reportFunctionMemberAccess]
    _callers.add((code.co_filename, code.co_name))
    return function


def fold_traceback(error: BaseException) -> None:
    """Remove parpass's frames from the traceback of an error raised by user code.

    Linked errors (causes and contexts) are folded, too. Call it where the error leaves
    parpass, in an `except` block that raises it again, so that the frame of that block
    is removed as well. Errors that parpass itself raises keep all frames.
    """
    if os.environ.get(_SHOW_ALL):
        return
    last = _last_internal_frame(error.__traceback__)
    if last is None:
        return
    _set_traceback(error, _user_frames(last.tb_next))
    for linked in _linked_errors(error):
        frames = _user_frames(linked.__traceback__)
        if frames is not None:
            _set_traceback(linked, frames)


def traceback_of(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the user's first frame on.

    It is the whole traceback if no frame is the user's, or all are shown.
    """
    whole = error.__traceback__
    return whole if os.environ.get(_SHOW_ALL) else _user_frames(whole) or whole


class _Folding:
    """A context manager, without state, that folds the traceback of an exception."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            fold_traceback(error)


folding_tracebacks = _Folding()


def _last_internal_frame(tb: TracebackType | None) -> TracebackType | None:
    """Return the last frame that calls user code; None if there is none."""
    if tb is not None and tb.tb_next is not None and not _is_internal(tb.tb_next):
        return tb  # a nested call has folded it already
    while tb is not None and _location(tb) not in _callers:
        tb = tb.tb_next
    return tb


def _user_frames(tb: TracebackType | None) -> TracebackType | None:
    """Return the traceback from its first frame outside of parpass on."""
    while tb is not None and _is_internal(tb):
        tb = tb.tb_next
    return tb


def _is_internal(tb: TracebackType) -> bool:
    return _location(tb)[0].startswith(_INTERNAL)


def _location(tb: TracebackType) -> tuple[str, str]:
    code = tb.tb_frame.f_code
    return code.co_filename, code.co_name


def _linked_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes and contexts of an error, transitively, each once."""
    seen, waiting = {id(error)}, [error.__cause__, error.__context__]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += [one.__cause__, one.__context__]
            yield one


def _set_traceback(error: BaseException, tb: TracebackType | None) -> None:
    BaseException.with_traceback(error, tb)  # classes may be frozen, or override it
