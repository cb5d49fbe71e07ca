"""Async backends: how the caller of a run waits, and where its code is called.

`task_backends` has those of tasks of trio and asyncio, which make calls in threads.
Here are the protocol, the backend of a plain thread, which loads no event loop until it
needs one, and what all of them do with contextvars.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Protocol, TypeVar

import sniffio

from parpass.errors import BlockedLoopWarning, RuntimeUseError
from parpass.errors.warning import warn
from parpass.fork_safety import forks_wait
from parpass.transform.capture.recorder import inside_function_pass

ValueT = TypeVar("ValueT")

_unset: Any = object()


class AsyncBackend(Protocol):
    """The protocol by which a driver calls code of the user, and waits for it.

    Attributes:
        abandons: Whether a call may still run after its caller was cancelled.
    """

    abandons: bool

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call user code in the contextvars context of the caller."""
        ...

    async def call_shielded(
        self,
        function: Callable[..., ValueT],
        *args: Any,
        cancel: Callable[[], object] | None = None,
    ) -> ValueT:
        """Call code of parpass likewise, and wait for its end even if cancelled.

        `cancel` is called then, so that the end comes soon.
        """
        ...

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Await the body of an async module pass, on the event loop of the caller."""
        ...

    def poster(self) -> Callable[[Callable[[], object]], object] | None:
        """Return what has a function called on the event loop of the caller.

        It may be called in any thread. None where the caller has no event loop, or
        blocks it.
        """
        ...

    def restore_context(self) -> None:
        """Set in the context of the caller the contextvars that a run has set."""
        ...


class BlockingBackend:
    """The backend of a plain thread, or of one whose event loop may be blocked."""

    abandons = False

    def __init__(self) -> None:
        if inside_function_pass():  # which blocks the loop, if there is one
            return
        # Not asked of trio, which another thread may be importing.
        if running_async_library() == "trio":
            raise RuntimeUseError(
                "run_pipeline_sync was called inside a running trio event loop, which "
                "it would block; write 'await parpass.run_pipeline(...)' instead"
            )
        if _in_asyncio_loop():
            warn(
                "a pipeline blocks a running asyncio event loop until it is done; "
                "write 'await parpass.run_pipeline(...)' instead of "
                "run_pipeline_sync, and 'await runner.run(...)' instead of "
                "runner.run_sync",
                BlockedLoopWarning,
            )

    async def call(self, function: Callable[..., ValueT], *args: Any) -> ValueT:
        """Call here."""
        return function(*args)

    async def call_shielded(
        self,
        function: Callable[..., ValueT],
        *args: Any,
        cancel: Callable[[], object] | None = None,
    ) -> ValueT:
        """Call here, where nothing is cancelled."""
        del cancel
        return function(*args)

    def poster(self) -> None:
        """There is no event loop that goes on meanwhile."""

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Await it on a trio event loop of its own."""
        context = contextvars.copy_context()

        async def in_context() -> ValueT:
            return await ContextAwaitable(context, body())

        with forks_wait():
            # Few passes are async, and it takes longer than most runs.
            import trio

            # Likewise: it loads trio.
            from parpass.runner.pool.event_loops import TrioCall

        try:
            if running_async_library() is None:
                return trio.run(in_context)
            return TrioCall(is_alone=True).run(in_context)
        finally:
            restore_context(context)

    def restore_context(self) -> None:
        """Do nothing: all calls were in the context of the caller."""


def _in_asyncio_loop() -> bool:
    """Return whether an asyncio loop that serves others runs in this thread.

    The loop of an interactive session does not count: Jupyter, IPython and `python -m
    asyncio` run each cell inside of it. They set `sys.ps1`, as documented.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or hasattr(sys, "ps1"):
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class ContextAwaitable:
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


def restore_context(context: contextvars.Context) -> None:
    """Set in this contextvars context what was set in a copy of it.

    Variables of parpass are left out: a `PassContext` is left by the code that entered
    it, which may have been cut short.
    """
    for var, value in context.items():
        is_ours = var.name.startswith("parpass_")
        if not is_ours and var.get(_unset) is not value:
            var.set(value)


def running_async_library() -> str | None:
    """Return which event loop is running in this thread, None if there is none."""
    try:
        return sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        return None
