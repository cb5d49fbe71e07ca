"""The process in which a worker of Dask's runs jobs: a child, that can be killed.

What runs in a thread of Dask's own cannot be ended, and if it crashes takes other
people's work along.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Pipe

from msgspec.structs import replace

from parpass.runner.travel.messages import Job, pack_message, unpack_message
from parpass.runner.worker.jobs import run_job

_TICK_SECONDS = 0.05  # between two looks at what it is doing
_EXIT_SECONDS = 5.0
_SERVE = """
from multiprocessing.connection import Connection
from parpass.runner.worker.serving import serve
serve({parent}, Connection({fd}))
"""


class Child:
    """A process that runs jobs, one after the other.

    Args:
        environment: What it has in its environment besides what this process has.

    Raises:
        OSError: There can be none.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            code = _SERVE.format(parent=os.getpid(), fd=theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.is_over = self._received(lambda: None) is None

    @property
    def number(self) -> int:
        """The number of the process."""
        return self._process.pid

    def call(self, message: bytes, meanwhile: Callable[[], None]) -> bytes | None:
        """Have it run a job; return its answer, None if it died.

        Args:
            message: The job.
            meanwhile: Called now and then.
        """
        try:
            self._connection.send_bytes(message)
        except OSError:
            self.is_over = True
            return None
        answer = self._received(meanwhile)
        self.is_over = answer is None
        return answer

    def _received(self, meanwhile: Callable[[], None]) -> bytes | None:
        try:
            while not self._connection.poll(_TICK_SECONDS):
                meanwhile()
                if self._process.poll() is not None and not self._connection.poll(0):
                    return None
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def cause(self) -> str:
        """Wait for its end, and return how it ended, as `SIGSEGV(-11)`."""
        self._connection.close()
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        if code < 0:
            return f"{signal.Signals(-code).name}({code})"
        return f"EXIT({code})"


def pack_job_away(folder: str, message: bytes) -> bytes:
    """Return what `run_job_away` is given."""
    return pickle.dumps((folder, message), protocol=5)


def run_job_away(packed: bytes) -> bytes:
    """Run a job in the folder that its run has on this machine."""
    folder, message = pickle.loads(packed)  # written by a process of ours
    job: Job = unpack_message(message)
    return run_job(pack_message(replace(job, folder=folder)))
