"""Diagnostics: messages of passes on spans of a program, and their rendering.

A pass emits diagnostics on spans into the current `DiagnosticContext`; after the
pass has run they are rendered in the order of a serial run, and errors among them
end the pass with one `DiagnosticError` that holds them all.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from parpass.errors import DiagnosticError


class SourceName(str):
    """The name of a source text, or of another origin of a program.

    TVM has a class for it; here it is a string, and any string is accepted.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


class Span(msgspec.Struct, frozen=True, gc=False):
    """A range of source text; lines and columns count from 1, ends are exclusive."""

    source_name: str
    line: int
    end_line: int
    column: int
    end_column: int

    def same_as(self, other: object) -> bool:
        """Return whether this is the object `other` (identity)."""
        return self is other

    def __str__(self) -> str:
        return f"{self.source_name}:{self.line}:{self.column}"


class DiagnosticLevel(enum.IntEnum):
    """The severity of a diagnostic; only ERROR ends the pass."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class SkippedPass(msgspec.Struct, frozen=True, gc=False):
    """A pass that was skipped on a function, by `on_failure="skip"`, and why."""

    pass_name: str
    function: str
    reason: str


class Diagnostic(
    msgspec.Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True
):
    """One message on one span; `span` is None if the place is unknown.

    `skipped` is what it is about, if parpass emitted it for a skipped pass, else None.
    """

    level: DiagnosticLevel
    span: Span | None
    message: str
    skipped: SkippedPass | None = None

    @classmethod
    def bug(cls, span: Span | None, message: str) -> Diagnostic:
        """Return a diagnostic for a fault of the compiler."""
        return cls(DiagnosticLevel.BUG, span, message)

    @classmethod
    def error(cls, span: Span | None, message: str) -> Diagnostic:
        """Return a diagnostic that ends the pass when it is rendered."""
        return cls(DiagnosticLevel.ERROR, span, message)

    @classmethod
    def warning(cls, span: Span | None, message: str) -> Diagnostic:
        """Return a diagnostic for a problem that does not end the pass."""
        return cls(DiagnosticLevel.WARNING, span, message)

    @classmethod
    def note(cls, span: Span | None, message: str) -> Diagnostic:
        """Return a diagnostic that explains another diagnostic."""
        return cls(DiagnosticLevel.NOTE, span, message)

    @classmethod
    def help(cls, span: Span | None, message: str) -> Diagnostic:
        """Return a diagnostic with the user's remedy for another diagnostic."""
        return cls(DiagnosticLevel.HELP, span, message)


class DiagnosticContext:
    """The diagnostics of one pass over one module, and the renderer for them.

    Args:
        module: The module that the pass runs on; its `sources` mapping, if it has one,
            has the source texts by name.
        renderer: Called with this context; by default the result of `get_renderer`.
    """

    def __init__(self, module: Any, renderer: RenderFunction | None = None) -> None:
        self.module = module
        self.renderer = renderer if renderer is not None else get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add one diagnostic."""
        self.diagnostics.append(diagnostic)

    def emit_fatal(self, diagnostic: Diagnostic) -> None:
        """Add one diagnostic and render at once; an ERROR ends the pass here.

        Raises:
            DiagnosticError: There is an ERROR among the diagnostics.
        """
        self.emit(diagnostic)
        self.render()

    def render(self) -> None:
        """Render the diagnostics.

        Raises:
            DiagnosticError: There is an ERROR among the diagnostics.
        """
        keep = rendering_capture.get()
        if keep is None or self.renderer is not get_renderer():
            self.renderer(self)
        else:
            keep(self)
        if any(one.level == DiagnosticLevel.ERROR for one in self.diagnostics):
            raise DiagnosticError(_headlines(self.diagnostics), self.diagnostics)


RenderFunction = Callable[[DiagnosticContext], None]

# Called instead of the default renderer for a body that runs in a worker or out of
# order, so that its diagnostics are rendered when and where a serial run renders them.
rendering_capture: ContextVar[RenderFunction | None] = ContextVar(
    "parpass_keeps_renderings", default=None
)


class DiagnosticRenderer:
    """A renderer of contexts, with TVM's name and interface.

    Args:
        render_func: Called with the context.
    """

    def __init__(self, render_func: RenderFunction) -> None:
        self._render_func = render_func

    def __call__(self, context: DiagnosticContext) -> None:
        self._render_func(context)


def headline(diagnostic: Diagnostic) -> str:
    """Return a diagnostic as one line: place, level, message."""
    place = f"{diagnostic.span}: " if diagnostic.span is not None else ""
    return f"{place}{diagnostic.level.name.lower()}: {diagnostic.message}"


def _headlines(diagnostics: Iterable[Diagnostic]) -> str:
    errors = (one for one in diagnostics if one.level == DiagnosticLevel.ERROR)
    return "\n".join(map(headline, errors))


def extend_error(
    error: BaseException, own: Sequence[Diagnostic], emitted: Sequence[Diagnostic]
) -> None:
    """Extend the error of one body with the diagnostics on all functions so far.

    Exceptions other than the `DiagnosticError` of the body's own diagnostics are left
    unchanged.

    Args:
        error: The exception that ended the pass.
        own: The diagnostics of the body that raised it.
        emitted: The diagnostics of the pass up to there, on all functions.
    """
    if type(error) is DiagnosticError and list(error.diagnostics) == list(own):
        error.args, error.diagnostics = (_headlines(emitted),), tuple(emitted)


def format_diagnostic(
    diagnostic: Diagnostic, source: str | None, *, coloured: bool = False
) -> str:
    """Return a diagnostic as lines: level and message, place, source line and carets.

    ::

        error: expected a tensor
         --> model.relay:2:5
          |
        2 | let %odd = 1;
          |     ^^^^

    Without a span it is the first line alone; without a source (None), the first two
    lines. Long source lines are shown in part.
    """
    lines = _lines(source)
    return _formatted(diagnostic, lines, coloured=coloured)


def _lines(source: str | None) -> list[str]:
    # Spans count lines by "\n" alone; `splitlines` splits at other characters, too.
    return source.split("\n") if source else []


def merged_sources(known: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return the source texts of two modules by name.

    Of two texts of one name there is none, since a span does not tell them apart.
    """
    texts = {**known, **new}
    return {n: one if known.get(n, one) == one else "" for n, one in texts.items()}


