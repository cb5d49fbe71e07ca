"""Executor of jobs on the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator

from parpass.integrations.cluster.cluster_executor import ClusterExecutor
from parpass.integrations.ray.guest import as_guest

with as_guest():
    from parpass.integrations.ray.ray_connection import RayConnection
    from parpass.integrations.ray.ray_session import RayUrl, open_session


@contextlib.contextmanager
def open_executor(url: str) -> Generator[RayExecutor]:
    """Give an executor on the cluster that `ray://...` names.

    `ray://HOST:PORT` is the cluster of the head with Ray's client server there,
    `ray://auto` the one that this machine is part of, or to which this process is
    connected, and `ray://local` one that is started here. With `?cpus=N` it takes so
    many processors of each node.

    Raises:
        RuntimeUseError: There is no such cluster, it has other versions, or no
            processors to spare.
    """
    parts = RayUrl.parse(url)
    with open_session(parts), RayExecutor(parts.cpus) as executor:
        yield executor


class RayExecutor(ClusterExecutor):
    """Runs jobs on the nodes of a Ray cluster; see `parpass.spi.Executor`.

    It has an actor on each node, of as many of Ray's CPUs as jobs run there at once.

    Args:
        cpus: How many CPUs are taken on each node; all by default.

    Raises:
        RuntimeUseError: This process is not connected to a cluster, this has no free
            CPUs, or another Python or parpass.
    """

    def __init__(self, cpus: int | None = None) -> None:
        super().__init__(functools.partial(RayConnection, cpus))
