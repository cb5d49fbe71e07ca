"""The command on a cluster of this machine, ended from outside while a pass hangs."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.support.breaking import PROGRAM
from tests.support.other_processes import until
from tests.support.pooled import new_pipe

ROOT = Path(__file__).parents[3]
# Words in the command lines of the processes that a cluster has for an executor.
_OURS = ("from parpass.spi import serve", "ray::AgentHost")
_BEGIN_SECONDS = 120


def _ours() -> set[int]:
    """Return the processes of executors on all clusters; none that is a zombie."""
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        for word in process.info["cmdline"] or ()
        if any(ours in word for ours in _OURS)
    }


def end_command(
    url: str, folder: Path, sent: str, env: Mapping[str, str] | None = None
) -> int:
    """Send a signal to all processes of a command, and wait for those on its cluster.

    Args:
        url: The executor.
        folder: An empty folder.
        sent: The name of the signal.
        env: The command's environment, but for that of this process.

    Returns:
        The command's exit code.
    """
    path, pipe = folder / "a.relay", new_pipe(folder)
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "parpass", "opt", str(path), "--executor", url]
    process = subprocess.Popen(
        [
            *(*command, "--isolate", "--load", "tests.support.breaking"),
            *("-p", f"test.HangOnExp{{pipe={pipe}}}"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun = os.open(pipe, os.O_RDWR)  # which waits for no writer
    try:
        has_begun = select.select([begun], [], [], _BEGIN_SECONDS)[0]
        below_us = {each.pid for each in psutil.Process().children(recursive=True)}
        ours = _ours() & below_us
        os.killpg(process.pid, signal.Signals[sent] if has_begun else signal.SIGKILL)
        _, told = process.communicate(timeout=60)
    finally:
        os.close(begun)
    assert has_begun, told
    assert ours
    assert "Traceback" not in told
    until(lambda: not ours & _ours())
    return process.returncode
