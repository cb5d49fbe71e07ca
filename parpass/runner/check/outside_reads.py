"""Notes what a pass reads of the world outside of the process while it runs.

That is for passes that declare that their results may be kept: such a result depends on
no file, clock or environment. It is watched which functions of Python's own modules for
the system the code of the program calls, directly or through a library.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from parpass.program_modules import is_of_program

# Modules whose functions ask the system, but for those that compute on their arguments.
_OF_SYSTEM = frozenset({"nt", "posix", "time", "_socket", "_sqlite3"})
_COMPUTING = frozenset(
    {
        *("fspath", "_path_normpath", "_path_splitroot", "_path_splitroot_ex"),
        *("sleep", "gmtime", "mktime", "strftime", "strptime", "asctime"),
    }
)
_OPENING = frozenset({"open", "open_code"})
_NOW = frozenset({"now", "utcnow", "today"})  # of the classes of `datetime`
# What these do is no part of a result: records have the time, modules are files.
_BESIDES = frozenset(
    {"importlib", "linecache", "logging", "parpass", "threading", "warnings"}
)
_ENVIRONMENT: Any = type(os.environ).__getitem__


@contextmanager
def outside_reads() -> Generator[list[str]]:
    """Yield a list for the first call of this thread that reads something outside."""
    found: list[str] = []

    def note(frame: FrameType, event: str, called: Any) -> None:
        if found:
            return
        if event == "c_call":
            what = _read_by(called)
        elif event == "call" and frame.f_code is _ENVIRONMENT.__code__:
            what = "os.environ"
        else:
            return
        if what is not None and _is_asked_by_program(frame):
            found.append(what)

    outer = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(outer)


def _read_by(called: Any) -> str | None:
    """Return what a built-in function reads, as text; None if it reads nothing."""
    name, owner = called.__name__, getattr(called, "__self__", None)
    module = getattr(called, "__module__", None)
    if module in _OF_SYSTEM and name not in _COMPUTING:
        return f"{'os' if module in ('nt', 'posix') else module.strip('_')}.{name}()"
    if module in ("io", "_io") and name in _OPENING:
        return "open()"
    if isinstance(owner, io.IOBase) and not isinstance(owner, io.BytesIO | io.StringIO):
        return f"{name}() of a file"
    kind = cast("Any", owner if isinstance(owner, type) else type(owner))
    if kind.__module__ == "datetime" and name in _NOW:
        return f"{kind.__qualname__}.{name}()"
    return None


def _is_asked_by_program(frame: FrameType | None) -> bool:
    """Return whether code of the program makes a call, and not something besides it."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] in _BESIDES:
            return False
        if is_of_program(module):
            return True
        frame = frame.f_back
    return False
