"""A worker's process, seen from inside: it takes jobs from connections, one by one.

loky starts the process, or Python's fork server. Jobs do not go through loky's
executor, whose queues and threads take twenty times as long as a message does on a
connection, need names in shared memory, and end all jobs of a pool when one process
dies.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from parpass.runner.worker.looking_out import is_soon_readable

_DONE, _FAILED = b"+", b"-"
_NOTICED_SECONDS = 0.5  # from the end of a connection to that of the other process
END = b""  # in place of a job
EXPECT = b"soon"  # before a job, which nothing tells of but this
READY = b"ready"
JOBS = "parpass.runner.worker.jobs"


class ServingProcess(BaseProcess):
    """A process that runs jobs; only who started it waits for its end.

    When a program ends it waits for all processes that it knows of, and one that was
    forked off this one knows of ours, which are no children of it. By then nobody will
    give ours anything to do, so who waits for them without limit has them ended.

    Attributes:
        end_tree: Ends it, and all that it has started; set once it is started.
    """

    end_tree: Callable[[], None] | None = None

    def start(self) -> None:
        """Start it."""
        self._started_by = os.getpid()
        super().start()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, where it was started."""
        if self._started_by != os.getpid():
            return
        if timeout is None and self.end_tree is not None:
            self.end_tree()
        super().join(timeout)


def serve(parent: int | None, *connections: Connection) -> None:
    """Run jobs until the other side says that there will be no others.

    Args:
        parent: The coordinator, if that is the parent of this process; None where a
            fork server is, which ends with the coordinator.
        connections: Where jobs come from.

    They come one at a time, on either connection, and are answered on the same.

    Ctrl-C reaches all processes of a terminal. What it means is for the coordinator to
    say: it may end the workers, or let them finish.
    """
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # it was blocked until here
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if parent is None:
        parent = os.getppid()
    # Loaded while the coordinator is still packing the first functions.
    importlib.import_module(JOBS).begin_worker(parent)
    try:
        connections[0].send_bytes(READY)
        _answer_all(connections)
    except (EOFError, OSError):
        _leave_to_watch(parent)


def _answer_all(connections: Sequence[Connection]) -> None:
    """Answer jobs until there are no others.

    Raises:
        EOFError: The other side is no more.
        OSError: It cannot be reached.
    """
    by_number = {one.fileno(): one for one in connections}
    waiting = select.poll()
    for number in by_number:
        waiting.register(number, select.POLLIN)
    while True:
        for number, _ in waiting.poll():
            connection = by_number[number]
            message = connection.recv_bytes()
            if message == END:
                return
            if message == EXPECT:
                is_soon_readable(waiting)
            else:
                connection.send_bytes(_answer(message))


def _leave_to_watch(parent: int) -> None:
    """Wait if the coordinator is no more: a thread tidies up, and ends this process."""
    until = time.monotonic() + _NOTICED_SECONDS
    while os.getppid() != parent or time.monotonic() < until:
        time.sleep(0.01)


def pack_call(run: Callable[[bytes], bytes], job: bytes) -> bytes:
    """Return the message that has a worker call `run(job)`."""
    return pickle.dumps((run, job), protocol=5)


def _answer(message: bytes) -> bytes:
    try:
        run, job = pickle.loads(message)
        return _DONE + run(job)
    except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
        return _FAILED + _pack_error(error)


def _pack_error(error: BaseException) -> bytes:
    # Not before it is needed: the worker may die of what it imports there.
    from parpass.runner.travel.errors import pack_error

    return pack_error(error)


def unpack_answer(answer: bytes) -> bytes | BaseException:
    """Return what a job gave, or the error that it raised."""
    if answer.startswith(_DONE):
        return memoryview(answer)[1:].tobytes()
    from parpass.runner.travel.errors import unpack_error  # for errors alone

    return unpack_error(answer[1:])
