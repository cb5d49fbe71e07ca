"""Trio event loops in threads of their own, which are kept for the next stage.

A stage is coordinated on such a loop, wherever its run was called, and nothing of it
runs on an event loop of the caller's. To begin and end a loop takes longer than all
that a small stage has it do.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

import outcome
import trio

from parpass.runner.executor import NoWorkersError
from parpass.runner.ipc.messages import AbandonedError

IDLE_SECONDS = 10.0  # as threads of trio, and reusable pools

ValueT = TypeVar("ValueT")
MessageT = TypeVar("MessageT")


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
    """A call of an async function on an event loop in another thread."""

    def __init__(self) -> None:
        self._is_cancelled = False
        self._interrupt: Callable[[], None] | None = None  # once it is made

    def run(
        self, function: Callable[[], Awaitable[ValueT]], *, keeps_loop: bool = True
    ) -> ValueT:
        """Make the call, and wait for its end.

        What is raised here meanwhile, such as by Ctrl-C, cancels it.

        Args:
            function: What is called.
            keeps_loop: Whether its event loop may make other calls before and after.

        Raises:
            AbandonedError: It was cancelled.
            NoWorkersError: There is no event loop for it, or no thread.
        """
        results = SimpleQueue[outcome.Outcome[ValueT]]()
        make = functools.partial(self._make, function)
        _start(_Task(make, results.put, keeps_loop))
        try:
            result = results.get()
        except BaseException:
            self.cancel()
            results.get()
            raise
        return result.unwrap()

    def cancel(self) -> None:
        """Cancel it, in any thread, also before it is made."""
        self._is_cancelled = True
        if self._interrupt is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._interrupt()

    async def _make(self, function: Callable[[], Awaitable[ValueT]]) -> ValueT:
        token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as scope:
            self._interrupt = lambda: token.run_sync_soon(scope.cancel)
            if self._is_cancelled:
                scope.cancel()
            return await function()
        raise AbandonedError


class _Task(NamedTuple):
    make: Callable[[], Awaitable[Any]]
    deliver: Callable[[outcome.Outcome[Any]], object]
    keeps_loop: bool


class _LoopThread:
    """A thread with an event loop, which runs one task after another."""

    def __init__(self, first: _Task) -> None:
        self._first: _Task | None = first  # until the loop has begun
        thread = threading.Thread(target=self._run, name="parpass-loop", daemon=True)
        thread.start()

    def put(self, task: _Task) -> None:
        self._tasks.put(task)

    def _run(self) -> None:
        try:
            trio.run(self._serve)
        except Exception as error:  # noqa: BLE001 -- an event loop needs descriptors
            if self._first is not None:
                self._first.deliver(outcome.Error(_no_loop_error(error)))

    async def _serve(self) -> None:
        self._tasks = Inbox[_Task]()
        task, self._first = self._first, None
        while task is not None:
            result = await outcome.acapture(task.make)
            deliver, is_kept = task.deliver, task.keeps_loop
            del task  # it may hold a module, as does the result
            if is_kept:  # before its end is known, after which the next one may come
                _idle.append(self)
            deliver(result)
            del deliver, result
            task = await self._next() if is_kept else None

    async def _next(self) -> _Task | None:
        """Wait for the next task; return None once there has been none for long."""
        while (task := await self._tasks.take(IDLE_SECONDS)) is None:
            with contextlib.suppress(ValueError):  # who removed it has a task for it
                _idle.remove(self)
                return None
        return task


# The kept loops that run no task. Who removes one has it to himself.
_idle: list[_LoopThread] = []

if hasattr(os, "register_at_fork"):  # their threads are not in a forked child
    os.register_at_fork(after_in_child=_idle.clear)


def _start(task: _Task) -> None:
    if task.keeps_loop:
        with contextlib.suppress(IndexError):
            _idle.pop().put(task)
            return
    try:
        _LoopThread(task)
    except RuntimeError as error:  # at exit, or beyond a limit
        raise _no_loop_error(error) from error


def _no_loop_error(error: Exception) -> NoWorkersError:
    return NoWorkersError(
        "none", f"there is no event loop, {type(error).__name__}: {error}"
    )
