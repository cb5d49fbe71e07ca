"""Waiting for what other processes do, and ports of this machine for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

_WAIT_SECONDS = 60


def unused_port() -> int:
    """Return a port of this machine at which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def until(is_so: Callable[[], bool], seconds: float = _WAIT_SECONDS) -> None:
    """Wait for something that another process does.

    Raises:
        AssertionError: It has not come about after so many seconds.
    """
    end_of_patience = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end_of_patience
        time.sleep(0.002)  # what is waited for may need this core, or a thread here
