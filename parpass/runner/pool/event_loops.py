"""Trio event loops in threads of their own, which are kept for the next stage.

A stage is coordinated on such a loop, wherever its run was called, and none of it runs
on the event loop of the caller. To begin and end a loop takes longer than a small stage
needs it for. Code of the program may leave something on a loop, even what breaks it, so
a call of that has a loop of its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import outcome
import trio

from parpass.runner.executor import NoWorkersError
from parpass.runner.ipc.function_outcome import AbandonedError
from parpass.runner.open_files import file_at
from parpass.runner.pool.lifecycle import register_idle

IDLE_SECONDS = 10.0  # as threads of trio, and reusable pools

MessageT = TypeVar("MessageT")
ValueT = TypeVar("ValueT")


class Inbox(Generic[MessageT]):
    """Messages from other threads to a task of trio, which creates it."""

    def __init__(self) -> None:
        self._messages = deque[MessageT]()
        self._waiting = trio.lowlevel.ParkingLot()
        self._post = trio.lowlevel.current_trio_token().run_sync_soon

    def put(self, message: MessageT) -> None:
        """Add a message, in any thread; it is lost if the loop has ended."""
        self._messages.append(message)
        with contextlib.suppress(trio.RunFinishedError):
            self._post(self._waiting.unpark_all, idempotent=True)

    async def take(self, seconds: float) -> MessageT | None:
        """Return the next message; None if there is none in so many seconds."""
        if self._messages or seconds <= 0:
            await trio.lowlevel.checkpoint()  # messages hold up no cancellation
        else:
            with trio.move_on_after(seconds):
                while not self._messages:
                    await self._waiting.park()
        return self._messages.popleft() if self._messages else None


class TrioCall:
    """A call of an async function on an event loop in another thread.

    Args:
        is_alone: Whether it has a loop of its own, which raises what is left on it.
    """

    def __init__(self, *, is_alone: bool = False) -> None:
        self._is_alone = is_alone
        self._result: outcome.Outcome[Any] | None = None
        self._ended = SimpleQueue[None]()  # something, once there is a result
        self._function: Callable[[], Awaitable[Any]] | None = None
        self._is_cancelled = False
        self._interrupt: Callable[[], None] | None = None  # once it is made

    def run(self, function: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Call a function, and wait for its end.

        What is raised here meanwhile, such as by Ctrl-C, cancels it.

        Raises:
            AbandonedError: It was cancelled.
            NoWorkersError: There is no event loop for it, or no thread.
        """
        self._function, self._interrupt, self._result = function, None, None
        try:
            _start(_new_thread(self._run_alone)) if self._is_alone else _assign(self)
            result = self._wait()
        except BaseException:
            self.cancel()
            if self._interrupt is not None:  # else it is not going to be made
                self._wait()
            raise
        finally:
            self._result = None  # its error refers to frames that refer to this
        try:
            return result.unwrap()
        finally:
            del result  # likewise

    def _run_alone(self) -> None:
        self.settle(outcome.capture(trio.run, self.make))

    def _wait(self) -> outcome.Outcome[Any]:
        # Kept until it is returned: what is raised here may come as it is there.
        while self._result is None:
            self._ended.get()
        return self._result

    def settle(self, result: outcome.Outcome[Any]) -> None:
        """Give the result to the thread that waits for it."""
        self._result = result
        self._ended.put(None)

    def cancel(self) -> None:
        """Cancel it, in any thread, also before it is made."""
        self._is_cancelled = True
        if self._interrupt is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._interrupt()

    async def make(self) -> Any:
        """Make the call, on the event loop."""
        assert self._function is not None
        token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as scope:
            self._interrupt = lambda: token.run_sync_soon(scope.cancel)
            if not self._is_cancelled:
                return await self._function()
        raise AbandonedError


class _LoopThread:
    """A thread with an event loop, which makes one call after another.

    While it is idle, it waits outside of its loop: nothing of that is to be done.
    """

    def __init__(self, first: TrioCall) -> None:
        self._call: TrioCall | None = first  # the one that is not answered yet
        self._calls = SimpleQueue[TrioCall | None]()  # None ends it
        self._watched, self._file = -1, None  # a descriptor, and what it is of
        self._thread = _new_thread(self._run)
        _start(self._thread)  # it may be idle, and be ended, before this returns

    @property
    def is_lost(self) -> bool:
        """Whether the program has closed descriptors, as it seems all that it found.

        Other files may have those of the loop now, so it is not even ended.
        """
        return file_at(self._watched) != self._file

    def assign(self, call: TrioCall) -> None:
        self._calls.put(call)

    def end(self) -> None:
        """End the loop, which is idle, and wait for its thread."""
        if not self.is_lost:
            self._calls.put(None)
            self._thread.join()

    def _run(self) -> None:
        try:
            self._watched, written = os.pipe()
            os.close(written)
            self._file = file_at(self._watched)
            trio.run(self._serve)
        except Exception as error:  # noqa: BLE001 -- its descriptors may be gone
            if self._call is not None:
                self._call.settle(outcome.Error(_no_loop_error(error)))
        finally:
            if self._file is not None and not self.is_lost:
                os.close(self._watched)

    async def _serve(self) -> None:
        while (call := self._call) is not None:
            result = await outcome.acapture(call.make)
            await trio.lowlevel.checkpoint_if_cancelled()  # as all is, if it is broken
            self._call = None
            _idle.append(self)  # before its end is known: then the next one may come
            call.settle(result)
            del call, result  # which may hold a module
            self._call = self._next_call()

    def _next_call(self) -> TrioCall | None:
        with contextlib.suppress(Empty):
            return self._calls.get(timeout=IDLE_SECONDS)
        if self.is_lost:
            threading.Event().wait()
        with contextlib.suppress(ValueError):  # who removed it has a call for it
            _idle.remove(self)
            return None
        return self._calls.get()


# The threads that make no call. Who removes one has it to himself.
_idle: list[_LoopThread] = []

if hasattr(os, "register_at_fork"):  # a forked child does not have these threads
    os.register_at_fork(after_in_child=_idle.clear)


def end_idle() -> None:
    """End the loops that are kept for the next stage, and wait for their threads."""
    with contextlib.suppress(IndexError):
        while True:
            _idle.pop().end()


register_idle(end_idle)


def _assign(call: TrioCall) -> None:
    with contextlib.suppress(IndexError):
        while (thread := _idle.pop()).is_lost:
            pass
        thread.assign(call)
        return
    _LoopThread(call)


def _new_thread(run: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=run, name="parpass-loop", daemon=True)


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:  # at exit, or beyond a limit
        raise _no_loop_error(error) from error


def _no_loop_error(error: Exception) -> NoWorkersError:
    return NoWorkersError(
        "none", f"there is no event loop, {type(error).__name__}: {error}"
    )
