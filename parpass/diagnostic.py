"""Diagnostics: what a pass has to say about the user's program, and where.

A pass emits diagnostics on spans into the current `DiagnosticContext`; after the
pass has run they are rendered in the order of a serial run, and errors among them
end the pass with one `DiagnosticError` that holds them all.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from parpass.errors import DiagnosticError


class Span(msgspec.Struct, frozen=True):
    """A stretch of source text; lines and columns count from 1, ends are exclusive."""

    source_name: str
    line: int
    end_line: int
    column: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source_name}:{self.line}:{self.column}"


class DiagnosticLevel(enum.IntEnum):
    """How serious a diagnostic is; only ERROR ends the pass."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic(msgspec.Struct, frozen=True):
    """One message on one span; `span` is None where the place is unknown."""

    level: DiagnosticLevel
    span: Span | None
    message: str


class DiagnosticContext:
    """Collects the diagnostics of one pass over one module and renders them.

    Args:
        module: The module that the pass runs on; its `sources` mapping, where it
            has one, gives the source text by name.
        renderer: Called with this context; by default what `get_renderer` returns.
    """

    def __init__(self, module: Any, renderer: DiagnosticRenderer | None = None) -> None:
        self.module = module
        self.renderer = renderer if renderer is not None else get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add one diagnostic."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Render what was emitted.

        Raises:
            DiagnosticError: There is an ERROR among the diagnostics.
        """
        self.renderer(self)
        errors = [d for d in self.diagnostics if d.level == DiagnosticLevel.ERROR]
        if errors:
            lines = "\n".join(headline(d) for d in errors)
            raise DiagnosticError(lines, self.diagnostics)


DiagnosticRenderer = Callable[[DiagnosticContext], None]


def headline(diagnostic: Diagnostic) -> str:
    """Return a diagnostic in one line: place, level, message."""
    place = f"{diagnostic.span}: " if diagnostic.span is not None else ""
    return f"{place}{diagnostic.level.name.lower()}: {diagnostic.message}"


def format_diagnostic(diagnostic: Diagnostic, source: str | None) -> str:
    """Return a diagnostic with its source line and carets, if `source` is known."""
    text = headline(diagnostic)
    span = diagnostic.span
    lines = source.splitlines() if source is not None else []
    if span is None or not 0 < span.line <= len(lines):
        return text
    gutter = " " * len(str(span.line))
    line = lines[span.line - 1]
    stop = span.end_column if span.end_line == span.line else len(line) + 1
    carets = "^" * max(1, stop - span.column)
    return (
        f"{text}\n{gutter} |\n{span.line} | {line}\n"
        f"{gutter} | {' ' * (span.column - 1)}{carets}"
    )


def render_to_stderr(context: DiagnosticContext) -> None:
    """Write the diagnostics of a context to standard error."""
    sources: dict[str, str] = getattr(context.module, "sources", None) or {}
    for diagnostic in context.diagnostics:
        name = diagnostic.span.source_name if diagnostic.span is not None else ""
        print(format_diagnostic(diagnostic, sources.get(name)), file=sys.stderr)  # noqa: T201 -- a renderer prints


_renderer_factory: Callable[[], DiagnosticRenderer] | None = None


def get_renderer() -> DiagnosticRenderer:
    """Return the renderer for contexts that are not given one."""
    return _renderer_factory() if _renderer_factory is not None else render_to_stderr


def override_renderer(renderer: DiagnosticRenderer | None) -> None:
    """Replace the renderer for contexts made from now on; None restores the default."""
    global _renderer_factory
    _renderer_factory = None if renderer is None else lambda: renderer
