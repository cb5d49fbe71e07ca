"""Which executor runs a test: loky's pool, or in the long form Dask's workers, too.

What takes a runner in a suite that is marked `each_executor` runs on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parpass.runner import open_runner
from tests.conftest import RunnerOf
from tests.support.integrations.clusters import client_of, cluster_of, executor_of
from tests.support.reducers import reducers_put_back

LOKY, DASK = "loky", "dask"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each executor of what takes a runner, in suites marked so."""
    is_marked = metafunc.definition.get_closest_marker("each_executor") is not None
    if is_marked and "executor" in metafunc.fixturenames:
        each = [LOKY, pytest.param(DASK, marks=pytest.mark.stress)]
        metafunc.parametrize("executor", each, indirect=True, scope="module")


@pytest.fixture(scope="module")
def executor(request: pytest.FixtureRequest) -> str:
    """Return the name of the executor."""
    return getattr(request, "param", LOKY)


@pytest.fixture(scope="module")
def runner_of(executor: str, runner_of: RunnerOf) -> Iterator[RunnerOf]:
    """Give a function from a number of workers to a runner on the executor.

    Dask's cluster has two workers, whatever the number.
    """
    if executor == LOKY:
        yield runner_of
        return
    with (
        reducers_put_back(),
        cluster_of(2) as cluster,
        client_of(cluster) as client,
        executor_of(client) as on_dask,
        open_runner(executor=on_dask) as runner,
    ):
        yield lambda workers: runner
