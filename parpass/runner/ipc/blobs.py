"""Large values of functions, such as weights, in files of the shared directory.

A function is sent to a worker, and returned, without its large values. In their place
are extents in files (cf. the out-of-band buffers of PEP 574). Each process has a file
of its own, to which it writes a value once, when it encodes the first function with it.
Others map the value when a pass reads it; what passes leave alone is not read again.
"""

from __future__ import annotations

import threading

from parpass.runner.ipc.shared_dir import (
    Extent,
    FileWriter,
    SharedDirectory,
    StorageError,
)
from parpass.transform import LargeValue, Source
from parpass.transform.config import Optimizations

DEFAULT_LARGE_BYTES = Optimizations().large_value_bytes  # if no settings are given
_ALIGNMENT = 64  # bytes, of values in a file; numpy and BLAS prefer it
_COORDINATOR = "values-coordinator"  # the file of the coordinator's own values


def blob_file_name(owner: str) -> str:
    """Return the name of the file for values that a worker creates.

    Args:
        owner: The worker; see `StatusSlot`.
    """
    return f"values-{owner}"


class LocalBlob:
    """The source of a value that is an object of this process."""

    def __init__(self, value: LargeValue) -> None:
        self.original = value

    def fetch(self) -> memoryview:
        return self.original.raw()


class MappedBlob:
    """The source of a value in a file of the shared directory, mapped on first use."""

    original = None

    def __init__(self, store: SharedBlobStore, extent: Extent) -> None:
        self.store = store
        self.extent = extent
        self._bytes: memoryview | None = None

    def fetch(self) -> memoryview:
        """Return the bytes in the file, without copying them."""
        if self._bytes is None:
            self._bytes = self.store.fetch(self.extent)
        return self._bytes


class SharedBlobStore:
    """The large values of a run in one process; owns the file of those it stores.

    Args:
        folder: The shared directory of the run.
        name: A file name that no other process of the run uses.
        min_bytes: The bytes from which on a value is stored out of band.
    """

    def __init__(
        self,
        folder: SharedDirectory,
        name: str,
        min_bytes: float = DEFAULT_LARGE_BYTES,
    ) -> None:
        self._folder = folder
        self._name = name
        self.min_bytes = min_bytes
        self._writer: FileWriter | None = None
        self._maps: dict[str, memoryview] = {}
        self._fetching = threading.Lock()  # a pass may have threads

    def put(self, value: LargeValue) -> Extent | None:
        """Store a value and return its extent; None if it is small or empty."""
        size = value.nbytes
        if size < self.min_bytes or not size:  # an empty file cannot be mapped
            return None
        source = value.source
        if isinstance(source, MappedBlob) and source.store is self:
            return source.extent
        return self._store_blob(value)

    def source(self, extent: Extent) -> Source:
        """Return the source of the value at an extent."""
        return MappedBlob(self, extent)

    def fetch(self, extent: Extent) -> memoryview:
        """Return the bytes at an extent, read-only."""
        begin, end = extent.offset, extent.offset + extent.length
        with self._fetching:
            if end > len(self._maps.get(extent.file, b"")):
                # The file may have grown; maps that are in use stay.
                mapped = self._folder.mapped(extent.file)
                self._maps[extent.file] = memoryview(mapped)
            return self._maps[extent.file][begin:end]

    def close(self) -> None:
        """Close the file; maps stay valid as long as they are used."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _store_blob(self, value: LargeValue) -> Extent:
        if self._writer is None:
            self._writer = self._folder.open_writer(self._name)
        return self._writer.append(value.raw(), _ALIGNMENT)


class WorkerBlobStore(SharedBlobStore):
    """The store of a worker.

    Attributes:
        failure: The error of a value that could not be mapped; None if there is none.
            A pass may have caught it, so no result since then can be trusted.
    """

    def __init__(self, folder: SharedDirectory, owner: str) -> None:
        super().__init__(folder, blob_file_name(owner))
        self.failure: StorageError | None = None

    def fetch(self, extent: Extent) -> memoryview:
        """Return the bytes at an extent, read-only.

        Raises:
            OSError: They cannot be mapped.
        """
        try:
            return super().fetch(extent)
        except OSError as error:
            self.failure = StorageError(f"{extent.file}: {error}")
            raise


class CoordinatorBlobStore(SharedBlobStore):
    """The store of the coordinator: the values of the program, each written once."""

    def __init__(
        self, folder: SharedDirectory, min_bytes: float = DEFAULT_LARGE_BYTES
    ) -> None:
        super().__init__(folder, _COORDINATOR, min_bytes)
        # By identity; the value is kept alive, so that its identity is not reused.
        self._known: dict[int, tuple[LargeValue, Extent]] = {}
        self._values: dict[Extent, LargeValue] = {}
        # A function may be encoded alone while a thread encodes a slice; that may go on
        # when the run is over.
        self._storing = threading.Lock()
        self._is_closed = False

    def close(self) -> None:
        """Close the file, once nothing is being written to it."""
        with self._storing:
            self._is_closed = True
            super().close()

    def source(self, extent: Extent) -> Source:
        """Return the source of a value: the object itself if it is of this process."""
        value = self._values.get(extent)
        if value is not None:
            return LocalBlob(value)
        source = MappedBlob(self, extent)
        source.fetch()  # now: the value may outlive the shared directory
        return source

    def _store_blob(self, value: LargeValue) -> Extent:
        with self._storing:
            known = self._known.get(id(value))
            if known is None:
                if self._is_closed:  # a thread that the run has abandoned
                    raise StorageError(f"{_COORDINATOR}: the run is over")
                known = self._known[id(value)] = value, super()._store_blob(value)
                self._values[known[1]] = value
            return known[1]
