"""An executor's own connection to a cluster.

Of one's own, since a client has one listener for each topic, which may be its owner's.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import Client

from parpass.adapters.dask.on_dask_worker import (
    close_there,
    hear_there,
    versions_there,
)
from parpass.adapters.dask.site import SILENT_SECONDS
from parpass.errors import RuntimeUseError

_logger = logging.getLogger(__name__)
_TRY_AGAIN = 0.5  # seconds until one is asked again that could not be reached
_ALL = "all"  # the topic on which Dask's scheduler says which workers come and go

Joined = Callable[[str, int], None]
Left = Callable[[str], None]


class Connection:
    """Speaks to a cluster's scheduler and workers.

    Args:
        client: Somebody's client of the cluster, which is only asked where that is.
        told: Called with what a worker says; on an event loop.

    Attributes:
        name: The executor's name. It is the topic on which its workers speak: one that
            is named after a client is emptied by the scheduler when that is gone.

    Raises:
        RuntimeUseError: The client is not connected.
    """

    def __init__(self, client: Any, told: Callable[..., None]) -> None:
        if client.status != "running":
            raise RuntimeUseError(
                f"expected a client of a running Dask cluster, got {client!r}; "
                "was its scheduler ended?"
            )
        self._told = told
        self._address = client.scheduler.address
        self._client: Any = Client(
            self._address,
            security=client.security,
            set_as_default=False,
            asynchronous=False,
            name="parpass",
        )
        self.name: str = self._client.id
        self._joining = ThreadPoolExecutor(1, "parpass-dask-joining")
        self._is_closed = threading.Event()

    def open(self, joined: Joined, left: Left) -> None:
        """Begin to listen.

        Args:
            joined: Called with the address and the threads of each worker that is
                there, and later of those that come.
            left: Called with the address of each that is gone.

        Raises:
            RuntimeUseError: There are no workers, or they have other versions.
        """
        self._listen(joined, left)
        found: dict[str, Any] = self.ask_all(versions_there)
        if not found:
            raise RuntimeUseError("the Dask cluster has no workers")
        for address, theirs in found.items():
            if (why := _why_unfit(address, theirs)) is not None:
                raise RuntimeUseError(why)
        for address, threads in self._client.nthreads().items():
            if address in found:
                joined(address, threads)
        threading.Thread(target=self._be_heard, daemon=True).start()

    def _listen(self, joined: Joined, left: Left) -> None:
        def hear(event: tuple[float, Any]) -> None:
            action, address = event[1].get("action"), event[1].get("worker")
            if action == "remove-worker":
                left(address)
            elif action == "add-worker":
                with contextlib.suppress(RuntimeError):  # this is closed
                    self._joining.submit(self._welcome, address, joined)

        def hear_workers(event: tuple[float, Any]) -> None:
            if not isinstance(event[1], dict):  # as what the scheduler says of it is
                self._told(*event[1])

        self._client.subscribe_topic(_ALL, hear)
        self._client.subscribe_topic(self.name, hear_workers)

    def check(self) -> None:
        """Check that the cluster is there.

        Raises:
            RuntimeUseError: It is not. That is known at once, while Dask still tries
                to reach it again; but what it knew of jobs is lost.
        """
        if self._client.status != "running":
            raise RuntimeUseError(
                f"the connection to the Dask cluster at {self._address} is lost; was "
                "its scheduler ended?"
            )

    def submit(self, what: Any, given: bytes, address: str, key: str) -> Any:
        """Have a worker call something in a thread of its; return Dask's future.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        return self._client.submit(
            what, given, key=key, workers=[address], allow_other_workers=False
        )

    def call(self, what: Callable[..., Any], *args: Any, at: str) -> Any:
        """Have a worker call something at once; return what that gave, or its error.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        found: dict[str, Any] = self._client.run(
            what, *args, workers=[at], on_error="return"
        )
        return found.get(at)

    def ask_all(self, what: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Have all workers call something at once; return what each gave.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        found: dict[str, Any] = self._client.run(what, *args, on_error="return")
        return found

    def close(self) -> None:
        """Have the workers let go of all that is the executor's, and hang up."""
        self._is_closed.set()
        self._joining.shutdown()
        with contextlib.suppress(Exception):  # the cluster may be no more
            self.ask_all(close_there, self.name)
            # That other clients leave is told on all connections, this one included,
            # which nobody hears any more.
            for topic in (_ALL, self.name):
                self._client.unsubscribe_topic(topic)
        with contextlib.suppress(Exception):
            self._client.close()

    def _welcome(self, address: str, joined: Joined) -> None:
        """Have a worker that has come be used, if it is fit for it."""
        with contextlib.suppress(Exception):  # the cluster is gone, or this is closed
            while threads := self._client.nthreads(workers=[address]).get(address):
                theirs: Any = None
                with contextlib.suppress(OSError):
                    theirs = self.call(versions_there, at=address)
                if theirs is None or isinstance(theirs, OSError):  # it is busy, say
                    if self._is_closed.wait(_TRY_AGAIN):
                        return
                elif (why := _why_unfit(address, theirs)) is not None:
                    _logger.warning("%s; it is not used", why)
                    return
                else:
                    joined(address, threads)
                    return

    def _be_heard(self) -> None:
        while not self._is_closed.wait(SILENT_SECONDS / 4):
            with contextlib.suppress(Exception):  # it is tried again
                self.ask_all(hear_there, self.name)


def _why_unfit(address: str, theirs: Any) -> str | None:
    """Return why a worker cannot be used; None if it can."""
    mine = versions_there()
    if theirs == mine:
        return None
    got = str(theirs) if isinstance(theirs, Exception) else ", ".join(theirs)
    return (
        f"expected {', '.join(mine)} on all Dask workers, as here, got {got} on "
        f"{address}; install the same there"
    )
