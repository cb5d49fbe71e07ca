"""Failures of the command: phrases for hints, error messages, exit codes."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import click

from parpass.errors import (
    DiagnosticError,
    FunctionFailure,
    Hint,
    other_failures,
    render_hints,
)
from parpass.errors.core import safe_getattr
from parpass.errors.tracebacks import traceback_of

# The phrases of the command for the hints of errors, warnings and recommendations.
PHRASES: Mapping[Hint, str] = {
    Hint.SKIP_FUNCTION: ("use --on-failure=skip to leave this function as it was"),
    Hint.REPLAY: (
        "to reproduce it in a separate process, write a reproducer (--reproducer "
        "PATH) and run 'parpass replay' on it"
    ),
    Hint.NOT_ISOLATED: (
        "drop --isolate if you trust the passes not to crash the command"
    ),
    Hint.WITHOUT_WORKERS: (
        "-j0 runs without workers, if you trust the passes not to crash the command"
    ),
    Hint.REQUEST_SERIAL: "-j0 silences this",
    Hint.WORKER_PER_CORE: "without -j there is one per core",
    Hint.EVERY_CORE: "drop -j to use every core",
    Hint.IN_WORKERS: "drop -j0",
    Hint.KEEP_WORKERS: "pass all inputs to one command",
    Hint.START_TIMEOUT: "use --config parpass.start_timeout=...",
    Hint.OPSET: "set it in Python, by from_onnx(..., opset=...)",
    Hint.OPEN_SHAPES: (
        "set lengths by --dim, or whole shapes by --shape, with your lengths instead "
        "of 1: {1}"
    ),
    Hint.SHAPE_PARAMETER: "--shape",
    Hint.DIM_PARAMETER: "--dim",
    Hint.CONST_PARAMETER: "--const",
    Hint.READ_SHAPES: (
        "write them into the program, or use 'parpass run', which takes the shapes of "
        "--input"
    ),
    Hint.INTERPRET: "run it by 'parpass run'",
    Hint.WITH_REMARKS: "with --remarks=-",
}


ARGUMENTS = "parpass.arguments"
"""The key of the arguments in the `meta` of a command's context."""


def command_line() -> str:
    """Return the command line, as a shell reads it."""
    given = click.get_current_context().meta.get(ARGUMENTS, ())
    return shlex.join(["parpass", *given])


def command_text(message: object) -> str:
    """Return an error, a warning or a message, with the command's phrases for hints."""
    return render_hints(message, PHRASES)


_MAX_OTHERS = 10  # failures on other functions

# What `faulthandler` writes; the first line is the innermost frame.
_STACK = re.compile(r'^Current thread .*\n((?:  File ".*\n?)+)', re.MULTILINE)
# How it writes what is not ASCII.
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (\S+)', re.MULTILINE)

_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_STDLIB = f"{Path(os.__file__).parent}{os.sep}"


class InputError(click.ClickException):
    """An input, an option or the environment of the command cannot be used."""

    exit_code = 2

    def __init__(self, message: str | Exception) -> None:
        super().__init__(command_text(message))


def unreadable(path: Path | str, error: Exception) -> InputError:
    return InputError(f"cannot read '{path}': {_reason(error)}")


def unwritable(path: Path | str, error: OSError) -> InputError:
    return InputError(f"cannot write '{path}': {_reason(error)}")


def _reason(error: Exception) -> object:
    """Return the system's words for an error, without path and number."""
    return (error.strerror if isinstance(error, OSError) else None) or error


class PassFailure(click.ClickException):
    """A pass failed; a SystemExit of a pass counts as a failure."""

    exit_code = 1

    def __init__(self, error: BaseException, *, with_traceback: bool) -> None:
        super().__init__(_message(error, with_place=not with_traceback))
        self._error = error
        self._with_traceback = with_traceback

    def show(self, file: IO[Any] | None = None) -> None:
        if self._with_traceback:
            error = self._error
            about = type(error), error, traceback_of(error)
            click.echo("".join(traceback.format_exception(*about)), file, err=True)
        super().show(file)


def _message(error: BaseException, *, with_place: bool) -> str:
    if isinstance(error, DiagnosticError) and error.is_rendered:
        what = "the program has errors, shown above"
    else:
        what = f"{type(error).__name__}: {command_text(error)}"
    lines = [
        what,
        *safe_getattr(error, "__notes__", ()),
        *(_where(error) if with_place else ()),
        *_others(error),
    ]
    return "\n  ".join(lines)


def _others(error: BaseException) -> Iterator[str]:
    """Yield the failures of the same pass on later functions."""
    others = other_failures(error)
    for other in others[:_MAX_OTHERS]:
        where = next(iter(safe_getattr(other, "__notes__", ())), "")
        text = command_text(other).partition("\n")[0]
        yield f"also {where}: {type(other).__name__}: {text}"
    if len(others) > _MAX_OTHERS:
        yield f"also on {len(others) - _MAX_OTHERS:,} other functions"


def _where(error: BaseException) -> Iterator[str]:
    """Yield the line of user code at which a pass failed or was ended, if known."""
    if isinstance(error, FunctionFailure):
        frame = innermost_frame(error.traceback)
    elif isinstance(error, DiagnosticError):  # of the program that is compiled
        frame = None
    else:
        frame = _raising_frame(error)
    if frame is not None:
        yield f"where: {frame}; --traceback shows all"


def _raising_frame(error: BaseException) -> str | None:
    """Return the innermost user frame of a traceback, or None."""
    found = reversed(traceback.extract_tb(error.__traceback__))
    own = (one for one in found if is_user_file(one.filename))
    return next((_frame(one.filename, one.lineno, one.name) for one in own), None)


def innermost_frame(stacks: str) -> str | None:
    """Return the innermost user frame in the output of `faulthandler`, or None.

    Installed packages may have been called there; they are rarely to blame.
    """
    stack = _STACK.search(stacks)
    if stack is None:
        return None
    read = _ESCAPE.sub(lambda one: chr(int(one[one.lastindex or 0], 16)), stack[1])
    frames = _FRAME.findall(read)
    inside = itertools.takewhile(
        lambda frame: not frame[0].startswith(_PACKAGE), frames
    )
    return _frame(
        *next((frame for frame in inside if is_user_file(frame[0])), frames[0])
    )


def is_user_file(file: str) -> bool:
    """Return whether a file belongs to neither parpass, Python nor a package."""
    is_own = file.startswith((_STDLIB, _PACKAGE, "<"))
    return not is_own and not _INSTALLED.search(file)


def _frame(file: str, line: object, name: str) -> str:
    below = file
    # The folder may be gone, or the file on another drive.
    with contextlib.suppress(OSError, ValueError):
        below = os.path.relpath(file)
    return f"{file if below.startswith(os.pardir) else below}:{line}, in {name}"
