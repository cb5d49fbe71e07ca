"""The protocol of an executor's connection to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from parpass.integrations.cluster.worker_calls import versions_on_worker

OnJoin = Callable[[str, int], None]
OnLeave = Callable[[str], None]


class ClusterFuture(Protocol):
    """The future of a call on a cluster, as far as it is used.

    `distributed.Future` and `concurrent.futures.Future` are such.
    """

    def result(self) -> Any:
        """Return the result of a call that is done, or raise its error."""
        ...

    def add_done_callback(self, callback: Callable[[Any], None]) -> object:
        """Call a function with this future when the call is done."""
        ...

    def cancel(self) -> object:
        """Cancel the call, and forget it."""
        ...


class Connection(Protocol):
    """Calls the workers of a cluster, and receives their events.

    A worker is one process of the cluster, in which an agent runs jobs in children.
    Its address names it; one that starts again has another address.

    Attributes:
        name: A name of the executor that is unique on the cluster.
        cluster: What messages call the cluster, such as `Dask cluster`.
        least_job_seconds: The least useful duration of a job where the round trip is
            as short as it gets.
    """

    name: str
    cluster: str
    least_job_seconds: float

    def open(self, on_join: OnJoin, on_leave: OnLeave) -> None:
        """Begin to listen.

        Args:
            on_join: Called with the address and the threads of each present worker, and
                later of each new one.
            on_leave: Called with the address of each worker that is gone.

        Raises:
            RuntimeUseError: There are no workers, or they have other versions.
        """
        ...

    def check(self) -> None:
        """Check that the cluster is there, without asking it.

        Raises:
            RuntimeUseError: It is not.
        """
        ...

    def submit(self, packed: bytes, address: str, key: str) -> ClusterFuture:
        """Submit a job to a thread of one worker, in which `run_on_worker` runs it.

        Args:
            packed: The pickled `JobRequest`.
            address: The worker.
            key: A name of the call that is unique on the cluster.

        Returns:
            The future of the `JobReply`.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        ...

    def is_death(self, error: Exception) -> bool:
        """Return whether a job's error says that its worker died."""
        ...

    def call(self, what: Callable[..., Any], *args: Any, at: str) -> Any:
        """Call a function on one worker at once; return its result, or its error.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        ...

    def call_all(self, what: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call a function on all workers at once; return the results by address.

        Raises:
            RuntimeUseError: The cluster is not there.
        """
        ...

    def close(self) -> None:
        """Release the workers' resources of this executor, and disconnect."""
        ...


def why_unfit(cluster: str, address: str, theirs: Any) -> str | None:
    """Return why a worker cannot be used; None if it can.

    Args:
        cluster: What messages call the cluster.
        address: The worker.
        theirs: What `versions_on_worker` returned there, or its error.
    """
    mine = versions_on_worker()
    if theirs == mine:
        return None
    got = str(theirs) if isinstance(theirs, Exception) else ", ".join(theirs)
    return (
        f"expected {', '.join(mine)} on all workers of the {cluster}, as here, got "
        f"{got} on {address}; install the same there"
    )
