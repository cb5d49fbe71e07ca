"""What the docstring of a pass shows, and the Python of a page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from parpass.ir.module import IRModule
from parpass.transform import Pass


def shows(pass_type: type[Pass], *programs: IRModule) -> bool:
    """Return whether the docstring of a pass shows these programs, in this order.

    Lines may be wrapped; types behind calls are left out.
    """
    doc = _in_one_line(inspect.getdoc(pass_type) or "")
    at = 0
    for program in programs:
        at = doc.find(_in_one_line(program.text(annotate=lambda _: "")), at)
        if at < 0:
            return False
    return True


_RETURNED = re.compile(r"^(def @.*\)) -> .* \{$", re.MULTILINE)


def shows_text(doc: str, *programs: str) -> bool:
    """Return whether a docstring shows texts of programs, in this order.

    Lines may be wrapped; types of what functions return may be left out.
    """
    doc, at = _in_one_line(doc), 0
    for program in programs:
        short = _RETURNED.sub(r"\1 {", program)
        found = [doc.find(_in_one_line(one), at) for one in (program, short)]
        at = max(found)
        if at < 0:
            return False
    return True


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


_PIECE = re.compile(r"^```python *(.*?)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Snippet(NamedTuple):
    """A piece of Python on a page.

    Attributes:
        file: Where its reader puts it; empty for what is run as it stands.
        code: The text.
        before: How many lines of the page are before it.
    """

    file: str
    code: str
    before: int


def snippets(page: Path) -> Iterator[Snippet]:
    """Yield the Python of a page, piece by piece."""
    text = page.read_text(encoding="utf-8")
    for found in _PIECE.finditer(text):
        before = text.count("\n", 0, found.start(2))
        yield Snippet(found[1], found[2], before)


# A block of a page for a folder: a file, a command, or lines for a file that is there.
# The sentence before those ends with a colon, be it that of the line that it names.
FOLDER_BLOCK = re.compile(
    r"(?:^In `(?P<into>[^`]+)`, (?P<side>after|before|in place of) "
    r"`(?P<line>[^\n]*)`(?:(?<=:`)|:)\n\n)?"
    r"^```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


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
