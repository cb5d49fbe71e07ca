"""Going between event loops, threads and contextvars contexts, and back."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import sniffio
import trio

from parpass.runner.executor import Executor

if TYPE_CHECKING:
    import asyncio

ValueT = TypeVar("ValueT")

_unset: Any = object()


class Elsewhere:
    """A trio event loop in another thread, that can be cancelled from this one."""

    def __init__(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        self.future: Future[Any] = Future()
        self._function = function
        self._args = args
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._cancelled = False

    def run(self) -> Any:
        """Run it in this thread."""
        return trio.run(self._main)

    def run_for_future(self) -> None:
        """Do the same; what comes of it is for another thread."""
        try:
            self.future.set_result(self.run())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            self.future.set_exception(error)

    def cancel(self) -> None:
        """Have it cancelled, from another thread."""
        self._cancelled = True
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)

    async def _main(self) -> Any:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            if self._cancelled:
                self._scope.cancel()
            return await self._function(*self._args)


class InContext:
    """Awaits a coroutine, each step of it in a contextvars context."""

    def __init__(self, context: contextvars.Context, body: Awaitable[Any]) -> None:
        self._context = context
        self._body = body

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._body.__await__()
        step: Callable[[], Any] = steps.__next__
        while True:
            try:
                wanted = self._context.run(step)
            except StopIteration as end:
                return end.value
            try:
                answer = yield wanted
            except BaseException as error:  # noqa: BLE001 -- the body's to catch
                step = functools.partial(steps.throw, error)
            else:
                step = functools.partial(steps.send, answer)


def bring_back(context: contextvars.Context) -> None:
    """Set here what was set in a copy of this contextvars context.

    But for our own: who enters a `PassContext` leaves it, and may have been cut short.
    """
    for var, value in context.items():
        is_ours = var.name.startswith("parpass_")
        if not is_ours and var.get(_unset) is not value:
            var.set(value)


def without_stop_iteration(function: Callable[..., ValueT], *args: Any) -> ValueT:
    """Call, in a coroutine or for one, which cannot raise everything.

    Raises:
        RuntimeError: It raised StopIteration.
    """
    try:
        return function(*args)
    except StopIteration as error:  # it gets lost in a coroutine, and in asyncio
        raise RuntimeError("generator raised StopIteration") from error


def in_asyncio_thread(call: Callable[[], ValueT]) -> asyncio.Future[ValueT]:
    """Return the result to come of a call in a thread.

    Unlike those of asyncio's own executor, the thread is no concern of other users,
    and what a cancellation abandons in it does not keep the program from ending.
    """
    import asyncio  # running by now

    loop = asyncio.get_running_loop()
    future: asyncio.Future[ValueT] = loop.create_future()

    def settle(result: outcome.Outcome[ValueT]) -> None:
        if future.done():
            return
        try:
            future.set_result(result.unwrap())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            future.set_exception(error)

    def deliver(result: outcome.Outcome[ValueT]) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle, result)

    trio.lowlevel.start_thread_soon(call, deliver)
    return future


async def to_its_end(
    running: asyncio.Future[ValueT], cancel: Callable[[], None] | None = None
) -> ValueT:
    """Wait for something to end, however often this task is cancelled meanwhile."""
    import asyncio  # running by now

    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
            if cancel is not None:
                cancel()
    if cancelled is not None:
        running.exception()  # asyncio reports an exception that nobody has asked for
        raise cancelled
    return running.result()


async def asked(
    executor: Executor,
    run: Callable[[bytes], bytes],
    job: bytes,
    hear: Callable[[Future[Any]], Awaitable[None]],
) -> bytes | None:
    """Have a worker call `run(job)`; return what that gave, None if it went wrong.

    Args:
        executor: The workers.
        run: What to call.
        job: What it is given.
        hear: Waits for the answer; if it is interrupted the job is ended.
    """
    answer = executor.submit(run, job)
    try:
        await hear(answer)
    finally:
        if not answer.done():
            executor.end(answer)
    return None if answer.exception() is not None else answer.result()


def running_library() -> str | None:
    """Return which event loop is running in this thread, None if there is none."""
    try:
        return sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None
