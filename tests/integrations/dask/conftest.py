"""A cluster of two workers; what takes a runner here is given one on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parpass.runner import Runner, open_runner
from tests.support.integrations.clusters import client_of, cluster_of, executor_of
from tests.support.reducers import reducers_put_back


@pytest.fixture(scope="module", autouse=True)
def _reducers() -> Iterator[None]:
    with reducers_put_back():
        yield


@pytest.fixture(scope="module")
def client(_reducers: None) -> Iterator[Any]:
    """Give a client of a cluster of two workers."""
    with cluster_of(2) as cluster, client_of(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def runner(client: Any) -> Iterator[Runner]:
    """Give a runner on that cluster."""
    with executor_of(client) as executor, open_runner(executor=executor) as runner:
        yield runner
