"""The entry point of the command.

Workers that are forked off the fork server load this module, too, as the program's main
module, and are delayed by what it imports. So it imports next to nothing.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import gc
import io
import os
import sys

from parpass.cli.interrupts import INTERRUPTED, ignore_interrupts

# The process is the command's own; the 100,000 objects that it loads live to its end.
_GC_THRESHOLDS = 200_000, 5, 100
# Subcommands whose passes may crash this process; `replay` is meant to crash.
_SUPERVISED = ("opt", "bisect", "codemod")
_NAMES_AS_BYTES = "parpass.names_as_bytes"  # how standard error encodes


def run() -> None:
    """Run the command line; a supervisor process reports a crash in a pass.

    There is no garbage collection at exit: it takes a tenth of a second or more.
    """
    gc.set_threshold(*_GC_THRESHOLDS)
    atexit.register(ignore_interrupts)
    atexit.register(gc.freeze)
    try:
        _run()
    except KeyboardInterrupt:  # before there is a group that ends so, or as it ended
        ignore_interrupts()
        sys.exit(INTERRUPTED)


def _run() -> None:
    try:
        if sys.argv[1:2] == ["mlir-opt"]:  # it needs nothing that click would load
            from parpass.cli.mlir_opt import run_mlir_opt

            run_mlir_opt(sys.argv[2:])
            return
        _write_names_as_bytes()
        with _supervised():
            from parpass.cli.group import main

            main(prog_name="parpass")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            ignore_interrupts()
        if end.code:
            _drop_unwritten()
        raise


def _write_names_as_bytes() -> None:
    """Write file names as their bytes, also if these are no valid text.

    Python decodes such bytes as lone surrogates. It refuses to write these to standard
    output, and writes their numbers to standard error.
    """
    codecs.register_error(_NAMES_AS_BYTES, _escaped)
    for stream, usual, ours in (
        (sys.stdout, "strict", "surrogateescape"),
        (sys.stderr, "backslashreplace", _NAMES_AS_BYTES),
    ):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == usual:
            stream.reconfigure(errors=ours)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a character that has no encoding as its byte, or else as its number."""
    assert isinstance(error, UnicodeEncodeError)
    error.end = error.start + 1
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeEncodeError:
        return codecs.lookup_error("backslashreplace")(error)


def _drop_unwritten() -> None:
    """Drop text that standard output does not take, after an error.

    Python would try again as it ends, report that, and change the exit code.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _supervised() -> contextlib.AbstractContextManager[None]:
    from parpass.cli.operations.preload import preload_from_argv
    from parpass.cli.supervisor import can_supervise, fork_supervised

    publishing = contextlib.nullcontext()
    if sys.argv[1:2] and sys.argv[1] in _SUPERVISED and can_supervise():
        publishing = fork_supervised(shows_all="--traceback" in sys.argv)
    preload_from_argv(sys.argv[1:])  # before this process loads click and the rest
    return publishing
