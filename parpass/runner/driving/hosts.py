"""The places that a pipeline may be run from: trio, asyncio, or a plain thread.

Stages run under trio in all of them (see `coordinator`); a host says how its caller
waits for that, and for what the user's code does in threads.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import trio

from parpass.errors import BlockedLoopWarning, RuntimeUseError
from parpass.errors.warning import warn
from parpass.runner.driving.crossing import (
    Elsewhere,
    InContext,
    asked,
    bring_back,
    running_library,
    without_stop_iteration,
)
from parpass.runner.driving.task_hosts import AsyncioHost, TrioHost
from parpass.runner.executor import Asking, Executor

ValueT = TypeVar("ValueT")


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
        return without_stop_iteration(function, *args)

    call_through = call

    async def ask(
        self, executor: Executor, run: Callable[[bytes], bytes], job: bytes
    ) -> bytes | None:
        """Wait here."""
        if isinstance(executor, Asking):
            return executor.ask(run, job)
        return await asked(executor, run, job, _heard)

    def call_now(self, function: Callable[[], ValueT]) -> ValueT:
        """Call here."""
        return function()

    async def wait(self, body: Callable[[], Awaitable[ValueT]]) -> ValueT:
        """Wait for it on a trio event loop of its own."""
        context = contextvars.copy_context()

        async def in_context() -> ValueT:
            return await InContext(context, body())

        try:
            return await self.run(in_context)
        finally:
            bring_back(context)

    def bring_back(self) -> None:
        """Do nothing: all was set here."""

    async def run(
        self, function: Callable[..., Awaitable[ValueT]], *args: Any
    ) -> ValueT:
        """Run a trio event loop here, or in a thread beside the loop that runs here."""
        if running_library() is None:
            return trio.run(function, *args)
        elsewhere = Elsewhere(function, *args)
        thread = threading.Thread(target=elsewhere.run_for_future, daemon=True)
        thread.start()
        try:
            return elsewhere.future.result()
        except KeyboardInterrupt:
            elsewhere.cancel()
            thread.join()
            raise


async def _heard(answer: Future[Any]) -> None:
    answer.exception()


def current_host() -> Host:
    """Return the host for the event loop that is running here.

    Raises:
        RuntimeUseError: None that we know is running.
    """
    library = running_library()
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
