"""Large values of functions, such as weights: they travel when somebody looks.

A function goes to a worker without its large values and comes back without them. What
travels is a reference; a value that passes leave alone moves none of its bytes. A
worker in which a pass looks at a value asks the coordinator for it, over a socket in
the run's folder; the coordinator writes it to a file there, once, and the worker maps
it. Where the folder's path is too long for a socket, all is written at once. A value
that a worker makes is written to a file of its own.
"""

from __future__ import annotations

import mmap
import os
import threading
from typing import Protocol

from parpass.errors import InternalError
from parpass.runner.travel.brought import are_values_brought
from parpass.runner.travel.folder import Folder, Ref, StorageError, Writer
from parpass.runner.travel.value_server import ValueClient, ValueServer, socket_path
from parpass.transform import LargeValue, Source
from parpass.transform.optimizations import Optimizations

LARGE = Optimizations().large_value_bytes  # where the settings do not say

_ALIGNMENT = 64  # of values in a file: numpy's and BLAS's favourite
_COORDINATOR = "values-coordinator"


def values_name(owner: str) -> str:
    """Return the name of the file with the values that a worker makes.

    Args:
        owner: The worker; see `notes.Note`.
    """
    return f"values-{owner}"


class Original:
    """The source of a value that came from this process."""

    def __init__(self, value: LargeValue) -> None:
        self.original = value

    def fetch(self) -> memoryview:
        """Return the value's own bytes."""
        return self.original.raw()


class Mapped:
    """The source of a value in a file of the run's folder."""

    original = None

    def __init__(self, values: LargeValues, ref: Ref) -> None:
        self.values = values
        self.ref = ref
        self._bytes: memoryview | None = None

    def fetch(self) -> memoryview:
        """Return the bytes in the file, without copying them."""
        if self._bytes is None:
            self._bytes = self.values.fetch(self.ref)
        return self._bytes


class Values(Protocol):
    """Where values go that are too large for a function's bytes."""

    def put(self, value: LargeValue) -> Ref | None:
        """Return a reference to a value; None if it goes with the function."""
        ...

    def source(self, ref: Ref) -> Source:
        """Return the source of the value at a reference."""
        ...


class TooLargeError(Exception):
    """A value is too large to go with its function."""


class NoLargeValues:
    """In place of large values, where all that there is goes with the functions.

    Attributes:
        failure: There is none.
        large: Bytes from which on a value is too large for it.
    """

    failure: None = None

    def __init__(self, large: float = LARGE) -> None:
        self.large = large

    def put(self, value: LargeValue) -> None:
        """Refuse a value that is large.

        Raises:
            TooLargeError: It is.
        """
        if value.nbytes >= self.large:
            raise TooLargeError

    def source(self, ref: Ref) -> Source:
        """There are no references."""
        raise InternalError(f"a reference to a large value: {ref}")


