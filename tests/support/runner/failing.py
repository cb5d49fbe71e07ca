"""What a user's pass raises, found by workers under this name."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import trio


class UserError(Exception):
    """An exception class of a user; it has a field."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code


def cancelled() -> trio.Cancelled:
    """Return what trio raises where it cancels; programs cannot make one."""
    import trio  # which workers need not load for the rest

    found: list[trio.Cancelled] = []

    async def wait() -> None:
        with trio.CancelScope(deadline=-math.inf):  # one by a call names its task
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as error:
                found.append(error)
                raise

    with ThreadPoolExecutor(1) as threads:  # a loop may run in this one
        threads.submit(trio.run, wait).result()
    return found[0]
