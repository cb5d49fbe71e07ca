"""The files of a stage: its spec, its encoded functions, and the index of these.

The coordinator appends batches of functions to their file. The index is another file,
mapped by both sides, with one entry for each function, filled as soon as the function
is written. So a worker that needs another function waits for that function only.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from parpass.fork_safety import cached_property
from parpass.runner.ipc.batch import EncodedFunction, FunctionBatch, PackedBatch
from parpass.runner.ipc.shared_dir import FileWriter, SharedDirectory
from parpass.runner.ipc.status_board import StatusSlot

_CACHE_BYTES = 1 << 20  # bytes of batches that a worker caches
_ALONE = -1  # instead of a number in a batch
_POLL_SECONDS = 0.001  # between two reads of an index entry

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PackedBatch).decode


def spec_file_name(stage: int) -> str:
    """Return the name of the file with the spec of a stage."""
    return f"spec-{stage}"


def function_file_name(stage: int) -> str:
    """Return the name of the file with the functions of a stage."""
    return f"functions-{stage}"


def index_file_name(stage: int) -> str:
    """Return the name of the file with the function index of a stage."""
    return f"slots-{stage}"


class IndexEntry(NamedTuple):
    """The position of a function in the file of its stage.

    Attributes:
        offset: The offset of its batch in the file.
        length: The length of the batch, in bytes.
        at: The index of the function in the batch; None if it was encoded alone.
        functions: The number of functions in the batch.
    """

    offset: int
    length: int
    at: int | None
    functions: int


_ENTRY_BYTES = 8 * len(IndexEntry._fields)


class FunctionIndex:
    """The entries of a stage's functions, by index, in memory that may be shared.

    Args:
        memory: 64-bit integers: one array for each field of `IndexEntry`, one after the
            other, of equal length.
    """

    def __init__(self, memory: memoryview) -> None:
        count = len(memory) // len(IndexEntry._fields)
        self._fields = [
            memory[at * count : (at + 1) * count]
            for at in range(len(IndexEntry._fields))
        ]

    @staticmethod
    def private(count: int) -> FunctionIndex:
        """Return an empty index in the memory of this process."""
        return FunctionIndex(memoryview(array("q", bytes(_ENTRY_BYTES * count))))

    @staticmethod
    def create(folder: SharedDirectory, name: str, count: int) -> FunctionIndex:
        """Return an empty index in a new file of a shared directory.

        Raises:
            StorageError: There is no room for it.
        """
        if not count:
            return FunctionIndex.private(0)
        writer = folder.open_writer(name)
        # Written at once, to claim the room: a store to a mapped page without room
        # would kill the process.
        writer.append(bytes(_ENTRY_BYTES * count))
        return FunctionIndex(memoryview(writer.mapped()).cast("q"))

    @staticmethod
    def open(folder: SharedDirectory, name: str) -> FunctionIndex:
        """Return the index in a file, which another process fills."""
        return FunctionIndex(memoryview(folder.mapped(name)).cast("q"))

    def __setitem__(self, function: int, entry: IndexEntry) -> None:
        offsets, lengths, numbers, counts = self._fields
        offsets[function], lengths[function] = entry.offset, entry.length
        numbers[function] = _ALONE if entry.at is None else entry.at
        counts[function] = entry.functions  # last: it marks the entry as filled

    def __getitem__(self, function: int) -> IndexEntry:
        offset, length, at, count = (field[function] for field in self._fields)
        return IndexEntry(offset, length, None if at == _ALONE else at, count)

    def __len__(self) -> int:
        return len(self._fields[0])

    def size(self, function: int) -> int:
        """Return the approximate size of a function, in bytes."""
        _, lengths, _, counts = self._fields
        return lengths[function] // counts[function]

    def is_written(self, function: int) -> bool:
        """Return whether the entry of a function is filled."""
        return self._fields[3][function] > 0

    @property
    def is_filled(self) -> bool:
        """Whether the entries of all functions are filled."""
        return all(self._fields[3])

    def wait_for(self, function: int) -> IndexEntry:
        """Return the entry of a function; block until it is filled."""
        while not self.is_written(function):
            time.sleep(_POLL_SECONDS)
        return self[function]

    def function_at(self, offset: int, number: int) -> int:
        """Return the function at an index in the batch at an offset."""
        offsets, _, numbers, counts = self._fields
        entries = enumerate(zip(offsets, numbers, counts, strict=True))
        wanted = offset, number
        return next(at for at, (o, n, c) in entries if c and (o, n) == wanted)


def append_batch(writer: FileWriter, batch: FunctionBatch) -> IndexEntry:
    """Append a batch, as it would be in a message, to a file.

    Returns:
        The entry of its functions, without their numbers.

    Raises:
        StorageError: There is no room for it.
    """
    extent = writer.append(_encode(batch.packed()))
    return IndexEntry(extent.offset, extent.length, None, batch.count)


class BatchFile:
    """Reads the encoded functions of a stage; owns the descriptor of their file.

    Args:
        folder: The shared directory.
        name: The name of the file, which is opened on the first read.
    """

    def __init__(self, folder: SharedDirectory, name: str) -> None:
        self._folder, self._name = folder, name
        self._file: int | None = None
        self._batches: dict[int, FunctionBatch] = {}  # by offset; the oldest ones first
        self._cached_bytes = 0

    def read(self, entry: IndexEntry) -> EncodedFunction:
        """Return the encoded function at an entry of the index."""
        if entry.functions == 1:
            return EncodedFunction(self._read_batch(entry), entry.at)
        batch = self._batches.get(entry.offset)
        if batch is None:
            batch = self._read_batch(entry)
            self._cache(entry.offset, batch)
        return EncodedFunction(batch, entry.at)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)

    def _read_batch(self, entry: IndexEntry) -> FunctionBatch:
        if self._file is None:
            self._file = self._folder.open_reader(self._name)
        content = os.pread(self._file, entry.length, entry.offset)
        return FunctionBatch.unpacked(_decode(content))

    def _cache(self, offset: int, batch: FunctionBatch) -> None:
        self._batches[offset] = batch
        self._cached_bytes += len(batch.payload)
        while self._cached_bytes > _CACHE_BYTES:
            oldest = self._batches.pop(next(iter(self._batches)))
            self._cached_bytes -= len(oldest.payload)


class StageFunctions:
    """The encoded functions of a stage, by index, as a worker reads them.

    They are in the file of the stage, except those that jobs have brought along.

    Args:
        folder: The shared directory of the run.
        stage: The number of the stage.
        slot: Shows when this worker waits for the coordinator.
    """

    def __init__(self, folder: SharedDirectory, stage: int, slot: StatusSlot) -> None:
        self._folder, self._stage, self._slot = folder, stage, slot
        self._attached: dict[int, EncodedFunction] = {}
        self._file = BatchFile(folder, function_file_name(stage))

    @cached_property
    def _index(self) -> FunctionIndex:
        return FunctionIndex.open(self._folder, index_file_name(self._stage))

    def attach(self, functions: Mapping[int, EncodedFunction]) -> None:
        """Add functions that a job has brought along."""
        self._attached.update(functions)

    def size(self, function: int) -> int:
        """Return the approximate size of a function, in bytes."""
        attached = self._attached.get(function)
        return self._index.size(function) if attached is None else attached.size

    def wait_for(self, function: int) -> None:
        """Block until a function is there."""
        if function not in self._attached and not self._index.is_written(function):
            outer = self._slot.wait()
            self._index.wait_for(function)
            self._slot.leave(outer)

    def read(self, function: int) -> EncodedFunction:
        """Return a function that is there."""
        attached = self._attached.get(function)
        return self._file.read(self._index[function]) if attached is None else attached

    def batch_member(self, function: int, at: int) -> int | None:
        """Return the function at an index of the batch of a function.

        None if it is not known, as of a batch that was sent for one function of it.
        """
        attached = self._attached.get(function)
        if attached is None:
            return self._index.function_at(self._index[function].offset, at)
        wanted = EncodedFunction(attached.batch, at)
        return next((i for i, it in self._attached.items() if it == wanted), None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
