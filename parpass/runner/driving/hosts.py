"""The places that a pipeline may be run from: trio, asyncio, or a plain thread.

Stages run under trio in all of them (see `coordinator`); a host says how its caller
waits for that, and for what the user's code does in threads.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import outcome
import sniffio
import trio

from parpass.errors import BlockedLoopWarning, RuntimeUseError
from parpass.errors.warning import warn
from parpass.runner.executor import Executor
from parpass.runner.pool.share import Share

if TYPE_CHECKING:
    import asyncio

ValueT = TypeVar("ValueT")

_in_thread = trio.to_thread.run_sync
_unset: Any = object()


class Host(Protocol):
    """A place that a pipeline is run from; how it waits there.

    Attributes:
        abandons: Whether a call may still go on when nobody waits for it any more.
    """

    abandons: bool

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call something of the user's, in the caller's contextvars context."""
        ...

    async def call_through(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """The same for our own work, which no cancellation cuts short."""
        ...

    def call_now(self, function: Callable[[], ValueT]) -> ValueT:
        """Call something quick of ours, there, without waiting for it."""
        ...

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait for the body of an async module pass, on the caller's event loop."""
        ...

    async def ask(
        self, executor: Executor, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Have a worker call `run(job)`, and wait; None if that went wrong."""
        ...

    def bring_back(self) -> None:
        """Have the caller see, after a run, what was set in contextvars meanwhile."""
        ...

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run something of trio's."""
        ...


class _TaskHost:
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
        return await _InContext(self._context, body())

    async def ask(
        self, executor: Executor, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Wait in this task."""
        return await _asked(executor, run, job, self._hear)

    async def _hear(self, answer: Future[Any]) -> None:
        """Wait until there is an answer."""
        raise NotImplementedError

    def bring_back(self) -> None:
        """Set in this task what was set."""
        _bring_back(self._context)

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
                return context.run(_without_stop_iteration, function, *args)
            finally:
                if self._entered is context:
                    self._entered = None

        return run


async def _asked(
    executor: Executor,
    run: Callable[[bytes], bytes],
    job: bytes,
    hear: Callable[[Future[Any]], Awaitable[None]],
) -> bytes | None:
    answer = executor.submit(run, job)
    try:
        await hear(answer)
    finally:
        if not answer.done():
            executor.end(answer)
    return None if answer.exception() is not None else answer.result()


async def _heard(answer: Future[Any]) -> None:
    answer.exception()


class TrioHost(_TaskHost):
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


class AsyncioHost(_TaskHost):
    """Called from a task of asyncio's; trio runs in a thread beside it."""

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, so that the event loop stays responsive."""
        return await _in_asyncio_thread(self._bound(function, *args))

    async def call_through(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call in a thread, and wait for it even if cancelled."""
        run = self._bound(function, *args)
        return await _to_its_end(_in_asyncio_thread(run))

    async def _hear(self, answer: Future[Any]) -> None:
        import asyncio  # running by now

        await asyncio.wait([asyncio.wrap_future(answer)])

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop in a thread; a cancellation is passed on to it."""
        elsewhere = _Elsewhere(function, *args)
        running = _in_asyncio_thread(elsewhere.run)
        return await _to_its_end(running, elsewhere.cancel)


class BlockingHost:
    """Called from a plain thread, or from one whose event loop may be blocked."""

    abandons = False

    def __init__(self) -> None:
        if trio.lowlevel.in_trio_run():
            raise RuntimeUseError(
                "run_pipeline_sync was called inside a running trio event loop, which "
                "it would block; write 'await parpass.run_pipeline(...)' instead"
            )
        if _is_on_a_loop_of_asyncio():
            warn(
                "a pipeline is run inside a running asyncio event loop, which stands "
                "still until it is done; write 'await parpass.run_pipeline(...)' for "
                "run_pipeline_sync, and 'await runner.run(...)' for runner.run_sync",
                BlockedLoopWarning,
            )

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call here."""
        return _without_stop_iteration(function, *args)

    call_through = call

    async def ask(
        self, executor: Executor, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Wait here."""
        if isinstance(executor, Share):
            return executor.ask(run, job)
        return await _asked(executor, run, job, _heard)

    def call_now(self, function: Callable[[], ValueT]) -> ValueT:
        """Call here."""
        return function()

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait for it on a trio event loop of its own."""
        context = contextvars.copy_context()

        async def in_context() -> ValueT:
            return await _InContext(context, body())

        try:
            return await self.run(in_context)
        finally:
            _bring_back(context)

    def bring_back(self) -> None:
        """Do nothing: all was set here."""

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop here, or in a thread beside the loop that runs here."""
        if _running_library() is None:
            return trio.run(function, *args)
        elsewhere = _Elsewhere(function, *args)
        thread = threading.Thread(target=elsewhere.run_for_future, daemon=True)
        thread.start()
        try:
            return elsewhere.future.result()
        except KeyboardInterrupt:
            elsewhere.cancel()
            thread.join()
            raise


class _Elsewhere:
    """A trio event loop in another thread, that can be cancelled from this one."""

    def __init__(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        self.future: Future[Any] = Future()
        self._function = function
        self._args = args
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._cancelled = False

    def run(self) -> Any:
        return trio.run(self._main)

    def run_for_future(self) -> None:
        try:
            self.future.set_result(self.run())
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            self.future.set_exception(error)

    def cancel(self) -> None:
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


class _InContext:
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


def _bring_back(context: contextvars.Context) -> None:
    """Set here what was set in a copy of this contextvars context.

    But for our own: who enters a `PassContext` leaves it, and may have been cut short.
    """
    for var, value in context.items():
        is_ours = var.name.startswith("parpass_")
        if not is_ours and var.get(_unset) is not value:
            var.set(value)


def _without_stop_iteration(function: Callable[..., ValueT], *args: Any) -> ValueT:
    try:
        return function(*args)
    except StopIteration as error:  # it gets lost in a coroutine, and in asyncio
        raise RuntimeError("generator raised StopIteration") from error


def _in_asyncio_thread(call: Callable[[], ValueT]) -> asyncio.Future[ValueT]:
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


async def _to_its_end(
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


def current_host() -> Host:
    """Return the host for the event loop that is running here.

    Raises:
        RuntimeUseError: None that we know is running.
    """
    library = _running_library()
    if library == "trio":
        return TrioHost()
    if library == "asyncio":
        return AsyncioHost()
    raise RuntimeUseError(
        f"run_pipeline can be awaited under trio and asyncio, not under {library}; use "
        "parpass.run_pipeline_sync instead"
    )


def _is_on_a_loop_of_asyncio() -> bool:
    """Return whether a loop of asyncio's runs in this thread, with others to serve.

    Not that of an interactive session: Jupyter and IPython run each cell inside of
    their loop, as does `python -m asyncio`. Whoever has a prompt sets `sys.ps1`, as
    documented, so that programs can tell.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or hasattr(sys, "ps1"):
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _running_library() -> str | None:
    try:
        return sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None
