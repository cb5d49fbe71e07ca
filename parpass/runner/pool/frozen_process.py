"""Worker processes of a frozen program, each of which is the program started again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

from parpass.runner.worker.frozen import worker_command


class FrozenWorkerProcess:
    """A worker process of a frozen program, with what `WorkerProcess` asks of one.

    Neither loky nor multiprocessing starts it: their resource trackers would be the
    program started again, too.

    Attributes:
        kill_tree: Kills the process and its descendants; set once it is started.

    Raises:
        NoWorkersError: The program cannot be started as a worker.
    """

    kill_tree: Callable[[], None] | None = None

    def __init__(self, connection: Connection, env: Mapping[str, str]) -> None:
        self._command, variables = worker_command(connection)
        self._env = {**os.environ, **env, **variables}
        self._inherited = connection.fileno()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._env, pass_fds=[self._inherited]
        )

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def exitcode(self) -> int | None:
        """The exit code, as `subprocess` has it; None while it runs."""
        return None if self._process is None else self._process.poll()

    def close(self) -> None:
        """Release the process, which has ended."""
        self._process = None
