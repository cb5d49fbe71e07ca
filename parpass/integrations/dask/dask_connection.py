"""The executor's own connection to a Dask cluster.

It has a client of its own, since a client has one listener for each topic, which may be
the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import Client

from parpass.errors import RuntimeUseError
from parpass.integrations.dask.worker_agent import SILENT_SECONDS
from parpass.integrations.dask.worker_calls import (
    close_on_worker,
    heartbeat_on_worker,
    run_on_worker,
    versions_on_worker,
)
from parpass.spi import JobLostError

OnJoin = Callable[[str, int], None]
OnLeave = Callable[[str], None]

_logger = logging.getLogger(__name__)
_TRY_AGAIN = 0.5  # seconds until one is asked again that could not be reached
_ALL = "all"  # the topic on which Dask's scheduler says which workers come and go


class DaskConnection:
    """Calls a cluster's scheduler and workers, and receives the workers' events.

    A worker is one process of the cluster, in which an agent runs jobs in children.
    Its address names it; one that starts again has another address.

    Args:
        client: A client of the cluster, used only to find the address.
        on_event: Called with a worker's event; on an event loop.

    Attributes:
        name: The executor's name. It is the topic of its workers' events: the scheduler
            empties a topic that is named after a client when the client is gone.

    Raises:
        RuntimeUseError: The client is not connected.
    """

    def __init__(self, client: Any, on_event: Callable[..., None]) -> None:
        if client.status != "running":
            raise RuntimeUseError(
                f"expected a client of a running Dask cluster, got {client!r}; "
                "was its scheduler ended?"
            )
        self._on_event = on_event
        self._joined: set[str] = set()  # the addresses of workers in use
        self._address = client.scheduler.address
        self._client: Any = Client(
            self._address,
            security=client.security,
            set_as_default=False,
            asynchronous=False,
            name="parpass",
        )
        self.name: str = self._client.id
        self._admissions = ThreadPoolExecutor(1, "parpass-dask-joining")
        self._is_closed = threading.Event()

    def open(self, on_join: OnJoin, on_leave: OnLeave) -> None:
        """Begin to listen.

        Args:
            on_join: Called with the address and the threads of each present worker, and
                later of each new one.
            on_leave: Called with the address of each worker that is gone.

        Raises:
            RuntimeUseError: There are no workers, or they have other versions.
        """
        self._on_join, self._on_leave = on_join, on_leave
        self._listen()
        found: dict[str, Any] = self.call_all(versions_on_worker)
        if not found:
            raise RuntimeUseError("the Dask cluster has no workers")
        present: dict[str, int] = self._client.nthreads()
        for address, theirs in found.items():
            if isinstance(theirs, OSError):  # it is busy, say, or has left
                self._admissions.submit(self._admit, address)
                present.pop(address, None)
            elif (why := _why_unfit(address, theirs)) is not None:
                raise RuntimeUseError(why)
        self._join({each: present[each] for each in found if each in present})
        threading.Thread(target=self._send_heartbeats, daemon=True).start()

    def _listen(self) -> None:
        def on_change(event: tuple[float, Any]) -> None:
            action, address = event[1].get("action"), event[1].get("worker")
            if action == "remove-worker":
                self._leave(address)
            elif action == "add-worker":
                with contextlib.suppress(RuntimeError):  # this is closed
                    self._admissions.submit(self._admit, address)

        def on_message(event: tuple[float, Any]) -> None:
            if not isinstance(event[1], dict):  # as the scheduler's own events are
                self._on_event(*event[1])

        self._client.subscribe_topic(_ALL, on_change)
        self._client.subscribe_topic(self.name, on_message)

    def check(self) -> None:
        """Check that the cluster is there, without asking it.

        Raises:
            RuntimeUseError: It is not. That is known at once, while Dask still tries to
                reconnect; but the cluster's state of the jobs is lost.
        """
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> RuntimeUseError:
        return RuntimeUseError(
            f"the connection to the Dask cluster at {self._address} is lost; was its "
            "scheduler ended?"
        )

    def submit(self, packed: bytes, address: str, key: str) -> Any:
        """Submit a job to a thread of one worker.

        It fails if the connection is lost, or else Dask's future does so.

        Args:
            packed: The pickled `JobRequest`.
            address: The worker.
            key: A name of the call that is unique on the cluster.

        Returns:
            Dask's future of the `JobReply`.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        future: Any = self._client.submit(
            run_on_worker,
            packed,
            key=key,
            workers=[address],
            allow_other_workers=False,
        )
        self.check()  # Dask keeps what is submitted while it tries to reconnect
        return future

    def call(self, what: Callable[..., Any], *args: Any, at: str) -> Any:
        """Call a function on one worker at once, and return its result.

        Raises:
            RuntimeUseError: The cluster is not there.
            JobLostError: The worker cannot be reached: what is sent to it is lost.
            Exception: The function raised it.
        """
        reply = self._run(what, *args, workers=[at]).get(at)
        if isinstance(reply, OSError):
            raise JobLostError("SIGKILL(-9)", 0, host_died=True) from reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    def call_all(self, what: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on all workers at once.

        Returns:
            The results by address; an `OSError` of one that cannot be reached.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        return self._run(what, *args)

    def _run(
        self, what: Callable[..., Any], *args: Any, workers: list[str] | None = None
    ) -> dict[str, Any]:
        self.check()
        try:
            found: dict[str, Any] = self._client.run(
                _in_a_thread, what, *args, workers=workers, on_error="return"
            )
        except OSError as error:
            raise self._lost() from error
        return found

    def close(self) -> None:
        """Release the workers' resources of this executor, and disconnect."""
        self._is_closed.set()
        self._admissions.shutdown()
        with contextlib.suppress(Exception):  # the cluster may be gone
            self.call_all(close_on_worker, self.name)
            # Events of other clients are sent on all connections, also on this one,
            # which no longer has a listener.
            for topic in (_ALL, self.name):
                self._client.unsubscribe_topic(topic)
        with contextlib.suppress(Exception):
            self._client.close()

    def _join(self, workers: Mapping[str, int]) -> None:
        """Add workers, by address, with their threads."""
        self._joined.update(workers)
        for address, threads in workers.items():
            self._on_join(address, threads)
        # One may have left before, and was not known when that was told.
        self._drop_missing(workers, self._client.nthreads())

    def _leave(self, address: str) -> None:
        self._joined.discard(address)
        self._on_leave(address)

    def _drop_missing(self, workers: Collection[str], present: Collection[str]) -> None:
        for address in workers:
            if address not in present:
                self._leave(address)

    def _admit(self, address: str) -> None:
        """Add a new worker, if its versions are compatible."""
        with contextlib.suppress(Exception):  # the cluster is gone, or this is closed
            while threads := self._client.nthreads(workers=[address]).get(address):
                try:
                    theirs = self.call(versions_on_worker, at=address)
                except JobLostError:  # it is busy, say
                    if self._is_closed.wait(_TRY_AGAIN):
                        return
                    continue
                except Exception as error:  # noqa: BLE001 -- part of the warning
                    theirs = error
                if (why := _why_unfit(address, theirs)) is not None:
                    _logger.warning("%s; it is not used", why)
                    return
                self._join({address: threads})
                return

    def _send_heartbeats(self) -> None:
        while not self._is_closed.wait(SILENT_SECONDS / 4):
            with contextlib.suppress(Exception):  # the next heartbeat tries again
                before = list(self._joined)
                present = self.call_all(heartbeat_on_worker, self.name)
                # Nothing is told while a connection is lost that is there again.
                self._drop_missing(before, present)


async def _in_a_thread(what: Callable[..., Any], *args: Any) -> Any:
    """Call a function on a Dask worker, without blocking its event loop."""
    return await asyncio.to_thread(what, *args)


def _why_unfit(address: str, theirs: Any) -> str | None:
    """Return why a worker cannot be used; None if it can.

    Args:
        address: The worker.
        theirs: What `versions_on_worker` returned there, or its error.
    """
    mine = versions_on_worker()
    if theirs == mine:
        return None
    got = str(theirs) if isinstance(theirs, Exception) else ", ".join(theirs)
    return (
        f"expected {', '.join(mine)} on all workers of the Dask cluster, as here, got "
        f"{got} on {address}; install the same there"
    )
