"""Clusters of processes on this machine.

Dask is imported by who makes one: no other test is to have it in its process.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def cluster_of(workers: int, **settings: Any) -> Any:
    """Return a cluster of processes on this machine."""
    made: Any = import_module("distributed").LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", **settings
    )
    return made


def client_of(cluster: Any) -> Any:
    """Return a client of a cluster, or of the scheduler at an address."""
    return import_module("distributed").Client(cluster)


def executor_of(client: Any) -> Any:
    """Return an executor on a cluster."""
    return import_module("parpass.adapters.dask").DaskExecutor(client)
