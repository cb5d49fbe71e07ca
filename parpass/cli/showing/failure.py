"""How the command ends when it fails: the message, the exit code."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import IO, Any

import click

from parpass.cli.showing.wording import spoken
from parpass.errors import DiagnosticError, FunctionFailure, other_failures

_SHOWN = 10  # failures on other functions

# What `faulthandler` writes; the first line is the innermost.
_FRAME = re.compile(
    r'^Current thread .*\n  File "(.+)", line (\d+) in (\S+)', re.MULTILINE
)


class InputError(click.ClickException):
    """What the user gave cannot be used."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(spoken(message))


class PassFailure(click.ClickException):
    """A pass failed.

    Args:
        error: What it raised; a SystemExit is a failure like others.
        with_traceback: Whether to show where.
    """

    exit_code = 1

    def __init__(self, error: BaseException, *, with_traceback: bool) -> None:
        super().__init__(_message(error))
        self._error = error
        self._with_traceback = with_traceback

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the message to standard error."""
        if self._with_traceback:
            click.echo("".join(traceback.format_exception(self._error)), file, err=True)
        super().show(file)


def _message(error: BaseException) -> str:
    if isinstance(error, DiagnosticError):
        what = "the program has errors, shown above"  # they have been rendered
    else:
        what = f"{type(error).__name__}: {error}"
    lines = [what, *getattr(error, "__notes__", ()), *_where(error), *_others(error)]
    return spoken("\n  ".join(lines))


def _others(error: BaseException) -> Iterator[str]:
    """Yield what else failed in the same pass, on later functions."""
    others = other_failures(error)
    for other in others[:_SHOWN]:
        where = next(iter(getattr(other, "__notes__", ())), "")
        text = str(other).partition("\n")[0]
        yield f"also {where}: {type(other).__name__}: {text}"
    if len(others) > _SHOWN:
        yield f"also on {len(others) - _SHOWN:,} other functions"


def _where(error: BaseException) -> Iterator[str]:
    """Yield where a pass was that was ended from outside, as far as that is known."""
    told = error.traceback if isinstance(error, FunctionFailure) else ""
    if frame := innermost_frame(told):
        yield f"where: {frame}; --traceback shows all"


def innermost_frame(told: str) -> str | None:
    """Return the innermost frame of what `faulthandler` told, None if it told none."""
    found = _FRAME.search(told)
    return found and "{}:{}, in {}".format(*found.groups())