class LargeValues:
    """The large values of a run, as one process sees them.

    Args:
        folder: The run's folder.
        name: A file name that no other process of the run uses.

    Attributes:
        large: Bytes from which on a value stays outside of a function's bytes.
    """

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self.large: float = LARGE
        self._writer: Writer | None = None
        self._maps: dict[str, memoryview] = {}
        self._fetching = threading.Lock()  # a pass may look in threads of its own

    @property
    def writer(self) -> Writer:
        """The file of this process, made when it is first needed."""
        if self._writer is None:
            self._writer = self._folder.open_writer(self._name)
        return self._writer

    def put(self, value: LargeValue) -> Ref | None:
        """Return a reference to a value; None if it is small, or no longer at hand."""
        size = value.nbytes
        if size < self.large or not size:  # what is empty cannot be mapped
            return None
        source = value.source
        if isinstance(source, Mapped) and source.values is self:
            return source.ref
        return self._put_new(value)

    def source(self, ref: Ref) -> Source:
        """Return the source of the value at a reference."""
        return Mapped(self, ref)

    def fetch(self, ref: Ref) -> memoryview:
        """Return the bytes at a reference, read-only."""
        with self._fetching:
            if ref.offset + ref.length > len(self._maps.get(ref.file, b"")):
                fd = self._folder.open_reader(ref.file)
                try:  # the file may have grown; maps that are in use stay
                    mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
                finally:
                    os.close(fd)
                self._maps[ref.file] = memoryview(mapped)
            return self._maps[ref.file][ref.offset : ref.offset + ref.length]

    def close(self) -> None:
        """Close the file; what was mapped stays as long as it is used."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _put_new(self, value: LargeValue) -> Ref:
        return self.writer.append(value.raw(), _ALIGNMENT)


class WorkerValues(LargeValues):
    """Large values in a worker, which asks the coordinator for its own.

    Attributes:
        failure: Why a value could not be had. A pass may have caught the error, so
            nothing that was made since can be trusted.
    """

    def __init__(self, folder: Folder, owner: str) -> None:
        super().__init__(folder, values_name(owner))
        self.failure: StorageError | None = None
        self._asks_for_all = are_values_brought(folder)
        self._present: set[Ref] = set()
        self._client = ValueClient()

    @property
    def has_asked(self) -> bool:
        """Whether any value of the coordinator was asked for."""
        return bool(self._present)

    def fetch(self, ref: Ref) -> memoryview:
        """Return the bytes at a reference, asking for them the first time.

        Raises:
            OSError: They cannot be had.
        """
        path = socket_path(self._folder)
        try:
            if self._is_asked_for(ref) and path is not None:
                with self._fetching:
                    if ref not in self._present:
                        self._client.ask(path, ref)
                        self._present.add(ref)
            return super().fetch(ref)
        except OSError as error:
            self.failure = StorageError(f"{ref.file}: {error}")
            raise

    def close(self) -> None:
        """Close file and connection."""
        super().close()
        self._client.close()

    def _is_asked_for(self, ref: Ref) -> bool:
        if self._asks_for_all:
            return ref.file != self._name
        return ref.file == _COORDINATOR


class CoordinatorValues(LargeValues):
    """Large values in the coordinator: the user's own, written down on demand."""

    def __init__(
        self, folder: Folder, optimizations: Optimizations | None = None
    ) -> None:
        super().__init__(folder, _COORDINATOR)
        optimizations = optimizations or Optimizations()
        self.large = optimizations.large_value_bytes
        # By identity, and kept alive, so that another value cannot take its identity.
        self._known: dict[int, tuple[LargeValue, Ref]] = {}
        self._values: dict[Ref, LargeValue] = {}
        self._unwritten: set[Ref] = set()
        self._writing = threading.Lock()
        self._server: ValueServer | None = None

    def source(self, ref: Ref) -> Source:
        """Return the source of a value: the value itself if it is ours."""
        value = self._values.get(ref)
        if value is not None:
            return Original(value)
        source = Mapped(self, ref)
        source.fetch()  # now: the value may outlive the run, and the folder does not
        return source

    def close(self) -> None:
        """Stop answering, and close the file."""
        if self._server is not None:
            self._server.close()
        with self._writing:
            super().close()

    def _put_new(self, value: LargeValue) -> Ref:
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        path = socket_path(self._folder)
        if self._server is None and path is not None:
            try:
                self._server = ValueServer(path, self._write_down)
            except OSError as error:
                raise StorageError(f"{path}: {error}") from error
        with self._writing:
            ref = self.writer.reserve(value.nbytes, _ALIGNMENT)
            self._known[id(value)] = value, ref
            self._values[ref] = value
            self._unwritten.add(ref)
        if path is None:
            self._write_down(ref)
        return ref

    def _write_down(self, ref: Ref) -> None:
        with self._writing:
            if ref in self._unwritten:
                self.writer.write(ref, self._values[ref].raw())
                self._unwritten.discard(ref)
