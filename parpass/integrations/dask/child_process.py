"""The child process in which a Dask worker runs jobs.

A call in a thread of the worker cannot be ended, and a crash would end the jobs of
other users too. A child can be killed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Callable, Mapping
from multiprocessing.connection import Pipe

from msgspec.structs import replace

from parpass.spi import Job, exit_cause, run_job, worker_command

_TICK_SECONDS = 0.05  # between two looks at what it is doing
_EXIT_SECONDS = 5.0


class ChildProcess:
    """A process that runs jobs, one after the other.

    Args:
        environment: Variables added to this process's environment.

    Raises:
        NoWorkersError: There is no program that can be started as a worker.
        OSError: The process cannot be created.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            command, variables = worker_command(theirs)
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **environment, **variables},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._is_ready = False

    @property
    def number(self) -> int:
        """The process id."""
        return self._process.pid

    def call(self, message: bytes, meanwhile: Callable[[], None]) -> bytes | None:
        """Run a job; return its answer, None if the process died.

        Args:
            message: The job.
            meanwhile: Called at intervals while the process starts, and the job runs.
        """
        self._is_ready = self._is_ready or self._received(meanwhile) is not None
        if not self._is_ready:
            return None
        try:
            self._connection.send_bytes(message)
        except OSError:
            return None
        return self._received(meanwhile)

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
        """Kill the process."""
        self._process.kill()

    def cause(self) -> str:
        """Wait for the end of the process, and return its cause, as `SIGSEGV(-11)`."""
        self._connection.close()
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.wait()
        return exit_cause(code)


def pack_relocated_job(folder: str, message: bytes) -> bytes:
    """Return the argument for `run_relocated_job`."""
    return pickle.dumps((folder, message), protocol=5)


def run_relocated_job(packed: bytes) -> bytes:
    """Run a job in its run's directory on this machine."""
    folder, message = pickle.loads(packed)  # written by a process of ours
    job = replace(Job.decoded(message), folder=os.fsencode(folder))
    return run_job(job.encoded())
