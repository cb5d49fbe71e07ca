"""Files and texts that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from parpass.errors.base import ParpassError
from parpass.errors.program import DiagnosticError


class MalformedJSONError(ParpassError, ValueError):
    """JSON text holds no IR; `where` is the place, such as `nodes[12].args[0]`."""

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


class FrontendError(ParpassError):
    """An input file cannot be imported; `source` names it."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(message)
        self.source = source


class MalformedModelError(FrontendError, ValueError):
    """An input file is truncated, or not of the format that it should be of."""


class UnsupportedOpsError(FrontendError, NotImplementedError):
    """A model uses unsupported operators; `counts` maps each to its occurrences."""

    def __init__(self, counts: dict[str, int], *, source: str) -> None:
        listed = ", ".join(f"{name} ({n} x)" for name, n in sorted(counts.items()))
        super().__init__(f"{source}: unsupported operators: {listed}", source=source)
        self.counts = dict(counts)


class PipelineSyntaxError(ParpassError, ValueError):
    """Pipeline text cannot be read.

    `faults` has what is wrong with it, each as its line, its column and a message; line
    and column count from 1.
    """

    def __init__(
        self, message: str, *, faults: Sequence[tuple[int, int, str]] = ()
    ) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class ParseError(DiagnosticError, ValueError):
    """IR as text cannot be read; the message shows all errors, each at its place."""

    is_rendered: ClassVar[bool] = False


class UnreadFunctionError(ParseError):
    """The text of a function, which is parsed when a pass wants it, cannot be read.

    The program is at fault then, and not the pass: that is not named, nor skipped.
    """


class ReproducerError(ParpassError, ValueError):
    """A file is no reproducer, or names passes that are not there."""
