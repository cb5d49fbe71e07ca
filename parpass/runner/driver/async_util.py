"""Bridges between event loops and threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import outcome
import trio

if TYPE_CHECKING:
    import asyncio

ValueT = TypeVar("ValueT")


def to_asyncio_thread(call: Callable[[], ValueT]) -> asyncio.Future[ValueT]:
    """Start a call in a thread, and return the asyncio future of its result.

    The thread is not one of the default executor, so that it takes no place there, and
    a call that was abandoned does not keep the program from ending.
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


async def shielded_wait(
    running: asyncio.Future[ValueT], cancel: Callable[[], object] | None = None
) -> ValueT:
    """Wait for the end of a future, however often this task is cancelled meanwhile."""
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
