"""Large values of functions, such as weights, out of band and moved on demand.

A function is sent to a worker, and returned, without its large values. In their place
are extents in files of the shared directory (cf. the out-of-band buffers of PEP 574),
so the bytes of a value that passes leave alone are never moved. If a pass reads a value
of the coordinator in a worker, the worker requests it over a socket in the shared
directory, the coordinator writes it to its file, once, and the worker maps it. If the
path is too long for a socket, all values are written at once. Each worker writes the
values that it creates to a file of its own.

In a shared directory that is marked by `mark_fetch_all`, such as that of a worker on
another machine, no file of another process need exist or be complete. A worker that
uses one requests every value that it has not created itself.
"""

from __future__ import annotations

import threading
from typing import Protocol

from parpass.errors import InternalError
from parpass.runner.ipc.blob_server import BlobClient, BlobServer, socket_path
from parpass.runner.ipc.shared_dir import (
    Extent,
    FileWriter,
    SharedDirectory,
    StorageError,
)
from parpass.transform import LargeValue, Source
from parpass.transform.config import Optimizations

DEFAULT_LARGE_BYTES = Optimizations().large_value_bytes  # if no settings are given
_FETCH_ALL = "fetch-all"  # the file that marks the directory, with one of these in it
_SAME_MACHINE, _OTHER_MACHINE = b"here", b"elsewhere"
_ALIGNMENT = 64  # bytes, of values in a file; numpy and BLAS prefer it
_COORDINATOR = "values-coordinator"  # the file of the coordinator's own values


def mark_fetch_all(folder: SharedDirectory, *, other_machine: bool) -> None:
    """Make workers that use a shared directory request all large values.

    Args:
        folder: The shared directory.
        other_machine: Whether it is on a machine that does not see the files of the
            coordinator.
    """
    folder.publish(_FETCH_ALL, _OTHER_MACHINE if other_machine else _SAME_MACHINE)


def is_fetch_all(folder: SharedDirectory) -> bool:
    """Return whether workers that use a shared directory request all large values."""
    return folder.has(_FETCH_ALL)


def on_other_machine(folder: SharedDirectory) -> bool:
    """Return whether a shared directory is on another machine than the coordinator."""
    return folder.read(_FETCH_ALL) == _OTHER_MACHINE


def blob_file_name(owner: str) -> str:
    """Return the name of the file with the values that a worker creates.

    Args:
        owner: The worker; see `StatusSlot`.
    """
    return f"values-{owner}"


class LocalBlob:
    """The source of a value that is an object of this process."""

    def __init__(self, value: LargeValue) -> None:
        self.original = value

    def fetch(self) -> memoryview:
        """Return the bytes of the object."""
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


class BlobStore(Protocol):
    """Stores the values that are too large to be encoded in their function."""

    def put(self, value: LargeValue) -> Extent | None:
        """Store a value and return its extent; None if the function is to hold it."""
        ...

    def source(self, extent: Extent) -> Source:
        """Return the source of the value at an extent."""
        ...


class TooLargeError(Exception):
    """A value is too large to be encoded in its function."""


class NullBlobStore:
    """A store that stores nothing: functions hold all of their values.

    Attributes:
        failure: Always None; see `WorkerBlobStore`.
        min_bytes: The bytes from which on a value is refused.
    """

    failure: None = None

    def __init__(self, min_bytes: float = DEFAULT_LARGE_BYTES) -> None:
        self.min_bytes = min_bytes

    def put(self, value: LargeValue) -> None:
        """Leave a value to its function.

        Raises:
            TooLargeError: It has `min_bytes` or more.
        """
        if value.nbytes >= self.min_bytes:
            raise TooLargeError

    def source(self, extent: Extent) -> Source:
        """Raise, as no extent is of this store.

        Raises:
            InternalError: Always.
        """
        raise InternalError(f"a reference to a large value: {extent}")


