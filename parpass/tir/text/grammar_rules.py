"""Rules of a grammar as generators: a parser that does not recurse along the text.

A rule yields another one where that is due, and is sent what that read. What is open
are generators on a stack, so parts may be in each other as deep as one likes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

Rule: TypeAlias = "Generator[Rule, Any, Any]"


def followed(rule: Rule) -> Any:
    """Return what a rule reads."""
    opened, read = [rule], None
    while True:
        try:
            inner = opened[-1].send(read)
        except StopIteration as end:
            opened.pop()
            read = end.value
            if not opened:
                return read
        else:
            opened.append(inner)
            read = None
