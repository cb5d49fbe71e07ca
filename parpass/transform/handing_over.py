"""Whether anybody may look again at the function that a pass is given.

Functions that can be changed in place are best boxes: a pass takes out what is in one,
changes that, and puts it into a new box. If anybody may want to look into the old one
again, it has to keep a copy, which may take as long as the pass. That is so where
others read it, where the pass is tried again or skipped when it fails, and in a serial
run, whose modules are values. Mostly nobody does, in a worker.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import Any

_handed_over: ContextVar[Any] = ContextVar("parpass_handed_over", default=None)


def is_handed_over(function: Any) -> bool:
    """Return whether the pass that runs here may take this function for good.

    It may if it is the one that it was given, and nobody looks at that any more,
    whatever becomes of the pass.
    """
    return function is not None and _handed_over.get() is function


@contextlib.contextmanager
def handing_over(function: Any) -> Generator[None]:
    """Have a body that is called inside be given a function for good; None for none."""
    token = _handed_over.set(function)
    try:
        yield
    finally:
        _handed_over.reset(token)
