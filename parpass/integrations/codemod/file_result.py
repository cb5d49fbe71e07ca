"""The result of a run of a codemod, file by file."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from parpass.integrations.codemod.source_file import CodemodFailure

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


@dataclass(frozen=True)
class FileResult:
    """The outcome of a codemod on one file.

    Attributes:
        path: The path by which it was found.
        before: Its original bytes.
        after: Its new bytes; the same if the codemod changed nothing.
        warnings: The warnings of the codemod.
        skipped: The reason why the codemod skipped it; empty if there is none.
        failure: The failure that left it unchanged; None if there is none.
        is_written: Whether the file contains the new bytes.
    """

    path: str
    before: bytes
    after: bytes
    warnings: tuple[str, ...] = ()
    skipped: str = ""
    failure: CodemodFailure | None = None
    is_written: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether the codemod changed the file."""
        return self.after != self.before

    def failure_text(self) -> str:
        """Return the failure as `PATH:LINE:COLUMN: MESSAGE`, and where it was raised.

        Empty if there is no failure.
        """
        failure = self.failure
        if failure is None:
            return ""
        place = self.path
        if failure.line is not None:
            place += f":{failure.line}:{failure.column or 1}"
        text = f"{place}: {failure.message}"
        raised_at = failure.raised_at.removeprefix(os.getcwd() + os.sep)
        return text + (f"\n  at {raised_at}" if raised_at else "")

    def diff(self, context: int = 3) -> str:
        """Return the change as a patch for `git apply -p0` and `patch -p0`.

        Args:
            context: The number of unchanged lines around each change.

        Returns:
            Lines that end in newlines; none if nothing changed.
        """
        if not self.is_changed:
            return ""
        before, after = _lines(self.before), _lines(self.after)
        path = f'"{self.path}"' if set(self.path) & set(' \t"\\') else self.path
        made = difflib.unified_diff(before, after, path, path, n=context)
        shown = [
            one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n"
            for one in made
        ]
        return "".join(shown)


def _lines(data: bytes) -> list[str]:
    """Return the lines of a file; those of a patch end at line feeds alone."""
    text = _text(data)
    lines = text.split("\n")
    return [f"{one}\n" for one in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _text(data: bytes) -> str:
    """Return a file as text: of the encoding that it declares, else as UTF-8."""
    for line in data.split(b"\n", 2)[:2]:
        found = _CODING.match(line)
        if found:
            try:
                return data.decode(found[1].decode())
            except (LookupError, UnicodeDecodeError):
                break
    return data.decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class CodemodResult:
    """The outcome of a codemod on files.

    Attributes:
        files: The results by path.
    """

    files: Mapping[str, FileResult]

    @cached_property
    def changed(self) -> Sequence[FileResult]:
        """The files that the codemod changed."""
        return [one for one in self.files.values() if one.is_changed]

    @cached_property
    def failed(self) -> Sequence[FileResult]:
        """The files that stay unchanged because of a failure."""
        return [one for one in self.files.values() if one.failure is not None]

    @cached_property
    def skipped(self) -> Sequence[FileResult]:
        """The files that the codemod skipped, each with its reason."""
        return [one for one in self.files.values() if one.skipped]