def _formatted(diagnostic: Diagnostic, lines: list[str], *, coloured: bool) -> str:
    level = diagnostic.level.name.lower()
    if coloured:
        level = f"\x1b[1;{_COLOURS[diagnostic.level]}m{level}\x1b[0m"
    text = f"{level}: {diagnostic.message}"
    span = diagnostic.span
    if span is None:
        return text
    gutter = " " * len(str(span.line))
    text += f"\n{gutter}--> {span}"
    if not 0 < span.line <= len(lines):
        return text
    line = lines[span.line - 1].rstrip("\r")
    stop = span.end_column if span.end_line == span.line else len(line) + 1
    shown, at = excerpt(line, span.column - 1, _SHOWN)
    carets = "^" * max(1, min(stop - span.column, len(shown) - at))
    return f"{text}\n{gutter} |\n{span.line} | {shown}\n{gutter} | {' ' * at}{carets}"


def excerpt(line: str, at: int, most: int) -> tuple[str, int]:
    """Return the part of a line around a position, and that position in it.

    Lines of `most` characters or fewer are returned whole.

    Args:
        line: The line.
        at: The position, an index into it.
        most: The number of characters to show of a longer line.
    """
    first = max(0, at - most // 2) if len(line) > most else 0
    before = "..." if first else ""
    after = "..." if len(line) > first + most else ""
    return f"{before}{line[first : first + most]}{after}", len(before) + at - first


_SHOWN = 200  # characters of a source line
_COLOURS = {
    DiagnosticLevel.BUG: 35,
    DiagnosticLevel.ERROR: 31,
    DiagnosticLevel.WARNING: 33,
    DiagnosticLevel.NOTE: 36,
    DiagnosticLevel.HELP: 32,
}


def render_to_stderr(context: DiagnosticContext) -> None:
    """Write the diagnostics of a context to standard error, coloured on a terminal."""
    sources: dict[str, str] = getattr(context.module, "sources", None) or {}
    coloured = sys.stderr.isatty() and takes_colour()
    lines: dict[str, list[str]] = {}  # each source is split once
    for diagnostic in context.diagnostics:
        name = diagnostic.span.source_name if diagnostic.span is not None else ""
        if name not in lines:
            lines[name] = _lines(sources.get(name))
        text = _formatted(diagnostic, lines[name], coloured=coloured)
        sys.stderr.write(text + "\n")


def takes_colour() -> bool:
    """Return whether user and terminal allow colour (see no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_default_renderer = DiagnosticRenderer(render_to_stderr)
_renderer = _default_renderer


def get_renderer() -> DiagnosticRenderer:
    """Return the renderer of contexts that are constructed without one."""
    return _renderer


def renderer_is_overridden() -> bool:
    """Return whether the default renderer has been replaced."""
    return _renderer is not _default_renderer


def override_renderer(renderer: RenderFunction | None) -> None:
    """Set the renderer of contexts constructed from now on; None: the default."""
    global _renderer
    _renderer = _default_renderer if renderer is None else DiagnosticRenderer(renderer)
