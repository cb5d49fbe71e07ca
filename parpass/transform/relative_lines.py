"""Line numbers of a function, relative to where it begins in its sources.

A function that lines were added above has other spans, and passes do the same to it. So
a cache knows it by its relative lines, and moves what passes made of it to where it is.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from parpass.diagnostic import Span, lines_of


class ElsewhereError(Exception):
    """A span is not of the lines of a function, so it does not move with them."""


class LineBase(Protocol):
    """The lines that those in an encoded function are relative to."""

    def base_of(self, span: Span) -> int:
        """Return the line that those of a span are relative to."""
        ...

    def refer(self, name: str) -> None:
        """Note a reference to another function, whose place is left out."""
        ...


class LineRange(NamedTuple):
    """The lines of a source that the spans of a function are on.

    Attributes:
        base: The line that others are relative to.
        first: The first one.
        last: The last one.
    """

    base: int
    first: int
    last: int


class RelativeLines:
    """The lines of a function, found as it is encoded.

    Attributes:
        ranges: The lines, by the name of the source.
        references: The functions that it refers to, by name.
    """

    __slots__ = ("ranges", "references")

    def __init__(self, ranges: dict[str, LineRange] | None = None) -> None:
        self.ranges = {} if ranges is None else ranges
        self.references: set[str] = set()

    def base_of(self, span: Span) -> int:
        """Add the lines of a span; return the line that they are relative to."""
        source, (line, end) = span.source_name, lines_of(span)
        known = self.ranges.get(source)
        if known is None:
            self.ranges[source] = LineRange(line, line, max(line, end))
            return line
        base, first, last = known
        if line < first or line > last or end > last:
            self.ranges[source] = LineRange(
                base, min(line, first), max(line, end, last)
            )
        return base

    def __eq__(self, other: object) -> bool:
        """Return whether the lines are the same, of functions that are the same."""
        return isinstance(other, RelativeLines) and self.ranges == other.ranges

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- lines are added

    def refer(self, name: str) -> None:
        """Add a function that it refers to."""
        self.references.add(name)

    def has(self, span: Span) -> bool:
        """Return whether a span is within the lines."""
        known = self.ranges.get(span.source_name)
        if known is None:
            return False
        line, end = lines_of(span)
        return known.first <= line <= known.last and end <= known.last

    def base_within(self, span: Span) -> int:
        """Return the line that those of a span are relative to.

        Raises:
            ElsewhereError: The span is not within the lines.
        """
        if not self.has(span):
            raise ElsewhereError
        return self.ranges[span.source_name].base

    def moved(self, span: Span | None, to: RelativeLines) -> Span | None:
        """Return where a span is, if the function is at other lines.

        Raises:
            ElsewhereError: The span is not within the lines.
        """
        if span is None:
            return None
        base = self.base_within(span)
        return span.moved(to.ranges[span.source_name].base - base)


class WithinLines:
    """The lines that the spans of a result have to be within, to move with them.

    Args:
        lines: Those of the function before.
    """

    def __init__(self, lines: RelativeLines) -> None:
        self._lines = lines

    def base_of(self, span: Span) -> int:
        """Return the line that those of a span are relative to.

        Raises:
            ElsewhereError: The span is not within the lines.
        """
        return self._lines.base_within(span)

    def refer(self, name: str) -> None:
        """Do nothing: a reference is to where the other function is."""


class AbsoluteLines:
    """Lines as they are."""

    def base_of(self, span: Span) -> int:
        """Return 0."""
        del span
        return 0

    def refer(self, name: str) -> None:
        """Do nothing."""


ABSOLUTE = AbsoluteLines()
