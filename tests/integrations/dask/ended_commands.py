"""The command on a Dask cluster of this machine, ended while a pass hangs."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from multiprocessing.connection import Pipe
from pathlib import Path

import psutil

from parpass.spi import worker_command
from tests.support.other_processes import until
from tests.support.relay.breaking import PROGRAM
from tests.support.runner.pooled import new_pipe

ROOT = Path(__file__).parents[3]
_BEGIN_SECONDS = 120


def _ours() -> set[int]:
    """Return the processes of executors on all clusters; none that is a zombie."""
    ours, theirs = Pipe()
    with ours, theirs:
        command, _ = worker_command(theirs)
    told = command[-1].partition(str(os.getpid()))[0]  # whose child it is
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        for word in process.info["cmdline"] or ()
        if word.startswith(told)
    }


def end_command(url: str, folder: Path, sent: str) -> int:
    """Send a signal to all processes of a command, and wait for those on its cluster.

    Args:
        url: The executor.
        folder: An empty folder.
        sent: The name of the signal.

    Returns:
        The command's exit code.
    """
    path, pipe = folder / "a.relay", new_pipe(folder)
    others = _ours()
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "parpass", "opt", str(path), "--executor", url]
    process = subprocess.Popen(
        [
            *(*command, "--isolate", "--load", "tests.support.relay.breaking"),
            *("-p", f"test.HangOnExp{{pipe={pipe}}}"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun = os.open(pipe, os.O_RDWR)  # which waits for no writer
    try:
        has_begun = select.select([begun], [], [], _BEGIN_SECONDS)[0]
        below_us = {each.pid for each in psutil.Process().children(recursive=True)}
        ours = _ours() & below_us - others
        os.killpg(process.pid, signal.Signals[sent] if has_begun else signal.SIGKILL)
        _, told = process.communicate(timeout=200)
    finally:
        os.close(begun)
    assert has_begun, told
    assert ours
    assert "Traceback" not in told
    until(lambda: not ours & _ours())
    return process.returncode