class SharedBlobStore:
    """The large values of a run in one process; owns the file of those it stores.

    Args:
        folder: The shared directory of the run.
        name: A file name that no other process of the run uses.

    Attributes:
        min_bytes: The bytes from which on a value is stored out of band.
    """

    def __init__(self, folder: SharedDirectory, name: str) -> None:
        self._folder = folder
        self._name = name
        self.min_bytes: float = DEFAULT_LARGE_BYTES
        self._writer: FileWriter | None = None
        self._maps: dict[str, memoryview] = {}
        self._fetching = threading.Lock()  # a pass may have threads

    @property
    def writer(self) -> FileWriter:
        """The file of this process, created on first use."""
        if self._writer is None:
            self._writer = self._folder.open_writer(self._name)
        return self._writer

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
        return self.writer.append(value.raw(), _ALIGNMENT)


class WorkerBlobStore(SharedBlobStore):
    """The store of a worker, which requests the values of the coordinator.

    Attributes:
        failure: The error of a value that could not be fetched; None if there is none.
            A pass may have caught it, so no result since then can be trusted.
    """

    def __init__(self, folder: SharedDirectory, owner: str) -> None:
        super().__init__(folder, blob_file_name(owner))
        self.failure: StorageError | None = None
        self._fetches_all = is_fetch_all(folder)
        self._present: set[Extent] = set()
        self._client = BlobClient()

    @property
    def has_fetched(self) -> bool:
        """Whether any value was requested of the coordinator."""
        return bool(self._present)

    def fetch(self, extent: Extent) -> memoryview:
        """Return the bytes at an extent; the first time they are requested.

        Raises:
            OSError: They cannot be fetched.
        """
        path = socket_path(self._folder)
        try:
            if self._needs_fetch(extent) and path is not None:
                with self._fetching:
                    if extent not in self._present:
                        self._client.request(path, extent)
                        self._present.add(extent)
            return super().fetch(extent)
        except OSError as error:
            self.failure = StorageError(f"{extent.file}: {error}")
            raise

    def close(self) -> None:
        """Close the file and the connection."""
        super().close()
        self._client.close()

    def _needs_fetch(self, extent: Extent) -> bool:
        if self._fetches_all:
            return extent.file != self._name
        return extent.file == _COORDINATOR


class CoordinatorBlobStore(SharedBlobStore):
    """The store of the coordinator: the values of the program, written on demand."""

    def __init__(
        self, folder: SharedDirectory, optimizations: Optimizations | None = None
    ) -> None:
        super().__init__(folder, _COORDINATOR)
        optimizations = optimizations or Optimizations()
        self.min_bytes = optimizations.large_value_bytes
        # By identity; the value is kept alive, so that its identity is not reused.
        self._known: dict[int, tuple[LargeValue, Extent]] = {}
        self._values: dict[Extent, LargeValue] = {}
        self._unwritten: set[Extent] = set()
        self._writing = threading.Lock()
        self._server: BlobServer | None = None

    def source(self, extent: Extent) -> Source:
        """Return the source of a value: the object itself if it is of this process."""
        value = self._values.get(extent)
        if value is not None:
            return LocalBlob(value)
        source = MappedBlob(self, extent)
        source.fetch()  # now: the value may outlive the shared directory
        return source

    def close(self) -> None:
        """Stop the server and close the file."""
        if self._server is not None:
            self._server.close()
        with self._writing:
            super().close()

    def _store_blob(self, value: LargeValue) -> Extent:
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        path = socket_path(self._folder)
        if self._server is None and path is not None:
            try:
                self._server = BlobServer(path, self._write)
            except OSError as error:
                raise StorageError(f"{path}: {error}") from error
        with self._writing:
            extent = self.writer.reserve(value.nbytes, _ALIGNMENT)
            self._known[id(value)] = value, extent
            self._values[extent] = value
            self._unwritten.add(extent)
        if path is None:
            self._write(extent)
        return extent

    def _write(self, extent: Extent) -> None:
        with self._writing:
            if extent in self._unwritten:
                self.writer.write(extent, self._values[extent].raw())
                self._unwritten.discard(extent)
