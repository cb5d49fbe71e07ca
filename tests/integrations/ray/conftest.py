"""A Ray cluster of one host; `runner` runs passes on two of its processors.

A process can be connected to one cluster: the tests of one file share a connection, and
those that need none, or another one, are in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner import Runner, open_runner
from tests.integrations.ray.clusters import VARIABLES, Cluster, cluster_in
from tests.support.pooled import run_pooled
from tests.support.reducers import reducers_put_back
from tests.support.toy_ir import program
from tests.support.toy_passes import Add


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give the cluster."""
    with cluster_in(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def url(cluster: Cluster) -> Iterator[str]:
    """Give the cluster's URL, at which this process may connect."""
    with pytest.MonkeyPatch.context() as patch, reducers_put_back():
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        yield cluster.url


@pytest.fixture(scope="module")
def runner(url: str) -> Iterator[Runner]:
    """Give a runner on that cluster."""
    with open_runner(executor=url) as runner:
        run_pooled(runner, Add(1), program(1, 2))  # it connects, or says why not
        yield runner
