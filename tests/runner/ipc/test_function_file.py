from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parpass.runner.ipc.batch import EncodedFunction, FunctionEncoder, decode
from parpass.runner.ipc.blobs import CoordinatorBlobStore
from parpass.runner.ipc.function_file import (
    BatchFile,
    FunctionIndex,
    IndexEntry,
    append_batch,
)
from parpass.runner.ipc.shared_dir import Extent, SharedDirectory
from parpass.transform import BlobSink, Source
from parpass.transform.adapter import keep_inline
from tests.support.toy.ir import Fn, RunAdapter

ADAPTER = RunAdapter()


@pytest.fixture
def folder() -> Iterator[SharedDirectory]:
    folder = SharedDirectory()
    yield folder
    folder.remove()


Write = Callable[[Sequence[EncodedFunction]], list[IndexEntry]]


@pytest.fixture
def write(folder: SharedDirectory) -> Write:
    """Give a function that writes the file "functions" and returns its entries."""

    def write(encoded: Sequence[EncodedFunction]) -> list[IndexEntry]:
        writer = folder.open_writer("functions")
        batches = dict.fromkeys(one.batch for one in encoded)
        entries = {batch: append_batch(writer, batch) for batch in batches}
        return [entries[one.batch]._replace(at=one.at) for one in encoded]

    return write


@pytest.mark.parametrize("function_bytes", [10, 1_000])
def test_a_worker_reads_any_function_of_the_file(
    folder: SharedDirectory, write: Write, function_bytes: int
):
    values = CoordinatorBlobStore(folder)
    encoder = FunctionEncoder(ADAPTER, values.put)
    functions = [Fn((at, *range(function_bytes // 3))) for at in range(3_000)]
    encoded = [encoder.encode(function) for function in functions]
    encoder.close()
    entries = write(encoded)
    file = BatchFile(folder, "functions")
    for at in (2_999, 0, 1_500, 1, 2_998, *range(0, 3_000, 100), 1_500):
        read = file.read(entries[at])
        assert decode(read, ADAPTER, values.source, None) == functions[at]
        assert read.size == encoded[at].size <= entries[at].length
    file.close()
    values.close()


def source_of_nothing(extent: Extent) -> Source:
    raise AssertionError(f"a reference to a large value: {extent}")


class OpenedBatches(RunAdapter):
    """Counts the batches that are opened, and the functions that are decoded."""

    def __init__(self) -> None:
        self.opened = self.decoded = 0

    def open_decoder(
        self, encoded: bytes | memoryview, sources: Sequence[Source], mod: Any
    ) -> Callable[[], Fn]:
        self.opened += 1
        decode = super().open_decoder(encoded, sources, mod)

        def counted() -> Fn:
            self.decoded += 1
            return decode()

        return counted


@pytest.mark.parametrize(
    "order", [range(50), range(49, -1, -1), [0, *range(49, 0, -1)]]
)
def test_a_worker_decodes_each_function_of_a_batch_once(
    folder: SharedDirectory, write: Write, order: Iterable[int]
):
    adapter = OpenedBatches()
    encoder = FunctionEncoder(adapter, keep_inline)
    encoded = [encoder.encode(Fn((at,))) for at in range(50)]
    encoder.close()
    entries, file = write(encoded), BatchFile(folder, "functions")
    for at in order:
        read = file.read(entries[at])
        assert decode(read, adapter, source_of_nothing, None) == Fn((at,))
    assert (adapter.opened, adapter.decoded) == (1, 50)
    assert file.read(entries[0]).batch.decoder is None  # it refers to functions
    file.close()


def test_entries_that_one_process_fills_are_seen_by_another(folder: SharedDirectory):
    ours = FunctionIndex.create(folder, "slots", 3)
    theirs = FunctionIndex.open(folder, "slots")
    assert not theirs.is_written(2)
    ours[2] = IndexEntry(1 << 40, 70, 3, 7)
    ours[0] = IndexEntry(5, 9, None, 9)
    assert theirs.wait_for(2) == IndexEntry(1 << 40, 70, 3, 7)
    assert theirs[0] == IndexEntry(5, 9, None, 9)
    assert theirs.size(2) == 10
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


class BytelessFunctions(RunAdapter):
    def encode_function(self, function: Fn, blob_sink: BlobSink) -> bytes:
        return b""


def test_a_function_without_any_bytes_has_a_place_of_its_own(
    folder: SharedDirectory, write: Write
):
    values = [(), (1,), (2,)]
    none = FunctionEncoder(BytelessFunctions(), keep_inline).encode_alone(Fn(()))
    encoder = FunctionEncoder(ADAPTER, keep_inline)
    encoded = [none, *(encoder.encode(Fn(one)) for one in values[1:])]
    encoder.close()
    entries = write(encoded)
    index = FunctionIndex.create(folder, "slots", 1)
    index[0] = entries[0]
    assert index.wait_for(0) == entries[0]
    file = BatchFile(folder, "functions")
    for at in (1, 0, 2, 0):
        read = file.read(entries[at])
        assert read.batch.payload == encoded[at].batch.payload
    assert file.read(entries[0]).size == 0
    file.close()


def test_an_index_can_be_read_after_its_file_is_discarded(folder: SharedDirectory):
    ours = FunctionIndex.create(folder, "slots", 1)
    theirs = FunctionIndex.open(folder, "slots")
    ours[0] = IndexEntry(0, 8, None, 8)
    folder.discard("slots", are_mapped=True)
    assert not folder.has("slots")
    assert theirs[0] == IndexEntry(0, 8, None, 8)


def test_the_large_values_of_a_batch_are_read_with_it(
    folder: SharedDirectory, write: Write
):
    encoded = FunctionEncoder(ADAPTER, keep_inline).encode_alone(Fn((1,)))
    extents = [Extent("values", 0, 8), Extent("values", 16, 1 << 40)]
    encoded.batch.blobs = extents
    (entry,) = write([encoded])
    file, asked = BatchFile(folder, "functions"), list[Extent]()

    def source_of(extent: Extent) -> Any:
        asked.append(extent)

    assert decode(file.read(entry), ADAPTER, source_of, None) == Fn((1,))
    assert asked == extents
    file.close()
