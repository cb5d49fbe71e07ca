"""What workers of a cluster request from a run's directory on the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from parpass.integrations.dask.client_run import ClientRun
from parpass.spi import (
    FunctionIndex,
    SharedDirectory,
    function_file_name,
    index_file_name,
    spec_file_name,
)


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


def give_up_the_stage(folder: SharedDirectory, run: ClientRun) -> None:
    folder.discard(spec_file_name(1))


def close_the_cluster(folder: SharedDirectory, run: ClientRun) -> None:
    run.stop_waiting()


@pytest.mark.parametrize("end", [give_up_the_stage, close_the_cluster])
def test_waiting_for_functions_that_never_come_ends(
    folder: SharedDirectory, end: Callable[[SharedDirectory, ClientRun], None]
):
    FunctionIndex.create(folder, index_file_name(1), 2)
    folder.open_writer(function_file_name(1)).close()
    folder.publish(spec_file_name(1), b"spec")
    run = ClientRun(folder.path)
    with ThreadPoolExecutor(1) as threads:
        requested = threads.submit(run.stage_functions, 1)
        assert not requested.done()
        end(folder, run)
        assert isinstance(requested.exception(60), FileNotFoundError)
    run.close()
