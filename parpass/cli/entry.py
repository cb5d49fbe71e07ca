"""The entry point of the command.

Workers that are forked off the fork server load this module, too, as the program's main
module, and are delayed by what it imports. So it imports next to nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

# The process is the command's own; what it loads, 100,000 objects, stays to its end.
_GC_THRESHOLDS = 200_000, 5, 100
# In which passes run in this process that may crash it; who replays a crash wants it.
_SUPERVISED = ("opt", "bisect", "codemod")
_INTERRUPTED = 130  # the exit code of shells for SIGINT


def run() -> None:
    """Run the command line; a supervisor process reports a crash in a pass.

    Garbage collection at exit is avoided: it takes a tenth of a second and more.
    """
    gc.set_threshold(*_GC_THRESHOLDS)
    atexit.register(_ignore_interrupts)
    atexit.register(gc.freeze)
    try:
        if sys.argv[1:2] == ["mlir-opt"]:  # which has no part in what click would load
            from parpass.cli.mlir_opt import run_mlir_opt

            run_mlir_opt(sys.argv[2:])
            return
        with _supervised():
            from parpass.cli.group import main

            main(prog_name="parpass")
    except KeyboardInterrupt:  # before there is a group that ends so
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            _ignore_interrupts()  # a signal to the process group may arrive twice
        if end.code:
            _drop_unwritten()
        raise


def _drop_unwritten() -> None:
    """Drop what standard output does not take, after an error.

    Python would try again as it ends, report that, and exit with a code of its own.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ignore_interrupts() -> None:
    """Keep the exit code: while Python ends, SIGINT would kill the process."""
    import signal

    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _supervised() -> contextlib.AbstractContextManager[None]:
    from parpass.cli.operations.preload import preload_from_argv
    from parpass.cli.supervisor import can_supervise, fork_supervised

    telling = contextlib.nullcontext()
    if sys.argv[1:2] and sys.argv[1] in _SUPERVISED and can_supervise():
        telling = fork_supervised(shows_all="--traceback" in sys.argv)
    preload_from_argv(
        sys.argv[1:]
    )  # before click, and all else that this process needs
    return telling
