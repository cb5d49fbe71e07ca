"""The process of a worker, as its pool handles it: start, send, receive, kill."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, Pipe

import psutil

from parpass.fork_safety import forks_wait
from parpass.runner.executor import NoWorkersError, exit_cause
from parpass.runner.open_files import file_at
from parpass.runner.pool.fork_server import preload_fork_server
from parpass.runner.pool.frozen_process import FrozenWorkerProcess
from parpass.runner.pool.lifecycle import run_in_thread
from parpass.runner.pool.loky_process import LokyWorkerProcess
from parpass.runner.worker.frozen import check_program, frozen_program
from parpass.runner.worker.main import STOP, WorkerBaseProcess, serve

_NAME = "parpass-worker"
_POLL_SECONDS = 1.0  # between two checks that a silent process is alive
_EXIT_SECONDS = 1.0  # from the end of a connection to that of the process, at most
_GRACE_SECONDS = 5.0  # for a process to exit before it is killed

# What a connection holds although the process reads nothing: the job that runs, the one
# that is prefetched, and `STOP`. A larger message is sent in a thread.
_BUFFER_BYTES = 1 << 18
_MAX_DIRECT_BYTES = 1 << 16


def _check_prerequisites() -> None:
    """Check what a process needs to start: a directory, and a program to run."""
    try:
        os.getcwd()
    except OSError as error:
        raise NoWorkersError(
            "none",
            f"the working directory{_lost_directory()} is gone; change to one that "
            "exists",
        ) from error
    check_program()


def _lost_directory() -> str:
    """Return the path of the working directory, which is gone, where it is known."""
    with contextlib.suppress(OSError):
        # Linux appends that it is deleted.
        link = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
        return f", {link!r},"
    return ""


class WorkerProcess:
    """The process of one worker, with a connection to it.

    The thread of the worker in this process starts it, and reads results.
    """

    def __init__(self) -> None:
        self._process: WorkerBaseProcess | FrozenWorkerProcess | None = None
        self._channel: Connection | None = None
        self._tree: psutil.Process | None = None  # to find its descendants
        self._is_forked = False  # off the fork server
        self._is_killed = False
        self._lock = threading.Lock()
        self._outbox: deque[bytes] = deque()  # messages that a thread sends
        self._is_broken = False
        self._file: tuple[int, int] | None = None  # that of the channel

    @property
    def is_lost(self) -> bool:
        """Whether the program has closed the connection, by its descriptor.

        Another file may have the descriptor now, so it is not used any more.
        """
        channel = self._channel
        if channel is None:
            return False
        try:
            found = file_at(channel.fileno())
        except OSError:  # it was closed here
            return False
        return found != self._file and self._channel is channel

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
            NoWorkersError: The process ended, or hangs.
        """
        _check_prerequisites()
        if hasattr(signal, "pthread_sigmask"):
            # The new process inherits the mask of this thread, until it ignores SIGINT;
            # else it would print a traceback on Ctrl-C.
            if frozen_program() is None:
                with forks_wait():
                    resource_tracker.ensure_running()  # it unblocks signals at first
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        channel, theirs = Pipe()
        self._file = file_at(channel.fileno())
        self._channel = channel
        _enlarge_buffer(channel)
        with theirs:
            process = _new_process(theirs, env, preload)
            with forks_wait():  # multiprocessing takes locks to start it
                process.start()
        self._process, self._is_forked = process, bool(preload)
        process.kill_tree = self.kill
        with contextlib.suppress(psutil.NoSuchProcess), self._lock:
            self._tree = psutil.Process(self.number)
        if self._is_killed:
            self.kill()
        if not self._wait_until_ready(seconds):
            self.kill()
            raise NoWorkersError("hang", f"it is not ready after {seconds():g} s")
        if self.receive() is None:
            raise NoWorkersError("end", self.cause())

    @property
    def number(self) -> int:
        """The process ID; 0 before the start."""
        return 0 if self._process is None else self._process.pid or 0

    def send(self, message: bytes) -> bool:
        """Send a message; return False if the connection is broken.

        The process may be stopped, or hang, and so read nothing: this does not wait
        until it does. Called by one thread at a time.
        """
        if self._is_broken:
            return False
        with self._lock:
            is_sending = bool(self._outbox)
            if is_sending or len(message) > _MAX_DIRECT_BYTES:
                self._outbox.append(message)
            is_direct = not self._outbox
        if is_direct:
            return self._send(message)
        if not is_sending:
            run_in_thread(self._send_outbox)
        return True

    def _send_outbox(self) -> None:
        """Send what is in the outbox, and what is put there meanwhile."""
        while self._send(self._outbox[0]):
            with self._lock:
                self._outbox.popleft()
                if not self._outbox:
                    return
        self._is_broken = True

    def _send(self, message: bytes) -> bool:
        channel = self._channel
        if channel is None or self.is_lost:
            return False
        try:
            channel.send_bytes(message)
        except (OSError, TypeError):  # TypeError: it is closed meanwhile
            return False
        return True

    def receive(self) -> bytes | None:
        """Wait for a message and return it; None if the process has ended."""
        channel = self._channel
        assert channel is not None
        try:
            while not (self.is_lost or _is_readable(channel, _POLL_SECONDS)):
                # A descendant may hold its end of the connection open.
                if self._has_exited() and not _is_readable(channel, 0.0):
                    return None
            return None if self.is_lost else channel.recv_bytes()
        except (EOFError, OSError):
            return None

    def cause(self) -> str:
        """Return how the process ended, such as `SIGSEGV(-11)` or `EXIT(1)`."""
        code = self._wait_exit_code(_EXIT_SECONDS)
        return "it closed its connection" if code is None else exit_cause(code)

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
        if self.is_lost:
            _lost.append(self)  # not to be closed by the collector, either
            self.kill()
            return
        self._close_channel()
        if self._process is None:
            return
        self._wait_exit_code(_GRACE_SECONDS)
        if not self._has_exited():
            self.kill()
        if self._wait_exit_code(_GRACE_SECONDS) is not None:
            self._process.close()

    def after_fork_in_child(self) -> None:
        """Release the process, which belongs to the parent of this one."""
        self._close_channel()

    def _close_channel(self) -> None:
        if not self.is_lost:
            channel, self._channel = self._channel, None  # first, for `is_lost`
            if channel is not None:
                channel.close()

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
            # The fork server passes on the code of a child after it has reaped it.
            if self._has_exited() and not self._is_forked:
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


_lost: list[WorkerProcess] = []  # see `is_lost`


def _enlarge_buffer(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)


def _is_readable(connection: Connection, seconds: float) -> bool:
    """Wait until the connection is readable or closed by the other side.

    It is faster than the `poll` of the connection, which takes longer than reading.

    Raises:
        OSError: The connection is closed.
    """
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(max(0.0, 1000 * seconds)))  # a negative one waits forever


def _new_process(
    connection: Connection, env: Mapping[str, str], preload: Sequence[str]
) -> WorkerBaseProcess | FrozenWorkerProcess:
    if frozen_program() is not None:
        return FrozenWorkerProcess(connection, env)
    if preload:
        # Imported late: not all systems have a fork server.
        from parpass.runner.pool.forked_process import ForkedWorkerProcess

        preload_fork_server(preload)
        return ForkedWorkerProcess(target=serve, args=(None, connection), name=_NAME)
    args = (os.getpid(), connection)
    return LokyWorkerProcess(target=serve, args=args, name=_NAME, env=dict(env))
