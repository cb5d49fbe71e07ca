"""What a page has its reader run, and do in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from docs.site.blocks import Block, blocks


def snippets(page: Path) -> Iterator[Block]:
    """Yield the Python of a page, piece by piece."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "python":
            yield block


class Edit(NamedTuple):
    """Lines that go into a file, at a line that is there once, or wherever it is.

    Attributes:
        file: The path of the file in its folder.
        side: Where they go: `after`, `before` or `in place of` the line.
        line: The line.
        text: The lines.
        is_each: Whether they go to each such line, however that is indented, and are
            indented alike; then the line has no indentation, nor have they.
    """

    file: str
    side: str
    line: str
    text: str
    is_each: bool = False

    def apply(self, folder: Path) -> None:
        """Write the lines into the file.

        Raises:
            AssertionError: The line is not there, or not once.
        """
        path = folder / self.file
        lines = path.read_text(encoding="utf-8").splitlines(True)
        found = [at for at, line in enumerate(lines) if self._is_there(line)]
        assert found, f"{self.file}: {self.line!r}"
        assert self.is_each or len(found) == 1, f"{self.file}: {self.line!r}"
        for at in reversed(found):
            text = self.text
            if self.is_each:
                line = lines[at]
                text = indent(text, line[: len(line) - len(line.lstrip())])
            lines[at + (self.side == "after") : at + (self.side != "before")] = [text]
        path.write_text("".join(lines), encoding="utf-8")

    def _is_there(self, line: str) -> bool:
        return (line.lstrip() if self.is_each else line) == f"{self.line}\n"


# The sentence ends with a colon, be it that of the line that it names.
_PLACE = re.compile(
    r"^In `([^`]+)`, (after|before|in place of)( each)? `([^\n]*)`(?:(?<=:`)|:)\n\n\Z",
    re.MULTILINE,
)


def steps(page: str) -> Iterator[Block | Edit]:
    """Yield what a page has its reader do in a folder.

    Blocks are files and commands; lines that go into a file are edits.
    """
    for block in blocks(page):
        place = _PLACE.search(page, 0, block.begin)
        if place is None:
            yield block
        else:
            file, side, each, line = place.groups()
            yield Edit(file, side, line, block.text, each is not None)
