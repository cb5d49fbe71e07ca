"""The blocks of a page: what is between fences, and what their first lines say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$\n?",
    re.MULTILINE | re.DOTALL,
)
# A command goes on where its line ends in a backslash.
_COMMAND = re.compile(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n(.*)", re.DOTALL)


class Block(NamedTuple):
    """A block of a page.

    Attributes:
        kind: Its language.
        file: The name behind the language, of the file that has the text; or empty.
        text: What is between the fences.
        begin: Where the first fence begins in the page.
        end: Where the line behind the last fence does.
        before: How many lines of the page are before the text.
    """

    kind: str
    file: str
    text: str
    begin: int
    end: int
    before: int

    def session(self) -> tuple[str, str] | None:
        """Return the command behind `$ ` and what it prints; None if there is none."""
        command = _COMMAND.fullmatch(self.text)
        return None if command is None else (command[1], command[2])


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page's text that name a language, in their order."""
    for found in _BLOCK.finditer(page):
        before = page.count("\n", 0, found.start("text"))
        file = found["file"] or ""
        yield Block(found["kind"], file, found["text"], *found.span(), before)
