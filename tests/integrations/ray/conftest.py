"""A Ray cluster of one host with two workers; `runner` runs passes there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner import Runner, open_runner
from tests.integrations.ray.clusters import VARIABLES, cluster_in
from tests.support.pooled import run_pooled
from tests.support.reducers import reducers_put_back
from tests.support.toy_ir import program
from tests.support.toy_passes import Add


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of two processors of the cluster."""
    pytest.importorskip("grpc")
    with pytest.MonkeyPatch.context() as patch, reducers_put_back():
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        with cluster_in(tmp_path_factory.mktemp("cluster")) as url:
            yield url


@pytest.fixture(scope="module")
def runner(url: str) -> Iterator[Runner]:
    """Give a runner on that cluster."""
    with open_runner(executor=url) as runner:
        run_pooled(runner, Add(1), program(1, 2))  # it connects, or says why not
        yield runner
