"""A worker's process, seen from outside: started by others, spoken to directly."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe

import psutil

from parpass.runner.pool.fork_server import load_ahead
from parpass.runner.pool.loky_process import OwnInterpreter
from parpass.runner.worker.looking_out import is_soon_readable
from parpass.runner.worker.serving import END, EXPECT, ServingProcess, serve

_NAME = "parpass-worker"
_LOOK_SECONDS = 1.0  # between two looks whether a process is alive that says nothing
_EXIT_SECONDS = 1.0  # from the end of a connection to that of the process, at most
_UNWATCHED = 8  # answers, after one that was looked out for in vain
_GRACE_SECONDS = 5.0  # for a process to end by itself


class StartError(Exception):
    """A process was started and did not come to begin.

    Args:
        cause: How it ended.
        hangs: Whether it did not end either.
    """

    def __init__(self, cause: str, *, hangs: bool = False) -> None:
        super().__init__(cause)
        self.hangs = hangs


def _check_needs() -> None:
    """Look for what loky's own processes cannot do without; they end with a traceback.

    Raises:
        OSError: It is not there.
    """
    os.getcwd()
    if not os.access(sys.executable or "", os.X_OK):  # None, where Python is embedded
        raise FileNotFoundError(
            f"there is no interpreter at sys.executable, {sys.executable!r}"
        )


class Process:
    """The process of one worker; one thread, its own, starts it and hears of it.

    Besides there is a line to it for who has it to itself, and waits for the answer in
    its own thread: to be told by another thread takes as long as a pass on a small
    function.
    """

    def __init__(self) -> None:
        self._process: ServingProcess | None = None
        self._ours: Connection | None = None
        self._line: Connection | None = None
        self._tree: psutil.Process | None = None  # to find what it has started
        self._is_killed = False
        self._lock = threading.Lock()
        self._asking = threading.Lock()  # while somebody is on the line
        self._unwatched = 0  # answers to come that nobody looks out for

    def start(
        self,
        env: Mapping[str, str],
        seconds: Callable[[], float],
        preload: Sequence[str] = (),
    ) -> None:
        """Start the process, and wait until it begins, for so many seconds.

        Args:
            env: What it has in its environment; not if it is forked.
            seconds: How long that may take.
            preload: The modules that are loaded in the process off which it is forked.

        Raises:
            StartError: It ended, or hangs.
            Exception: Whatever is in the way of a new process.
        """
        if hasattr(signal, "pthread_sigmask"):
            # Of this thread only; the new process has it from here, until it is ready
            # to ignore the signal. Else Ctrl-C would have it print a traceback.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        _check_needs()
        self._ours, theirs = Pipe()
        with theirs:
            self._line, end_of_line = Pipe()
            with end_of_line:
                process = _new_process((theirs, end_of_line), env, preload)
                process.start()
        self._process = process
        process.end_tree = self.kill
        with contextlib.suppress(psutil.NoSuchProcess), self._lock:
            self._tree = psutil.Process(self.number)
        if self._is_killed:
            self.kill()
        if not self._is_heard_in(seconds):
            self.kill()
            raise StartError(f"nothing is heard of it for {seconds():g} s", hangs=True)
        if self.receive() is None:
            raise StartError(self.cause())

    @property
    def number(self) -> int:
        """The number of the process, 0 if there is none."""
        return 0 if self._process is None else self._process.pid or 0

    def send(self, message: bytes) -> bool:
        """Send a job; return whether that can be."""
        return _is_sent(self._ours, message)

    def receive(self) -> bytes | None:
        """Wait for an answer; None says that the process is no more."""
        return self._heard(self._ours)

    def expect(self) -> None:
        """Have the process look out for a job, which is to be sent soon, either way."""
        if not self._unwatched and self._asking.acquire(blocking=False):
            try:
                _is_sent(self._line, EXPECT)
            finally:
                self._asking.release()

    def ask(self, message: bytes, *, looks_out: bool = False) -> bytes | None:
        """Send a job by the line and wait for its answer; None as above.

        Whoever is interrupted in this has the process killed, as the line may be
        anywhere in a message.

        Args:
            message: The job.
            looks_out: Whether this thread may look out for the answer, not sleep.
        """
        with self._asking:
            if not _is_sent(self._line, message):
                return None
            if self._unwatched:
                self._unwatched -= 1
            elif looks_out and not self._answers_soon():
                self._unwatched = _UNWATCHED
            return self._heard(self._line)

    def _answers_soon(self) -> bool:
        assert self._line is not None
        try:
            return is_soon_readable(_waiting_for(self._line))
        except OSError:  # it is closed
            return False

    def _heard(self, connection: Connection | None) -> bytes | None:
        assert connection is not None
        try:
            while not _is_readable(connection, _LOOK_SECONDS):
                # What it forked off may hold its end of the connection open.
                if self._is_over() and not _is_readable(connection, 0.0):
                    return None
            return connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def cause(self) -> str:
        """Return how the process ended, as `SIGSEGV(-11)`."""
        code = self._awaited_exit_code(_EXIT_SECONDS)
        if code is None:
            return "it closed its connection"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"{signal.Signals(-code).name}({code})"
        return f"EXIT({code})"

    def kill(self) -> None:
        """Kill the process and all that it has started."""
        with self._lock:
            self._is_killed = True  # also if it is being started just now
            tree = self._tree
        if tree is None:
            return
        started: list[psutil.Process] = []
        # What may be in the way of looking through all processes is not of killing one.
        with contextlib.suppress(psutil.Error, OSError):
            started = tree.children(recursive=True)
        for one in (tree, *started):
            try:
                one.kill()
            except psutil.Error:
                pass
            except OSError:  # no descriptor to see with that it is the same still
                if one is tree and self._exit_code() is None:
                    with contextlib.suppress(OSError):
                        os.kill(tree.pid, signal.SIGKILL)

    def end(self) -> None:
        """Have the process end by itself, when it is done with its job."""
        if self._ours is not None:
            self.send(END)

    def clear(self) -> None:
        """Wait for the end of the process, and let go of what belongs to it."""
        with self._asking:  # else it might read what is open by that number then
            self._hang_up()
        if self._process is None:
            return
        self._awaited_exit_code(_GRACE_SECONDS)
        if not self._is_over():
            self.kill()
        if self._awaited_exit_code(_GRACE_SECONDS) is not None:
            self._process.close()

    def leave_to_parent(self) -> None:
        """Forget the process: this one was forked off, and it is its parent's."""
        self._hang_up()

    def _hang_up(self) -> None:
        for connection in (self._ours, self._line):
            if connection is not None:
                connection.close()

    def _is_heard_in(self, seconds: Callable[[], float]) -> bool:
        assert self._ours is not None
        began = time.monotonic()
        with contextlib.suppress(EOFError, OSError):
            while not _is_readable(self._ours, min(_LOOK_SECONDS, seconds())):
                if self._is_over():
                    break
                if time.monotonic() >= began + seconds():
                    return False
        return True

    def _awaited_exit_code(self, seconds: float) -> int | None:
        # Not by `join`, which waits for what the process forked off, too.
        until = time.monotonic() + seconds
        while (code := self._exit_code()) is None and time.monotonic() < until:
            if self._is_over():
                return self._exit_code()
            time.sleep(0.001)
        return code

    def _is_over(self) -> bool:
        # Nobody learns its exit code if the program has its children reaped elsewhere.
        tree = self._tree
        if self._exit_code() is not None:
            return True
        try:
            return tree is not None and not tree.is_running()
        except OSError:  # no descriptor to look with
            return False

    def _exit_code(self) -> int | None:
        return None if self._process is None else self._process.exitcode


def _is_readable(connection: Connection, seconds: float) -> bool:
    """Wait so long for something to read, such as that there is nothing any more.

    By the connection's own `poll` that takes longer than to read it.

    Raises:
        OSError: The connection is closed.
    """
    waiting = _waiting_for(connection)
    return bool(waiting.poll(max(0.0, 1000 * seconds)))  # less would be for ever


def _waiting_for(connection: Connection) -> select.poll:
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return waiting


def _new_process(
    connections: Sequence[Connection], env: Mapping[str, str], preload: Sequence[str]
) -> ServingProcess:
    if preload:
        from parpass.runner.pool.forked_process import ForkedProcess  # as systems have

        load_ahead(preload)
        return ForkedProcess(target=serve, args=(None, *connections), name=_NAME)
    args = (os.getpid(), *connections)
    return OwnInterpreter(target=serve, args=args, name=_NAME, env=dict(env))


def _is_sent(connection: Connection | None, message: bytes) -> bool:
    assert connection is not None
    try:
        connection.send_bytes(message)
    except OSError:
        return False
    return True
