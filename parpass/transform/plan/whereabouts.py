"""Which body of a pass this process is in, told to who outlives it.

The process may die in a body, and then cannot say any more where it was. So whoever
wants to know has it told before each body, and after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator

# The pass, and the function that it is on; None for a module pass.
Place = tuple[str, str | None]

_tell: Callable[[Place | None], object] | None = None
_now: Place | None = None


@contextlib.contextmanager
def told_to(tell: Callable[[Place | None], object]) -> Generator[None]:
    """Have `tell` called with each body that begins in this process in the block.

    When one ends it is called with the body around it, or with None.
    """
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


def begin_body(pass_name: str, function: str | None) -> Place | None:
    """Tell that a body begins; return what to `end_body` with."""
    global _now
    if _tell is None:
        return None
    outer, _now = _now, (pass_name, function)
    _tell(_now)
    return outer


def end_body(outer: Place | None) -> None:
    """Tell that a body ended."""
    global _now
    if _tell is not None:
        _now = outer
        _tell(outer)
