"""Frozen programs, which start themselves again as workers.

PyInstaller, cx_Freeze and Nuitka make one program of a script, its modules and Python.
There `sys.executable` is no interpreter. Started with an interpreter's options, such a
program runs again from its top: each of its workers would be all of it, which starts
workers. So it starts none until it has called `freeze_support`. A program that has is
started again as a worker, with its connection in a variable; the same call, at its
top, then serves it, and does not return.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.connection import Connection

from parpass.runner.executor import NoWorkersError
from parpass.runner.worker.main import serve

_VARIABLE = "_PARPASS_WORKER"  # the process that starts a worker, and its descriptor

_SERVE = """
from parpass.runner.worker.frozen import serve_descriptor
serve_descriptor("{}")
"""

_has_support = False


def freeze_support() -> None:
    """Enable workers in a frozen program, which starts itself again as a worker.

    Call it first in the main script: below `if __name__ == "__main__"`, before you read
    arguments or open a window. In a worker it does not return. It also calls
    `multiprocessing.freeze_support`. In a program that is not frozen it is a no-op.
    """
    global _has_support
    if frozen_program() is None:
        return
    multiprocessing.freeze_support()
    given = os.environ.pop(_VARIABLE, None)
    if given is not None:
        serve_descriptor(given)
        sys.exit()
    _has_support = True


def frozen_program() -> str | None:
    """Return the path of this program if it is frozen, else None.

    It is empty where it is not known.
    """
    if getattr(sys, "frozen", False):  # by PyInstaller, cx_Freeze, py2app and others
        return sys.executable or ""
    # Nuitka's; a script that it compiles without `--standalone` runs on an interpreter.
    compiled = getattr(sys.modules.get("__main__"), "__compiled__", None)
    if getattr(compiled, "standalone", False):
        return getattr(compiled, "process_exe", "")
    return None


def worker_command(connection: Connection) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a worker of this process, and its variables.

    Args:
        connection: Its connection; the worker inherits its descriptor.

    Raises:
        NoWorkersError: Nothing can be started as a worker.
    """
    program = check_program()
    described = f"{os.getpid()} {connection.fileno()}"
    if frozen_program() is None:
        return [program, "-c", _SERVE.format(described)], {}
    return [program], {_VARIABLE: described}


def check_program() -> str:
    """Return the program that is started for a worker: an interpreter, or this one."""
    frozen = frozen_program()
    if frozen is not None and not _has_support:
        raise NoWorkersError(
            "none",
            "this program is frozen, so a copy of it would not know that it is a "
            "worker; call parpass.freeze_support() first in its main script",
        )
    program = sys.executable if frozen is None else frozen
    if not os.access(program or "", os.X_OK):  # None, where Python is embedded
        where = "sys.executable" if frozen is None else "the frozen program's path"
        raise NoWorkersError("none", f"there is no program at {where}, {program!r}")
    return program


def serve_descriptor(described: str) -> None:
    """Serve the connection of a worker, as `worker_command` describes it."""
    parent, descriptor = map(int, described.split())
    serve(parent, Connection(descriptor))
