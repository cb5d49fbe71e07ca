"""Runs of `xdsl-opt` and of `parpass mlir-opt` in this process, to be compared."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from xdsl.ir import Attribute
from xdsl.utils.diagnostic import Diagnostic
from xdsl.xdsl_opt_main import xDSLOptMain

from parpass.integrations.xdsl.opt_main import ParallelOptMain
from parpass.integrations.xdsl.parallel_run import runs_on
from parpass.runner import Runner

FOR_WORKERS = ["--threshold", "0", "-j", "2"]

_SUBSTITUTIONS = {  # as in the configuration of xDSL's tests
    "XDSL_ROUNDTRIP": "xdsl-opt %s --print-op-generic --split-input-file "
    "| xdsl-opt --split-input-file | filecheck %s",
    "XDSL_GENERIC_ROUNDTRIP": "xdsl-opt %s --print-op-generic --split-input-file",
}
_RUN_LINE = re.compile(r"RUN:(.*)$", re.MULTILINE)
_CLOCK = re.compile(rb"took [\d.e-]+ seconds")


class Outcome(NamedTuple):
    """What a run shows.

    Attributes:
        output: Standard output, without times.
        error: The message of what it failed with, or what it wrote to standard error.
        code: The exit code.
    """

    output: bytes
    error: str
    code: int


@dataclass(frozen=True)
class Invocation:
    """A run of `xdsl-opt` in a test of xDSL.

    Attributes:
        arguments: Its arguments.
        reads_last: Whether it reads the output of the one before it.
    """

    arguments: Sequence[str]
    reads_last: bool


def invocations(path: Path) -> Iterator[Invocation]:
    """Yield what the lines with `RUN:` of a test begin with `xdsl-opt`."""
    lines = "\n".join(_RUN_LINE.findall(path.read_text(errors="replace")))
    for line in lines.replace("\\\n", " ").splitlines():
        for name, text in sorted(_SUBSTITUTIONS.items()):
            line = line.replace(name, text)
        line = line.replace("%s", str(path)).replace("%S", str(path.parent))
        for number, command in enumerate(re.split(r"\|(?![^'\"]*['\"]\s)", line)):
            begun = re.split(r"&&|;|\d?>", command)[0]
            found = re.match(
                r"\s*(?:not\s+)?(?:strip-comments.sh\s+)?xdsl-opt\b", begun
            )
            if found:
                with contextlib.suppress(ValueError):  # quotes that are not closed
                    arguments = shlex.split(begun[found.end() :])
                    yield Invocation(arguments, reads_last=number > 0)


def by_xdsl_opt(arguments: Sequence[str], given: bytes = b"") -> Outcome:
    return _outcome(lambda: xDSLOptMain(args=arguments), given)


def by_mlir_opt(
    runner: Runner, arguments: Sequence[str], given: bytes = b""
) -> Outcome:
    """Return what the command shows, whose workers are those of a runner."""

    def opening(jobs: int | None, text: str) -> Any:
        del jobs, text
        return contextlib.nullcontext(runs_on(runner))

    given_all = [*arguments, *FOR_WORKERS]
    return _outcome(lambda: ParallelOptMain(given_all, opening), given)


def _outcome(make: Callable[[], xDSLOptMain], given: bytes) -> Outcome:
    output, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    code, told = 0, ""
    with (
        _standard_input(given),
        _own_settings(),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            make().run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            told = errors.getvalue().rpartition("error: ")[2]
        except Exception as error:  # noqa: BLE001 -- whatever xDSL raises
            code, told = 1, f"{type(error).__name__}: {error}"
    output.flush()
    shown = output.buffer.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    return Outcome(_CLOCK.sub(b"took", shown), told, code)


@contextlib.contextmanager
def _standard_input(given: bytes) -> Generator[None]:
    usual = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))
    try:
        yield
    finally:
        sys.stdin = usual


@contextlib.contextmanager
def _own_settings() -> Generator[None]:
    """Undo what options of xDSL set for the rest of a process."""
    usual = Attribute.__post_init__
    try:
        yield
    finally:
        Attribute.__post_init__ = usual
        Diagnostic.colored = False
