"""The worker process and its main loop: receive a job, run it, send the result.

loky starts the process, or Python's fork server. Jobs do not go through loky's
executor: its queues and threads take twenty times as long as a message on a connection,
need names in shared memory, and end all jobs of a pool when one process dies.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from parpass.lazy_loader import load_module

STOP = b""  # a message in place of a job
READY = b"ready"
JOBS_MODULE = "parpass.runner.worker.jobs"

_DONE, _FAILED = b"+", b"-"
_PARENT_EXIT_SECONDS = 0.5  # from the end of a connection to that of its process


class WorkerBaseProcess(BaseProcess):
    """Base class of worker processes; only the process that started one joins it.

    At exit, multiprocessing joins all processes that it has registered. A process
    forked from this one has inherited the registration of the workers, which are not
    its children: there `join` has no effect. Here `join` without a timeout kills the
    worker first, since at exit no jobs are left.

    Attributes:
        kill_tree: Kills the process and its descendants; set once it is started.
    """

    kill_tree: Callable[[], None] | None = None

    def start(self) -> None:
        self._started_by = os.getpid()
        super().start()

    def join(self, timeout: float | None = None) -> None:
        if self._started_by != os.getpid():
            return
        if timeout is None and self.kill_tree is not None:
            self.kill_tree()
        super().join(timeout)


def serve(parent: int | None, connection: Connection) -> None:
    """Run jobs from a connection until `STOP` arrives; the main loop of a worker.

    The worker ignores SIGINT: a terminal sends it to its whole process group, but only
    the coordinator decides whether workers end or finish.

    Args:
        parent: The process ID of the coordinator if it is the parent; None if the
            parent is a fork server, which ends with the coordinator.
        connection: The connection to the coordinator.
    """
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # blocked since the process was started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if parent is None:
        parent = os.getppid()
    # Imported here, while the coordinator still encodes the first functions.
    jobs = load_module(JOBS_MODULE)
    jobs.begin_worker(parent)
    try:
        connection.send_bytes(READY)
        while (message := connection.recv_bytes()) != STOP:
            connection.send_bytes(_run_call(message))
    except (EOFError, OSError):
        _wait_for_parent_watch(parent)


def _wait_for_parent_watch(parent: int) -> None:
    """Wait until this process is ended, if its parent has."""
    until = time.monotonic() + _PARENT_EXIT_SECONDS
    while os.getppid() != parent or time.monotonic() < until:
        time.sleep(0.01)


def encode_call(run: Callable[[bytes], bytes], job: bytes) -> bytes:
    """Return the message that makes a worker call `run(job)`."""
    return pickle.dumps((run, job), protocol=5)


def _run_call(message: bytes) -> bytes:
    try:
        run, job = pickle.loads(message)
        return _DONE + run(job)
    except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
        # Imported late: loading what it imports may kill the worker.
        from parpass.runner.ipc.pickled_errors import encode_error

        return _FAILED + encode_error(error)


def decode_result(answer: bytes) -> bytes | BaseException:
    """Return the result of a job, or the error that it raised."""
    if answer.startswith(_DONE):
        return memoryview(answer)[1:].tobytes()
    from parpass.runner.ipc.pickled_errors import decode_error  # for errors alone

    return decode_error(answer[1:])
