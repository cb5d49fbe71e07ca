"""The executor's own connection to a Dask cluster.

It has a client of its own, since a client has one listener for each topic, which may be
the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import Client, get_worker

from parpass.errors import RuntimeUseError
from parpass.integrations.cluster.cluster_messages import JobReply
from parpass.integrations.cluster.connection import OnJoin, OnLeave, why_unfit
from parpass.integrations.cluster.worker_agent import SILENT_SECONDS
from parpass.integrations.cluster.worker_calls import (
    close_on_worker,
    heartbeat_on_worker,
    run_on_worker,
    versions_on_worker,
)

_logger = logging.getLogger(__name__)
_TRY_AGAIN = 0.5  # seconds until one is asked again that could not be reached
_ALL = "all"  # the topic on which Dask's scheduler says which workers come and go
# States of a worker that ends, as it does when its scheduler is gone.
_CLOSING = ("closing", "closed", "failed")


class DaskConnection:
    """Calls a cluster's scheduler and workers; see `Connection`.

    Args:
        client: A client of the cluster, used only to find the address.
        on_event: Called with a worker's event; on an event loop.

    Attributes:
        name: The executor's name. It is the topic of its workers' events: the scheduler
            empties a topic that is named after a client when the client is gone.

    Raises:
        RuntimeUseError: The client is not connected.
    """

    cluster = "Dask cluster"
    least_job_seconds = 0.05

    def __init__(self, client: Any, on_event: Callable[..., None]) -> None:
        if client.status != "running":
            raise RuntimeUseError(
                f"expected a client of a running Dask cluster, got {client!r}; "
                "was its scheduler ended?"
            )
        self._on_event = on_event
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
        """Begin to listen; see `Connection`.

        Raises:
            RuntimeUseError: There are no workers, or they have other versions.
        """
        self._listen(on_join, on_leave)
        found: dict[str, Any] = self.call_all(versions_on_worker)
        if not found:
            raise RuntimeUseError("the Dask cluster has no workers")
        for address, theirs in found.items():
            if (why := why_unfit(self.cluster, address, theirs)) is not None:
                raise RuntimeUseError(why)
        for address, threads in self._client.nthreads().items():
            if address in found:
                on_join(address, threads)
        threading.Thread(target=self._send_heartbeats, daemon=True).start()

    def _listen(self, on_join: OnJoin, on_leave: OnLeave) -> None:
        def on_change(event: tuple[float, Any]) -> None:
            action, address = event[1].get("action"), event[1].get("worker")
            if action == "remove-worker":
                on_leave(address)
            elif action == "add-worker":
                with contextlib.suppress(RuntimeError):  # this is closed
                    self._admissions.submit(self._admit, address, on_join)

        def on_message(event: tuple[float, Any]) -> None:
            if not isinstance(event[1], dict):  # as the scheduler's own events are
                self._on_event(*event[1])

        self._client.subscribe_topic(_ALL, on_change)
        self._client.subscribe_topic(self.name, on_message)

    def check(self) -> None:
        """Check that the cluster is there.

        Raises:
            RuntimeUseError: It is not. That is known at once, while Dask still tries to
                reconnect; but the cluster's state of the jobs is lost.
        """
        if self._client.status != "running":
            raise RuntimeUseError(
                f"the connection to the Dask cluster at {self._address} is lost; was "
                "its scheduler ended?"
            )

    def submit(self, packed: bytes, address: str, key: str) -> Any:
        """Submit a job to a thread of one worker; return Dask's future.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        return self._client.submit(
            run_on_dask_worker,
            packed,
            key=key,
            workers=[address],
            allow_other_workers=False,
        )

    def is_death(self, error: Exception) -> bool:
        """Return whether a job's error says that its worker died."""
        return type(error).__name__ == "KilledWorker"

    def call(self, what: Callable[..., Any], *args: Any, at: str) -> Any:
        """Call a function on one worker at once; return its result, or its error.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        found: dict[str, Any] = self._client.run(
            _in_a_thread, what, *args, workers=[at], on_error="return"
        )
        return found.get(at)

    def call_all(self, what: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on all workers at once; return the results by address.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        self.check()
        found: dict[str, Any] = self._client.run(
            _in_a_thread, what, *args, on_error="return"
        )
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

    def _admit(self, address: str, on_join: OnJoin) -> None:
        """Add a new worker, if its versions are compatible."""
        with contextlib.suppress(Exception):  # the cluster is gone, or this is closed
            while threads := self._client.nthreads(workers=[address]).get(address):
                theirs: Any = None
                with contextlib.suppress(OSError):
                    theirs = self.call(versions_on_worker, at=address)
                if theirs is None or isinstance(theirs, OSError):  # it is busy, say
                    if self._is_closed.wait(_TRY_AGAIN):
                        return
                elif (why := why_unfit(self.cluster, address, theirs)) is not None:
                    _logger.warning("%s; it is not used", why)
                    return
                else:
                    on_join(address, threads)
                    return

    def _send_heartbeats(self) -> None:
        while not self._is_closed.wait(SILENT_SECONDS / 4):
            with contextlib.suppress(Exception):  # the next heartbeat tries again
                self.call_all(heartbeat_on_worker, self.name)


def run_on_dask_worker(packed: bytes) -> JobReply:
    """Run a job in a thread of a Dask worker; see `run_on_worker`.

    Dask waits for what its threads run, also when it closes the worker, or when the
    scheduler cancels the tasks of a program that was killed.
    """
    worker: Any = get_worker()
    key = worker.get_current_task()

    def log_event(executor: str, what: tuple[Any, ...]) -> None:
        worker.log_event(executor, [worker.address, *what])

    def is_dropped() -> bool:
        task = worker.state.tasks.get(key)
        is_cancelled = task is None or task.state == "cancelled"
        return is_cancelled or worker.status.name in _CLOSING

    return run_on_worker(packed, log_event, is_dropped)


async def _in_a_thread(what: Callable[..., Any], *args: Any) -> Any:
    """Call a function on a Dask worker, without blocking its event loop."""
    return await asyncio.to_thread(what, *args)
