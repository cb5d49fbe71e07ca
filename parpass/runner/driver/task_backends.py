"""The async backends of tasks: under trio, and under asyncio."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import trio

from parpass.errors import RuntimeUseError
from parpass.runner.driver.backends import (
    AsyncBackend,
    ContextAwaitable,
    restore_context,
    running_async_library,
)

if TYPE_CHECKING:
    import asyncio

ResultT = TypeVar("ResultT")


class TaskBackend:
    """The backend of a task; its calls in threads share one contextvars context.

    So a pass or hook sees the variables that earlier ones have set, and may reset them.
    """

    abandons = True

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._entered: contextvars.Context | None = None  # by a thread

    async def wait(self, body: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Wait in this task."""
        return await ContextAwaitable(self._context, body())

    def poster(self) -> Callable[[Callable[[], object]], object]:
        """Return what has a function called on the event loop of this task."""
        raise NotImplementedError

    def restore_context(self) -> None:
        """Set in this task the contextvars that the calls have set."""
        restore_context(self._context)

    def _bound(
        self, function: Callable[..., ResultT], *args: Any
    ) -> Callable[[], ResultT]:
        """Return a call to be made in the context."""

        def run() -> ResultT:
            # A call that was abandoned may still be in the context itself.
            if self._entered is self._context:
                self._context = self._context.copy()
            self._entered = context = self._context
            try:
                return context.run(_convert_stop_iteration, function, *args)
            finally:
                if self._entered is context:
                    self._entered = None

        return run


class TrioBackend(TaskBackend):
    """The backend under trio."""

    async def call(self, function: Callable[..., ResultT], *args: Any) -> ResultT:
        """Call in a thread, so that the event loop stays responsive."""
        # What it raises is handed on, as trio's own way through threads writes to it.
        call = functools.partial(outcome.capture, self._bound(function, *args))
        in_thread = trio.to_thread.run_sync
        return (await in_thread(call, abandon_on_cancel=True)).unwrap()

    @trio.lowlevel.enable_ki_protection  # Ctrl-C comes while it waits
    async def call_shielded(
        self,
        function: Callable[..., ResultT],
        *args: Any,
        cancel: Callable[[], object] | None = None,
    ) -> ResultT:
        """Call in a thread, and wait for its end even if cancelled."""
        results: list[outcome.Outcome[ResultT]] = []
        if cancel is None:
            call = functools.partial(outcome.capture, self._bound(function, *args))
            with trio.CancelScope(shield=True):
                results.append(await trio.to_thread.run_sync(call))
            return results.pop().unwrap()
        ended, post = trio.Event(), self.poster()

        def deliver(result: outcome.Outcome[ResultT]) -> None:
            results.append(result)
            post(ended.set)

        trio.lowlevel.start_thread_soon(self._bound(function, *args), deliver)
        try:
            await ended.wait()
        except BaseException:
            cancel()
            with trio.CancelScope(shield=True):
                await ended.wait()
            raise
        return results.pop().unwrap()

    def poster(self) -> Callable[[Callable[[], object]], object]:
        """Return trio's way from another thread to the event loop."""
        token = trio.lowlevel.current_trio_token()

        def post(function: Callable[[], object]) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(function)

        return post


class AsyncioBackend(TaskBackend):
    """The backend under asyncio."""

    async def call(self, function: Callable[..., ResultT], *args: Any) -> ResultT:
        """Call in a thread, so that the event loop stays responsive."""
        return await _start_thread(self._bound(function, *args))

    async def call_shielded(
        self,
        function: Callable[..., ResultT],
        *args: Any,
        cancel: Callable[[], object] | None = None,
    ) -> ResultT:
        """Call in a thread, and wait for its end even if cancelled."""
        import asyncio  # running by now

        running = _start_thread(self._bound(function, *args))
        cancelled: asyncio.CancelledError | None = None
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError as error:
                cancelled = error
                if cancel is not None:
                    cancel()
        if cancelled is not None:
            running.exception()  # asyncio reports an exception that nobody asked for
            raise cancelled
        return running.result()

    def poster(self) -> Callable[[Callable[[], object]], object]:
        """Return asyncio's way from another thread to the event loop."""
        import asyncio  # running by now

        return asyncio.get_running_loop().call_soon_threadsafe


def _start_thread(call: Callable[[], ResultT]) -> asyncio.Future[ResultT]:
    """Start a call in a thread, and return the asyncio future of its result.

    The thread is not one of the default executor, so that it takes no place there, and
    a call that was abandoned does not keep the program from ending.
    """
    import asyncio  # running by now

    loop = asyncio.get_running_loop()
    future: asyncio.Future[ResultT] = loop.create_future()

    def settle(result: outcome.Outcome[ResultT]) -> None:
        if future.done():
            return
        try:
            future.set_result(result.unwrap())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            future.set_exception(error)

    def deliver(result: outcome.Outcome[ResultT]) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle, result)

    trio.lowlevel.start_thread_soon(call, deliver)
    return future


def _convert_stop_iteration(function: Callable[..., ResultT], *args: Any) -> ResultT:
    """Call a function for a coroutine or a future, which cannot raise StopIteration.

    Raises:
        RuntimeError: It raised StopIteration.
    """
    try:
        return function(*args)
    except StopIteration as error:  # it gets lost in a coroutine, and in asyncio
        raise RuntimeError("generator raised StopIteration") from error


def current_backend() -> AsyncBackend:
    """Return the backend for the event loop that is running here.

    Raises:
        RuntimeUseError: None that we know is running.
    """
    library = running_async_library()
    if library == "trio":
        return TrioBackend()
    if library == "asyncio":
        return AsyncioBackend()
    raise RuntimeUseError(
        f"run_pipeline can be awaited under trio and asyncio, not {library}; call "
        "parpass.run_pipeline_sync in a thread instead, because it blocks"
    )
