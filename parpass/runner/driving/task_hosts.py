"""The hosts of tasks: a pipeline is run from an event loop, of trio's or asyncio's."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import outcome
import trio

from parpass.runner.driving.crossing import (
    Elsewhere,
    InContext,
    asked,
    bring_back,
    in_asyncio_thread,
    to_its_end,
    without_stop_iteration,
)
from parpass.runner.executor import Executor

ValueT = TypeVar("ValueT")

_in_thread = trio.to_thread.run_sync


class TaskHost:
    """Called from a task; what it calls in threads shares one contextvars context.

    So one pass or hook sees what another one has set, and may reset it.
    """

    abandons = True

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._entered: contextvars.Context | None = None  # by a thread

    def call_now(self, function: Callable[[], ValueT]) -> ValueT:
        """Call in this task."""
        return self._context.run(function)

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait in this task."""
        return await InContext(self._context, body())

    async def ask(
        self, executor: Executor, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Wait in this task."""
        return await asked(executor, run, job, self._hear)

    async def _hear(self, answer: Future[Any]) -> None:
        """Wait until there is an answer."""
        raise NotImplementedError

    def bring_back(self) -> None:
        """Set in this task what was set."""
        bring_back(self._context)

    def _bound(
        self, function: Callable[..., ValueT], *args: Any
    ) -> Callable[[], ValueT]:
        """Return a call to be made in the context."""

        def run() -> ValueT:
            # A call that was abandoned may still be in the context itself.
            if self._entered is self._context:
                self._context = self._context.copy()
            self._entered = context = self._context
            try:
                return context.run(without_stop_iteration, function, *args)
            finally:
                if self._entered is context:
                    self._entered = None

        return run


class TrioHost(TaskHost):
    """Called from a task of trio's."""

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, so that the event loop stays responsive."""
        # What it raises is handed on, as trio's own way through threads writes to it.
        call = functools.partial(outcome.capture, self._bound(function, *args))
        return (await _in_thread(call, abandon_on_cancel=True)).unwrap()

    async def call_through(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, not to be cancelled."""
        done: list[ValueT] = []
        with trio.CancelScope(shield=True):
            done.append(await _in_thread(self._bound(function, *args)))
        return done[0]

    async def _hear(self, answer: Future[Any]) -> None:
        heard = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def tell(_: Future[Any]) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(heard.set)

        answer.add_done_callback(tell)
        await heard.wait()

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run in this task."""
        return await function(*args)


class AsyncioHost(TaskHost):
    """Called from a task of asyncio's; trio runs in a thread beside it."""

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, so that the event loop stays responsive."""
        return await in_asyncio_thread(self._bound(function, *args))

    async def call_through(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, and wait for it even if cancelled."""
        run = self._bound(function, *args)
        return await to_its_end(in_asyncio_thread(run))

    async def _hear(self, answer: Future[Any]) -> None:
        import asyncio  # running by now

        await asyncio.wait([asyncio.wrap_future(answer)])

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop in a thread; a cancellation is passed on to it."""
        elsewhere = Elsewhere(function, *args)
        running = in_asyncio_thread(elsewhere.run)
        return await to_its_end(running, elsewhere.cancel)
