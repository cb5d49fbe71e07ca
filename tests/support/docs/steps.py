"""What a page has its reader run, and do in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docs.site.blocks import Block, blocks


def snippets(page: Path) -> Iterator[Block]:
    """Yield the Python of a page, piece by piece."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "python":
            yield block


class Edit(NamedTuple):
    """Lines that go into a file, at a line that is there once.

    Attributes:
        file: The path of the file in its folder.
        side: Where they go: `after`, `before` or `in place of` the line.
        line: The line.
        text: The lines.
    """

    file: str
    side: str
    line: str
    text: str

    def apply(self, folder: Path) -> None:
        """Write the lines into the file.

        Raises:
            AssertionError: The line is not there, or not once.
        """
        path = folder / self.file
        lines = path.read_text(encoding="utf-8").splitlines(True)
        assert lines.count(f"{self.line}\n") == 1, f"{self.file}: {self.line!r}"
        at = lines.index(f"{self.line}\n")
        lines[at + (self.side == "after") : at + (self.side != "before")] = [self.text]
        path.write_text("".join(lines), encoding="utf-8")


# The sentence ends with a colon, be it that of the line that it names.
_PLACE = re.compile(
    r"^In `([^`]+)`, (after|before|in place of) `([^\n]*)`(?:(?<=:`)|:)\n\n\Z",
    re.MULTILINE,
)


def steps(page: str) -> Iterator[Block | Edit]:
    """Yield what a page has its reader do in a folder.

    Blocks are files and commands; lines that go into a file are edits.
    """
    for block in blocks(page):
        place = _PLACE.search(page, 0, block.begin)
        yield block if place is None else Edit(place[1], place[2], place[3], block.text)
