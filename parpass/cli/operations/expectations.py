"""Expected diagnostics in comments of a program, for `--verify-diagnostics`.

The comments are those of mlir-opt: the severity, perhaps a place, and in double braces
a part of the message::

    // expected-error@+1 {{no operator 'ad'}}
    ad(%x, %y)

Without a place the diagnostic is expected on the line of the comment; `@+2` and `@-1`
count from there, `@above` and `@below` are the next lines without such a comment, and
`@unknown` is for what has no place. After `-re`, what double braces inside of the
message hold is a regular expression.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from parpass.diagnostic import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    Span,
    format_diagnostic,
    override_renderer,
)
from parpass.errors import DiagnosticError

_COMMENT = re.compile(
    r"expected-(error|warning|note|help|bug)(-re)? *"
    r"(?:@([+-]\d+|above|below|unknown))? *\{\{(.*?)\}\}(?=\s*(?:$|//))"
)
_PATTERN = re.compile(r"\{\{(.*?)\}\}")


@contextlib.contextmanager
def collecting_diagnostics() -> Generator[list[Diagnostic]]:
    said: list[Diagnostic] = []

    def take(context: DiagnosticContext) -> None:
        said.extend(context.diagnostics)

    override_renderer(take)
    try:
        yield said
    finally:
        override_renderer(None)


@dataclass(frozen=True, eq=False)
class _Expected:
    """A diagnostic that a comment expects; `line` is None if it has no place."""

    comment: Span
    level: DiagnosticLevel
    line: int | None
    message: str
    is_pattern: bool

    def is_met_by(self, diagnostic: Diagnostic) -> bool:
        line = diagnostic.span.line if diagnostic.span is not None else None
        if (diagnostic.level, line) != (self.level, self.line):
            return False
        if not self.is_pattern:
            return self.message in diagnostic.message
        parts = _PATTERN.split(self.message)  # text and patterns take turns
        parts[::2] = map(re.escape, parts[::2])
        return re.search("".join(parts), diagnostic.message) is not None


class Expectations:
    """The expectations of one program, and its diagnostics."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._expected = _expected_in(text, name)
        self._said: list[Diagnostic] = []

    def take(self, said: Iterable[Diagnostic]) -> None:
        self._said += said

    def take_error(self, error: BaseException) -> None:
        """Record the error of a program; an error without a span has no line."""
        if isinstance(error, DiagnosticError) and error.is_rendered:
            return  # its diagnostics have been reported
        if isinstance(error, DiagnosticError) and error.diagnostics:
            self._said += error.diagnostics
            return
        self._said.append(Diagnostic.error(None, f"{type(error).__name__}: {error}"))

    def unmet(self) -> list[str]:
        """Return the unexpected diagnostics, and the expected ones that are missing."""
        waiting = list(self._expected)
        wrong: list[Diagnostic] = []
        for one in self._said:
            met = next((w for w in waiting if w.is_met_by(one)), None)
            if met is not None:
                waiting.remove(met)
                continue
            message = f"unexpected {one.level.name.lower()}: {one.message}"
            wrong.append(Diagnostic.error(one.span, message))
        for w in waiting:
            message = f'expected {w.level.name.lower()} "{w.message}" was not reported'
            wrong.append(Diagnostic.error(w.comment, message))
        wrong.sort(key=lambda one: one.span.line if one.span is not None else 0)
        return [format_diagnostic(one, self._text) for one in wrong]


def _expected_in(text: str, name: str) -> Sequence[_Expected]:
    found: list[_Expected] = []
    below: list[tuple[int, re.Match[str]]] = []  # those that wait for their line
    above: int | None = None  # the last line without a comment of these

    def add(at: int, comment: re.Match[str], line: int | None) -> None:
        level = DiagnosticLevel[comment[1].upper()]
        span = Span(name, at, at, comment.start() + 1, comment.end() + 1)
        is_pattern = comment[2] is not None
        found.append(_Expected(span, level, line, comment[4], is_pattern))

    for at, line in enumerate(text.split("\n"), 1):
        comments = list(_COMMENT.finditer(line))
        if not comments:
            above = at
            for waits_at, comment in below:
                add(waits_at, comment, at)
            below = []
        for comment in comments:
            place = comment[3]
            if place == "below":
                below.append((at, comment))
            elif place == "above":
                add(at, comment, above)
            elif place == "unknown":
                add(at, comment, None)
            else:
                add(at, comment, at + int(place or 0))
    return found
