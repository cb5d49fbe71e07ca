"""The process of a worker, as its pool handles it: start, send, receive, kill."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, Pipe

import psutil

from parpass.fork_safety import fork_lock
from parpass.runner.pool.fork_server import preload_fork_server
from parpass.runner.pool.loky_process import LokyWorkerProcess
from parpass.runner.worker.main import (
    SPIN,
    STOP,
    WorkerBaseProcess,
    serve,
    spin_until_readable,
)

_NAME = "parpass-worker"
_POLL_SECONDS = 1.0  # between two checks that a silent process is alive
_EXIT_SECONDS = 1.0  # from the end of a connection to that of the process, at most
_SKIPPED_SPINS = 8  # results after one that did not arrive while spinning
_GRACE_SECONDS = 5.0  # for a process to exit before it is killed


class StartError(Exception):
    """A process was started, but not ready to take jobs.

    Args:
        cause: How it ended, or for how long it hangs.
        hangs: Whether it was still alive at the time limit.
    """

    def __init__(self, cause: str, *, hangs: bool = False) -> None:
        super().__init__(cause)
        self.hangs = hangs


def _check_prerequisites() -> None:
    """Check what a process of loky needs to start: a directory and an interpreter.

    Raises:
        OSError: There is no current directory, or no interpreter to run.
    """
    os.getcwd()
    if not os.access(sys.executable or "", os.X_OK):  # None, where Python is embedded
        raise FileNotFoundError(
            f"there is no interpreter at sys.executable, {sys.executable!r}"
        )


class WorkerProcess:
    """The process of one worker, with two connections to it.

    The thread of the worker in this process starts it, and reads results from the
    channel. A thread that waits for one job by itself uses the direct channel instead:
    to be woken by another thread takes as long as a pass on a small function.
    """

    def __init__(self) -> None:
        self._process: WorkerBaseProcess | None = None
        self._channel: Connection | None = None
        self._direct_channel: Connection | None = None
        self._tree: psutil.Process | None = None  # to find its descendants
        self._is_killed = False
        self._lock = threading.Lock()
        self._direct_lock = threading.Lock()  # held while the direct channel is in use
        self._spins_to_skip = 0  # results to come, to wait for without spinning

    def start(
        self,
        env: Mapping[str, str],
        seconds: Callable[[], float],
        preload: Sequence[str] = (),
    ) -> None:
        """Start the process, and wait until it is ready.

        Args:
            env: Its environment; ignored if it is forked.
            seconds: Returns the time limit, which may change meanwhile.
            preload: The modules that the fork server imports; if empty, loky starts the
                process.

        Raises:
            StartError: The process ended, or hangs.
            Exception: The process cannot be created.
        """
        _check_prerequisites()
        if hasattr(signal, "pthread_sigmask"):
            # The new process inherits the mask of this thread, until it ignores SIGINT;
            # else it would print a traceback on Ctrl-C.
            with fork_lock:
                resource_tracker.ensure_running()  # it unblocks signals when it starts
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._channel, theirs = Pipe()
        with theirs:
            self._direct_channel, their_direct = Pipe()
            with their_direct:
                process = _new_process((theirs, their_direct), env, preload)
                with fork_lock:  # multiprocessing takes locks to start it
                    process.start()
        self._process = process
        process.kill_tree = self.kill
        with contextlib.suppress(psutil.NoSuchProcess), self._lock:
            self._tree = psutil.Process(self.number)
        if self._is_killed:
            self.kill()
        if not self._wait_until_ready(seconds):
            self.kill()
            raise StartError(f"it is not ready after {seconds():g} s", hangs=True)
        if self.receive() is None:
            raise StartError(self.cause())

    @property
    def number(self) -> int:
        """The process ID; 0 before the start."""
        return 0 if self._process is None else self._process.pid or 0

    def send(self, message: bytes) -> bool:
        """Send a message; return False if the connection is broken."""
        return _try_send(self._channel, message)

    def receive(self) -> bytes | None:
        """Wait for a message and return it; None if the process has ended."""
        return self._receive_from(self._channel)

    def start_spinning(self) -> None:
        """Announce a job on the direct channel: the process spins until it arrives."""
        if not self._spins_to_skip and self._direct_lock.acquire(blocking=False):
            try:
                _try_send(self._direct_channel, SPIN)
            finally:
                self._direct_lock.release()

    def send_and_receive(self, message: bytes, *, spins: bool = False) -> bytes | None:
        """Send a job on the direct channel; return its result, None if there is none.

        A caller that is interrupted here must kill the process, since a message may be
        half read.

        Args:
            message: The job.
            spins: Whether this thread may spin until the result arrives.
        """
        with self._direct_lock:
            if not _try_send(self._direct_channel, message):
                return None
            if self._spins_to_skip:
                self._spins_to_skip -= 1
            elif spins and not self._spin_for_answer():
                self._spins_to_skip = _SKIPPED_SPINS
            return self._receive_from(self._direct_channel)

    def _spin_for_answer(self) -> bool:
        assert self._direct_channel is not None
        try:
            return spin_until_readable(_poller(self._direct_channel))
        except OSError:  # the connection is closed
            return False

    def _receive_from(self, connection: Connection | None) -> bytes | None:
        assert connection is not None
        try:
            while not _is_readable(connection, _POLL_SECONDS):
                # A descendant may hold its end of the connection open.
                if self._has_exited() and not _is_readable(connection, 0.0):
                    return None
            return connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def cause(self) -> str:
        """Return how the process ended, such as `SIGSEGV(-11)` or `EXIT(1)`."""
        code = self._wait_exit_code(_EXIT_SECONDS)
        if code is None:
            return "it closed its connection"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"{signal.Signals(-code).name}({code})"
        return f"EXIT({code})"

    def kill(self) -> None:
        """Kill the process and its descendants."""
        with self._lock:
            self._is_killed = True  # `start` kills it if it is not there yet
            tree = self._tree
        if tree is None:
            return
        started: list[psutil.Process] = []
        # To kill the process itself does not need the list of all processes.
        with contextlib.suppress(psutil.Error, OSError):
            # What is stopped starts nothing more that the list would not have.
            tree.suspend()
            while new := [
                one for one in tree.children(recursive=True) if one not in started
            ]:
                started += new
                for one in new:
                    with contextlib.suppress(psutil.Error, OSError):
                        one.suspend()
        for one in (tree, *started):
            try:
                one.kill()
            except psutil.Error:
                pass
            except OSError:  # no descriptor left to check that the ID was not reused
                if one is tree and self._exit_code() is None:
                    with contextlib.suppress(OSError):
                        os.kill(tree.pid, signal.SIGKILL)

    def end(self) -> None:
        """Ask the process to exit after its current job."""
        if self._channel is not None:
            self.send(STOP)

    def clear(self) -> None:
        """Wait until the process has ended, kill it if that takes long; release it."""
        with self._direct_lock:  # a descriptor that is being read must not be reused
            self._close_channels()
        if self._process is None:
            return
        self._wait_exit_code(_GRACE_SECONDS)
        if not self._has_exited():
            self.kill()
        if self._wait_exit_code(_GRACE_SECONDS) is not None:
            self._process.close()

    def after_fork_in_child(self) -> None:
        """Release the process, which belongs to the parent of this one."""
        self._close_channels()

    def _close_channels(self) -> None:
        for connection in (self._channel, self._direct_channel):
            if connection is not None:
                connection.close()

    def _wait_until_ready(self, seconds: Callable[[], float]) -> bool:
        assert self._channel is not None
        began = time.monotonic()
        with contextlib.suppress(EOFError, OSError):
            while not _is_readable(self._channel, min(_POLL_SECONDS, seconds())):
                if self._has_exited():
                    break
                if time.monotonic() >= began + seconds():
                    return False
        return True

    def _wait_exit_code(self, seconds: float) -> int | None:
        # Not by `join`, which waits for its descendants, too.
        until = time.monotonic() + seconds
        while (code := self._exit_code()) is None and time.monotonic() < until:
            if self._has_exited():
                return self._exit_code()
            time.sleep(0.001)
        return code

    def _has_exited(self) -> bool:
        # There is no exit code if the program reaps its children elsewhere.
        tree = self._tree
        if self._exit_code() is not None:
            return True
        try:
            return tree is not None and not tree.is_running()
        except OSError:  # no descriptor left to check with
            return False

    def _exit_code(self) -> int | None:
        return None if self._process is None else self._process.exitcode


def _is_readable(connection: Connection, seconds: float) -> bool:
    """Wait until the connection is readable or closed by the other side.

    It is faster than the `poll` of the connection, which takes longer than reading.

    Args:
        connection: The connection.
        seconds: How long to wait at most.

    Raises:
        OSError: The connection is closed.
    """
    waiting = _poller(connection)
    return bool(waiting.poll(max(0.0, 1000 * seconds)))  # a negative one waits forever


def _poller(connection: Connection) -> select.poll:
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return waiting


def _new_process(
    connections: Sequence[Connection], env: Mapping[str, str], preload: Sequence[str]
) -> WorkerBaseProcess:
    if preload:
        with fork_lock:
            # Imported late: not all systems have a fork server.
            from parpass.runner.pool.forked_process import ForkedWorkerProcess

        preload_fork_server(preload)
        return ForkedWorkerProcess(target=serve, args=(None, *connections), name=_NAME)
    args = (os.getpid(), *connections)
    return LokyWorkerProcess(target=serve, args=args, name=_NAME, env=dict(env))


def _try_send(connection: Connection | None, message: bytes) -> bool:
    assert connection is not None
    try:
        connection.send_bytes(message)
    except OSError:
        return False
    return True
