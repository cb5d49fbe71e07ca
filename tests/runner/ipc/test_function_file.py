from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parpass.runner.ipc.batch import FunctionEncoder
from parpass.runner.ipc.blobs import CoordinatorBlobStore, NullBlobStore
from parpass.runner.ipc.function_file import (
    FunctionFile,
    FunctionIndex,
    IndexEntry,
    append_batch,
)
from parpass.runner.ipc.shared_dir import Extent, SharedDirectory
from tests.support.toy.ir import Fn, RunAdapter

ADAPTER = RunAdapter()


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


@pytest.mark.parametrize("function_bytes", [10, 1_000])
def test_a_worker_reads_any_function_of_the_file(
    folder: SharedDirectory, function_bytes: int
):
    values = CoordinatorBlobStore(folder)
    encoder = FunctionEncoder(ADAPTER, values)
    functions = [Fn((at, *range(function_bytes // 3))) for at in range(3_000)]
    encoded = [encoder.encode(function) for function in functions]
    encoder.close()
    writer = folder.open_writer("functions")
    batches = dict.fromkeys(one.batch for one in encoded)
    entries = {batch: append_batch(writer, batch) for batch in batches}
    file = FunctionFile(lambda: folder.open_reader("functions"), ADAPTER, values, None)
    for at in (2_999, 0, 1_500, 1, 2_998, *range(0, 3_000, 100), 1_500):
        entry = entries[encoded[at].batch]._replace(at=encoded[at].at)
        assert file.function(entry) == functions[at]
    assert file.function(encoded[7]) == functions[7]
    file.close()
    values.close()


def test_entries_that_one_process_fills_are_seen_by_another(folder: SharedDirectory):
    ours = FunctionIndex.create(folder, "slots", 3)
    theirs = FunctionIndex.open(folder, "slots")
    assert not theirs.is_written(2)
    ours[2] = IndexEntry(1 << 40, 70, 3, 7, 12)
    ours[0] = IndexEntry(5, 9, None, 9)
    assert theirs.wait_for(2) == IndexEntry(1 << 40, 70, 3, 7, 12)
    assert theirs[0] == IndexEntry(5, 9, None, 9)
    assert theirs.size(2) == 7
    assert theirs.function_at(1 << 40, 3) == 2
    assert not theirs.is_written(1)


def test_waiting_for_a_function_ends_when_it_is_written(
    folder: SharedDirectory,
):
    ours = FunctionIndex.create(folder, "slots", 2)
    theirs = FunctionIndex.open(folder, "slots")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(theirs.wait_for, 1)
        assert not waiting.done()
        ours[1] = IndexEntry(0, 8, None, 8)
        assert waiting.result(60) == IndexEntry(0, 8, None, 8)


def test_an_index_can_be_read_after_its_file_is_discarded(folder: SharedDirectory):
    ours = FunctionIndex.create(folder, "slots", 1)
    theirs = FunctionIndex.open(folder, "slots")
    ours[0] = IndexEntry(0, 8, None, 8)
    folder.discard("slots", are_mapped=True)
    assert not folder.has("slots")
    assert theirs[0] == IndexEntry(0, 8, None, 8)


class Sources(NullBlobStore):
    """Tells which values it was asked for."""

    def __init__(self) -> None:
        self.refs: list[Extent] = []

    def source(self, extent: Extent) -> Any:
        self.refs.append(extent)


def test_the_large_values_of_a_batch_are_read_with_it(folder: SharedDirectory):
    values = Sources()
    encoder = FunctionEncoder(ADAPTER, values)
    encoded = encoder.encode(Fn((1,)))
    encoder.close()
    encoded.batch.blobs = refs = [
        Extent("values", 0, 8),
        Extent("values", 16, 1 << 40),
    ]
    writer = folder.open_writer("functions")
    entry = append_batch(writer, encoded.batch)._replace(at=encoded.at)
    file = FunctionFile(lambda: folder.open_reader("functions"), ADAPTER, values, None)
    assert file.function(entry) == Fn((1,))
    assert values.refs == refs
    file.close()
