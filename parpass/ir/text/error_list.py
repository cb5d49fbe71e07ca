"""The errors of a text, collected by its parser and raised together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.diagnostic import Diagnostic, DiagnosticLevel, Span, format_diagnostic
from parpass.errors import ParseError
from parpass.errors.core import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_SHOWN = 20
# Comparing names takes time that grows with both numbers.
_LONGEST_NAME = 60
_MOST_CANDIDATES = 2000


class ErrorList:
    """Collects the errors of one text.

    Beyond the first twenty they are only counted: the search for near names takes time.

    Args:
        source_name: The name of the text.
        text: The text.
    """

    def __init__(self, source_name: str, text: str) -> None:
        self.source_name = source_name
        self._text = text
        self._found: list[Diagnostic] = []
        self._more = 0

    def span_at(self, position: int, length: int = 1) -> Span:
        """Return a span within a line, from an offset in characters."""
        line = self._text.count("\n", 0, position) + 1
        column = position - self._text.rfind("\n", 0, position)
        return Span(self.source_name, line, line, column, column + length)

    def __len__(self) -> int:
        return len(self._found) + self._more

    @property
    def is_full(self) -> bool:
        """Whether there are so many that no more are shown."""
        return len(self._found) >= _MOST_SHOWN

    def report(self, where: Span, message: str) -> None:
        """Add an error."""
        if self.is_full:
            self._more += 1
            return
        self._found.append(Diagnostic(DiagnosticLevel.ERROR, where, message))

    def withdraw(self, where: Span) -> None:
        """Remove the last error if it is at a place."""
        if self._found and self._found[-1].span == where and not self._more:
            self._found.pop()

    def report_unknown(
        self, where: Span, what: str, name: str, known: Iterable[str]
    ) -> None:
        """Add an error for an unknown name, with the nearest known names."""
        short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        hint = ""
        if short == name and not self.is_full:
            candidates = [at for at in known if len(at) <= _LONGEST_NAME]
            hint = did_you_mean(name, candidates[-_MOST_CANDIDATES:])
        self.report(where, f"no {what} '{short}'{hint}")

    def raise_if_any(self) -> None:
        """Raise the collected errors, if any.

        Raises:
            ParseError: All errors that were collected.
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
