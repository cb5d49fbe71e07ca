"""What printers write: parts that give further parts, by a stack and no recursion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

# A part of the text: a string, or what gives further parts when its turn has come.
Part: TypeAlias = "str | Callable[[], Sequence[Part]]"

_DEEPEST_INDENT = 20


def written(parts: Sequence[Part]) -> str:
    """Return the text that parts are, each asked for in the order of the text."""
    text: list[str] = []
    waiting = [*reversed(parts)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            text.append(part)
        else:
            waiting += reversed(part())
    return "".join(text)


def indent(depth: int) -> str:
    """Return what stands before a line so deep in blocks.

    Blocks deeper than a screen is wide are indented no further: the text of 100,000
    nested blocks would be quadratic in size otherwise.
    """
    return "  " * min(depth, _DEEPEST_INDENT)
