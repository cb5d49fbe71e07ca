"""What workers of a cluster request from a run's directory on the client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parpass.integrations.dask.client_run import ClientRuns
from parpass.integrations.dask.worker_calls import (
    forget_run_on_worker,
    put_functions_on_worker,
)
from parpass.runner.ipc.batch import FunctionBatch
from parpass.runner.ipc.function_file import append_batch
from parpass.spi import (
    FunctionIndex,
    IndexEntry,
    SharedDirectory,
    function_file_name,
    index_file_name,
    spec_file_name,
)

_SECONDS = 60


class Cluster:
    """Records the calls on a worker; one may be held until an event is set."""

    name = "cluster"

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.is_called, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()

    def call(self, what: Any, *args: Any, at: str) -> None:
        self.is_called.set()
        self.may_end.wait(_SECONDS)
        self.calls.append(what)

    def call_all(self, what: Any, *args: Any) -> None:
        self.calls.append(what)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def unsent() -> list[Exception]:
    return []


@pytest.fixture
def runs(cluster: Any, unsent: list[Exception]) -> Iterator[ClientRuns]:
    def on_unsent(worker: str, run: Any, stage: int, error: Exception) -> None:
        unsent.append(error)

    runs = ClientRuns(cluster, on_unsent)
    yield runs
    runs.close()


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


@pytest.fixture
def other() -> Iterator[SharedDirectory]:
    other = SharedDirectory()
    yield other
    other.remove()


def begun_stage(folder: SharedDirectory) -> FunctionIndex:
    """Return the index of a stage of one function, which is not written yet."""
    index = FunctionIndex.create(folder, index_file_name(1), 1)
    folder.open_writer(function_file_name(1)).close()
    folder.publish(spec_file_name(1), b"spec")
    return index


def written_stage(folder: SharedDirectory) -> None:
    """Write a stage of one function."""
    index = FunctionIndex.create(folder, index_file_name(1), 1)
    writer = folder.open_writer(function_file_name(1))
    index[0] = append_batch(writer, FunctionBatch(b"function", 1))
    writer.close()
    folder.publish(spec_file_name(1), b"spec")


def closes(runs: ClientRuns) -> bool:
    """Return whether an executor's runs close, as those of a program that ends."""
    closing = threading.Thread(target=runs.close, daemon=True)
    closing.start()
    closing.join(_SECONDS)
    return not closing.is_alive()


def give_up_the_stage(folder: SharedDirectory) -> None:
    folder.discard(spec_file_name(1))


def end_the_run(folder: SharedDirectory) -> None:
    folder.remove()


def go_on(folder: SharedDirectory) -> None: ...


@pytest.mark.parametrize("end", [give_up_the_stage, end_the_run, go_on])
def test_functions_that_never_come_are_not_waited_for(
    folder: SharedDirectory,
    runs: ClientRuns,
    cluster: Cluster,
    unsent: list[Exception],
    end: Callable[[SharedDirectory], None],
):
    begun_stage(folder)
    runs.of(folder.path)
    runs.push_functions("worker", folder.path, 1)
    end(folder)
    assert closes(runs)
    assert cluster.calls == []
    assert unsent == []


def test_functions_that_come_late_in_one_run_are_not_waited_for_in_another(
    folder: SharedDirectory,
    other: SharedDirectory,
    runs: ClientRuns,
    cluster: Cluster,
):
    begun_stage(folder)
    written_stage(other)
    runs.of(folder.path)
    runs.of(other.path)
    runs.push_functions("worker", folder.path, 1)
    runs.push_functions("worker", other.path, 1)
    assert cluster.is_called.wait(_SECONDS)
    assert closes(runs)
    assert cluster.calls == [put_functions_on_worker]


def test_a_run_is_forgotten_after_what_is_being_sent_of_it(
    folder: SharedDirectory,
    other: SharedDirectory,
    runs: ClientRuns,
    cluster: Cluster,
):
    """A worker to which something is sent afterwards would have the run anew."""
    written_stage(folder)
    runs.of(folder.path)
    cluster.may_end.clear()
    runs.push_functions("worker", folder.path, 1)
    assert cluster.is_called.wait(_SECONDS)
    folder.remove()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(runs.of, other.path).result(_SECONDS)
        cluster.may_end.set()
    assert closes(runs)
    assert cluster.calls == [put_functions_on_worker, forget_run_on_worker]


def test_what_cannot_be_sent_is_told(
    folder: SharedDirectory, runs: ClientRuns, unsent: list[Exception]
):
    index = begun_stage(folder)
    index[0] = IndexEntry(0, 1, None, 1)  # there is no such function
    runs.of(folder.path)
    runs.push_functions("worker", folder.path, 1)
    assert closes(runs)
    assert len(unsent) == 1
