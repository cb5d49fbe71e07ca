"""Diagnostics: what a pass has to say about the user's program, and where.

A pass emits diagnostics on spans into the current `DiagnosticContext`; after the
pass has run they are rendered in the order of a serial run, and errors among them
end the pass with one `DiagnosticError` that holds them all.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import msgspec

from parpass.errors import DiagnosticError


class SourceName(str):
    """What a text is called, or what something without a text is from.

    TVM has a class for it; here it is a string, and any string will do.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of source text; lines and columns count from 1, ends are exclusive."""

    source_name: str
    line: int
    end_line: int
    column: int
    end_column: int

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

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

    @classmethod
    def bug(cls, span: Span | None, message: str) -> Diagnostic:
        """Return what says that the compiler is at fault."""
        return cls(DiagnosticLevel.BUG, span, message)

    @classmethod
    def error(cls, span: Span | None, message: str) -> Diagnostic:
        """Return what ends the pass when it has seen everything."""
        return cls(DiagnosticLevel.ERROR, span, message)

    @classmethod
    def warning(cls, span: Span | None, message: str) -> Diagnostic:
        """Return what the user should look at."""
        return cls(DiagnosticLevel.WARNING, span, message)

    @classmethod
    def note(cls, span: Span | None, message: str) -> Diagnostic:
        """Return what explains another diagnostic."""
        return cls(DiagnosticLevel.NOTE, span, message)

    @classmethod
    def help(cls, span: Span | None, message: str) -> Diagnostic:
        """Return what the user can do about another diagnostic."""
        return cls(DiagnosticLevel.HELP, span, message)


class DiagnosticContext:
    """Collects the diagnostics of one pass over one module and renders them.

    Args:
        module: The module that the pass runs on; its `sources` mapping, where it
            has one, gives the source text by name.
        renderer: Called with this context; by default what `get_renderer` returns.
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
        """Render what was emitted.

        Raises:
            DiagnosticError: There is an ERROR among the diagnostics.
        """
        keep = keeps_renderings.get()
        if keep is None or self.renderer is not get_renderer():
            self.renderer(self)
        else:
            keep(self)
        if any(one.level == DiagnosticLevel.ERROR for one in self.diagnostics):
            raise DiagnosticError(_headlines(self.diagnostics), self.diagnostics)


RenderFunction = Callable[[DiagnosticContext], None]

# Called instead of the renderer of this process, for a body that is run elsewhere or
# out of its turn: what it renders is shown when and where a serial run would show it.
keeps_renderings: ContextVar[RenderFunction | None] = ContextVar(
    "parpass_keeps_renderings", default=None
)


class DiagnosticRenderer:
    """A function that renders a context, under TVM's name for it.

    Args:
        render_func: Called with the context.
    """

    def __init__(self, render_func: RenderFunction) -> None:
        self._render_func = render_func

    def __call__(self, context: DiagnosticContext) -> None:
        """Render a context."""
        self._render_func(context)


def headline(diagnostic: Diagnostic) -> str:
    """Return a diagnostic in one line: place, level, message."""
    place = f"{diagnostic.span}: " if diagnostic.span is not None else ""
    return f"{place}{diagnostic.level.name.lower()}: {diagnostic.message}"


def _headlines(diagnostics: Iterable[Diagnostic]) -> str:
    errors = (one for one in diagnostics if one.level == DiagnosticLevel.ERROR)
    return "\n".join(map(headline, errors))


def tell_all(
    error: BaseException, own: Sequence[Diagnostic], said: Sequence[Diagnostic]
) -> None:
    """Have the error of a body that rendered tell of all that the pass has said.

    Args:
        error: What ended the pass.
        own: What the body said.
        said: What the pass said up to there, on all functions.
    """
    if type(error) is DiagnosticError and list(error.diagnostics) == list(own):
        error.args, error.diagnostics = (_headlines(said),), tuple(said)


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

    Without a span it is the first line, without its source (None) the first two. Of a
    long line a part is shown.
    """
    lines = _lines(source)
    return _formatted(diagnostic, lines, coloured=coloured)


def _lines(source: str | None) -> list[str]:
    # Only "\n" ends a line where spans are made; `splitlines` knows others, too.
    return source.split("\n") if source is not None else []


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
    """Return a line, of a long one the part around a place, and where that is in it.

    Args:
        line: The line.
        at: The place.
        most: The characters to show of a line that is longer.
    """
    first = max(0, at - most // 2) if len(line) > most else 0
    before = "..." if first else ""
    after = "..." if len(line) > first + most else ""
    return f"{before}{line[first : first + most]}{after}", len(before) + at - first


_SHOWN = 200  # characters of a line
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
    coloured = sys.stderr.isatty() and _takes_colour()
    lines: dict[str, list[str]] = {}  # split once, as there may be many diagnostics
    for diagnostic in context.diagnostics:
        name = diagnostic.span.source_name if diagnostic.span is not None else ""
        if name not in lines:
            lines[name] = _lines(sources.get(name))
        text = _formatted(diagnostic, lines[name], coloured=coloured)
        sys.stderr.write(text + "\n")


def _takes_colour() -> bool:
    """Return whether the user and the terminal want any; see no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_default_renderer = DiagnosticRenderer(render_to_stderr)
_renderer = _default_renderer


def get_renderer() -> DiagnosticRenderer:
    """Return the renderer for contexts that are not given one."""
    return _renderer


def renderer_is_overridden() -> bool:
    """Return whether contexts are rendered otherwise than to standard error."""
    return _renderer is not _default_renderer


def override_renderer(renderer: RenderFunction | None) -> None:
    """Replace the renderer for contexts made from now on; None restores the default."""
    global _renderer
    _renderer = _default_renderer if renderer is None else DiagnosticRenderer(renderer)
