"""How the command ends when it fails: the message, the exit code."""

from __future__ import annotations

import itertools
import os
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from parpass.cli.showing.wording import spoken
from parpass.errors import DiagnosticError, FunctionFailure, other_failures
from parpass.errors.base import attribute_of

_SHOWN = 10  # failures on other functions

# What `faulthandler` writes; the first line is the innermost frame.
_STACK = re.compile(r'^Current thread .*\n((?:  File ".*\n?)+)', re.MULTILINE)
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (\S+)', re.MULTILINE)

_OURS = f"{Path(__file__).parents[2]}{os.sep}"
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_PYTHONS_OWN = (f"{Path(os.__file__).parent}{os.sep}", "<frozen ")


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
    if isinstance(error, DiagnosticError) and error.is_rendered:
        what = "the program has errors, shown above"  # they have been rendered
    else:
        what = f"{type(error).__name__}: {error}"
    lines = [
        what,
        *attribute_of(error, "__notes__", ()),
        *_where(error),
        *_others(error),
    ]
    return spoken("\n  ".join(lines))


def _others(error: BaseException) -> Iterator[str]:
    """Yield what else failed in the same pass, on later functions."""
    others = other_failures(error)
    for other in others[:_SHOWN]:
        where = next(iter(attribute_of(other, "__notes__", ())), "")
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
    """Return where `faulthandler` told that a body was; None if it told nothing.

    That is the innermost frame of what the user wrote. What is installed may have been
    called there, and is rarely to blame.
    """
    stack = _STACK.search(told)
    if stack is None:
        return None
    frames = _FRAME.findall(stack[1])
    inside = itertools.takewhile(lambda frame: not frame[0].startswith(_OURS), frames)
    own = next((frame for frame in inside if _is_users(frame[0])), frames[0])
    return "{}:{}, in {}".format(*own)


def _is_users(file: str) -> bool:
    return not file.startswith(_PYTHONS_OWN) and not _INSTALLED.search(file)
