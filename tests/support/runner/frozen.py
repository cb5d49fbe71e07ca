"""Frozen programs, run so that one that starts itself again and again does no harm.

Three things hold each of them: it counts its starts in a file, and ends at the seventh;
it has a limit of processes, which root does not heed; and all that it starts is of one
process group, which is killed at the end, and after a time.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[3]
MOST_STARTS = 6
_MORE_PROCESSES = 200  # than the user has already: threads count

# The first lines of each frozen program.
COUNTED = f"""
import os, sys
_starts = os.open(os.environ["STARTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(_starts, b".")
if os.fstat(_starts).st_size > {MOST_STARTS}:
    os._exit(9)
os.close(_starts)
"""

# What a program that is frozen has, in a script: started again it runs from its top.
LIKE_FROZEN = f"""#!{sys.executable}
{COUNTED}
sys.frozen, sys.executable = True, __file__
"""


class Ran(NamedTuple):
    """How a program ended, what it printed, and how often it was started."""

    code: int
    out: str
    err: str
    starts: int


def script(folder: Path, rest: str) -> Path:
    """Return a script that is as a frozen program is."""
    path = folder / "program.py"
    path.write_text(LIKE_FROZEN + rest)
    path.chmod(0o700)
    return path


def run_frozen(
    command: Sequence[str | Path], folder: Path, seconds: float = 200, **variables: str
) -> Ran:
    """Run a frozen program, until all have ended that hold its output."""
    starts = folder / "starts"
    most = _processes_now() + _MORE_PROCESSES

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

    paths = {"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", "")}
    process = subprocess.Popen(
        [str(part) for part in command],
        env={**paths, "STARTS": str(starts), **variables},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limit,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return Ran(process.returncode, out, err, starts.stat().st_size)


def _processes_now() -> int:
    user = os.getuid()
    found = psutil.process_iter(["uids", "num_threads"])
    return sum(
        one.info["num_threads"] or 0
        for one in found
        if one.info["uids"] and one.info["uids"].real == user
    )
