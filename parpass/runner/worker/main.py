"""The worker process and its main loop: receive a job, run it, send the result.

loky starts the process, or Python's fork server. Jobs do not go through loky's
executor: its queues and threads take twenty times as long as a message on a connection,
need names in shared memory, and end all jobs of a pool when one process dies.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from parpass.fork_safety import fork_lock

SPIN_SECONDS = 0.0005  # the round trip of a small job
STOP = b""  # a message in place of a job
SPIN = b"soon"  # a message that announces a job
READY = b"ready"
JOBS_MODULE = "parpass.runner.worker.jobs"

_DONE, _FAILED = b"+", b"-"
_CONTENDED_SECONDS = 0.00005  # sched_yield takes less if no thread waits for the core
_PARENT_EXIT_SECONDS = 0.5  # from the end of a connection to that of its process


def spin_until_readable(waiting: select.poll, seconds: float = SPIN_SECONDS) -> bool:
    """Spin until one of the connections is readable, or the time is over.

    The wake-up latency of a sleeping thread, and the cold caches after it, cost more
    than a small job. Spinning ends early if another thread waits for this core.

    Args:
        waiting: The connections.
        seconds: How long to spin at most.

    Returns:
        Whether one is readable.
    """
    until = time.perf_counter() + seconds
    while not waiting.poll(0):
        before = time.perf_counter()
        os.sched_yield()
        now = time.perf_counter()
        if now >= until or now - before > _CONTENDED_SECONDS:
            return bool(waiting.poll(0))
    return True


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
        """Start the process."""
        self._started_by = os.getpid()
        super().start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, if this process started it.

        Args:
            timeout: The seconds to wait; None to kill it first, and wait.
        """
        if self._started_by != os.getpid():
            return
        if timeout is None and self.kill_tree is not None:
            self.kill_tree()
        super().join(timeout)


def serve(parent: int | None, *connections: Connection) -> None:
    """Run jobs from connections until `STOP` arrives; the main loop of a worker.

    A job is received on any connection, one at a time, and its result sent on the same.
    SIGINT is ignored: a terminal sends it to all processes of its group, and only the
    coordinator decides whether workers end or finish.

    Args:
        parent: The process ID of the coordinator, if it is the parent; None if the
            parent is a fork server, which ends with the coordinator.
        connections: The connections to the coordinator.
    """
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # blocked since the process was started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if parent is None:
        parent = os.getppid()
    # Imported here, while the coordinator still encodes the first functions.
    with fork_lock:
        jobs = importlib.import_module(JOBS_MODULE)
    jobs.begin_worker(parent)
    try:
        connections[0].send_bytes(READY)
        for connection, message in _received(connections):
            connection.send_bytes(_run_call(message))
    except (EOFError, OSError):
        _wait_for_parent_watch(parent)


def _received(
    connections: Sequence[Connection],
) -> Generator[tuple[Connection, bytes]]:
    """Yield calls as they arrive, each with its connection, until `STOP` arrives.

    Raises:
        EOFError: The coordinator has closed the connection, or ended.
        OSError: The connection is broken.
    """
    by_number = {one.fileno(): one for one in connections}
    waiting = select.poll()
    for number in by_number:
        waiting.register(number, select.POLLIN)
    while True:
        for number, _ in waiting.poll():
            connection = by_number[number]
            message = connection.recv_bytes()
            if message == STOP:
                return
            if message == SPIN:
                spin_until_readable(waiting)
            else:
                yield connection, message


def _wait_for_parent_watch(parent: int) -> None:
    """Wait until `watch_parent` ends this process, if the parent has ended."""
    until = time.monotonic() + _PARENT_EXIT_SECONDS
    while os.getppid() != parent or time.monotonic() < until:
        time.sleep(0.01)


def encode_call(run: Callable[[bytes], bytes], job: bytes) -> bytes:
    """Return the message on which a worker calls `run(job)`."""
    return pickle.dumps((run, job), protocol=5)


def _run_call(message: bytes) -> bytes:
    try:
        run, job = pickle.loads(message)
        return _DONE + run(job)
    except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
        return _FAILED + _encode_error(error)


def _encode_error(error: BaseException) -> bytes:
    with fork_lock:
        # Imported late: loading what it imports may kill the worker.
        from parpass.runner.ipc.pickling import encode_error

    return encode_error(error)


def decode_result(answer: bytes) -> bytes | BaseException:
    """Return the result of a job, or the error that it raised."""
    if answer.startswith(_DONE):
        return memoryview(answer)[1:].tobytes()
    with fork_lock:
        from parpass.runner.ipc.pickling import decode_error  # for errors alone

    return decode_error(answer[1:])
