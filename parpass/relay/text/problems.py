"""What is wrong with a text: collected while it is read, and shown together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parpass.diagnostic import Diagnostic, DiagnosticLevel, Span, format_diagnostic
from parpass.errors import ParseError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lark import Token

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MOST_SHOWN = 20
# Comparing names takes time that grows with both numbers.
_LONGEST_NAME = 60
_MOST_CANDIDATES = 2000


class Problems:
    """Collects the errors of one text.

    After the first twenty they are only counted: looking for near names takes time.

    Args:
        source_name: The name of the text.
        text: The text.
    """

    def __init__(self, source_name: str, text: str) -> None:
        self._source_name = source_name
        self._text = text
        self._found: list[Diagnostic] = []
        self._more = 0
        self._lines: list[str] | None = None

    def span(self, first: Token, last: Token | None = None) -> Span:
        """Return the stretch of text from one token to another one."""
        last = first if last is None else last
        return Span(
            self._source_name,
            first.line or 1,
            last.end_line or 1,
            first.column or 1,
            last.end_column or 1,
        )

    def span_at(self, position: int, length: int = 1) -> Span:
        """Return a stretch within a line that begins after so many characters."""
        line = self._text.count("\n", 0, position) + 1
        column = position - self._text.rfind("\n", 0, position)
        return Span(self._source_name, line, line, column, column + length)

    def is_blank(self, first: Token, last: Token) -> bool:
        """Return whether nothing but comments stands between two tokens."""
        if self._lines is None:
            self._lines = self._text.split("\n")
        lines = self._lines[(first.end_line or 1) - 1 : last.line]
        lines[-1] = lines[-1][: (last.column or 1) - 1]
        lines[0] = lines[0][(first.end_column or 1) - 1 :]
        return not _COMMENT.sub("", "\n".join(lines)).strip()

    @property
    def are_many(self) -> bool:
        """Whether there are so many that no more are shown."""
        return len(self._found) >= _MOST_SHOWN

    def report(self, where: Token | Span, message: str) -> None:
        """Add an error."""
        if self.are_many:
            self._more += 1
            return
        span = where if isinstance(where, Span) else self.span(where)
        self._found.append(Diagnostic(DiagnosticLevel.ERROR, span, message))

    def report_unknown(
        self, where: Token, what: str, name: str, known: Iterable[str]
    ) -> None:
        """Add the error that there is nothing of that name, with the nearest names."""
        short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        hint = ""
        if short == name and not self.are_many:
            candidates = [at for at in known if len(at) <= _LONGEST_NAME]
            hint = did_you_mean(name, candidates[-_MOST_CANDIDATES:])
        self.report(where, f"no {what} '{short}'{hint}")

    def raise_if_any(self) -> None:
        """End the reading if there were errors.

        Raises:
            ParseError: There were; it holds all that were collected.
        """
        if not self._found:
            return
        found = sorted(self._found, key=_place)
        shown = [format_diagnostic(diagnostic, self._text) for diagnostic in found]
        if self._more:
            shown.append(f"... and {self._more} more errors")
        raise ParseError("\n".join(shown), found)


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span is not None else (0, 0)
