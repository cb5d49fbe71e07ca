"""Bytes that several processes share: a private folder of files, read by mapping.

The coordinator opens one `Folder` for a run. It publishes what the workers need there,
and each process keeps the large buffers of constants there, once: a constant that a
pass leaves alone travels as a reference, in both directions.

Files are in shared memory where the system has it (`/dev/shm`), in a folder that only
this user can enter, under an unpredictable name. The folder goes when the run ends;
what was mapped from it lives on as long as it is used.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import shutil
import struct
import tempfile
from bisect import bisect_right, insort
from pathlib import Path
from typing import NamedTuple

LARGE = 16 * 1024  # bytes from which on a buffer stays outside of the pickle

_ALIGNMENT = 64  # of buffers in a file: numpy's and BLAS's favourite
_SHARED_MEMORY = Path("/dev/shm")
_ENOUGH = 1 << 30  # bytes free there; containers often have 64 MiB, too few for weights


class Ref(NamedTuple):
    """A place in a file of the folder."""

    file: str
    offset: int
    length: int


class Folder:
    """The private folder of one run.

    Args:
        path: An existing one; without it, a new one is made.
    """

    def __init__(self, path: str | None = None) -> None:
        if path is None:
            where = _SHARED_MEMORY if _is_roomy(_SHARED_MEMORY) else None
            path = tempfile.mkdtemp(prefix="parpass-", dir=where)
        self.path = path

    def remove(self) -> None:
        """Remove the folder and all files in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def publish(self, name: str, content: bytes) -> None:
        """Write a file that readers see whole or not at all."""
        draft = self._open(f"{name}.draft", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(draft, "wb") as file:
            file.write(content)
        Path(self.path, f"{name}.draft").rename(Path(self.path, name))

    def read(self, name: str) -> bytes | None:
        """Return the content of a published file; None if there is none (yet)."""
        try:
            return Path(self.path, name).read_bytes()
        except FileNotFoundError:
            return None

    def discard(self, *names: str) -> None:
        """Remove files, if they are there, and free their room."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.truncate(os.path.join(self.path, name), 0)  # it may still be open
                os.unlink(os.path.join(self.path, name))

    def names(self, prefix: str) -> list[str]:
        """Return the names of the files that begin so."""
        return [name for name in os.listdir(self.path) if name.startswith(prefix)]

    def open_writer(self, name: str) -> Writer:
        """Return a new file to append to."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        return Writer(name, self._open(name, flags))

    def open_reader(self, name: str) -> int:
        """Return a file descriptor to read from."""
        return self._open(name, os.O_RDONLY)

    def _open(self, name: str, flags: int) -> int:
        return os.open(os.path.join(self.path, name), flags | os.O_CLOEXEC, 0o600)


def _is_roomy(directory: Path) -> bool:
    return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > _ENOUGH


class Writer:
    """A file that grows at its end."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self._fd = fd
        self._end = 0

    def append(self, content: bytes | memoryview, align: int = 1) -> Ref:
        """Write at the end and return where."""
        start = -(-self._end // align) * align
        at, rest = start, memoryview(content)
        while rest.nbytes:
            written = os.pwrite(self._fd, rest, at)
            at, rest = at + written, rest[written:]
        self._end = at
        return Ref(self.name, start, at - start)

    def mapped(self) -> mmap.mmap:
        """Return the file as memory to write to, and close it."""
        try:
            return mmap.mmap(self._fd, self._end)
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; it stays in the folder."""
        os.close(self._fd)


class Buffers:
    """The large buffers that this process put into the folder, or mapped from it.

    Args:
        folder: The folder.
        owner: A name that no other process of the run uses.
        keeps_originals: Whether what is put in stays alive here, so that it is found
            again, by its address, when it is put in once more. The coordinator does
            so: the arrays are the user's own.
    """

    def __init__(self, folder: Folder, owner: str, *, keeps_originals: bool) -> None:
        self._folder = folder
        self._file = f"buffers-{owner}"
        self._keeps_originals = keeps_originals
        self._writer: Writer | None = None
        self._originals: dict[Ref, memoryview] = {}
        self._placed: dict[tuple[int, int], Ref] = {}
        self._maps: dict[str, memoryview] = {}
        # Address, file, and the map, sorted. All maps stay until the end: another
        # array at the address of one that is gone would be taken for a part of it.
        self._starts: list[tuple[int, str, memoryview]] = []

    def put(self, buffer: pickle.PickleBuffer) -> Ref | None:
        """Return a reference to a buffer, written if need be; None if it is small."""
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return None
        address = _address(raw)
        known = self._placed.get((address, raw.nbytes)) or self._mapped(address, raw)
        if known is not None:
            return known
        if self._writer is None:
            self._writer = self._folder.open_writer(self._file)
        ref = self._writer.append(raw, _ALIGNMENT)
        if self._keeps_originals:
            self._originals[ref] = raw
            self._placed[address, raw.nbytes] = ref
        return ref

    def get(self, ref: Ref) -> memoryview:
        """Return the bytes at a reference, without copying them; read-only."""
        if ref in self._originals:
            return self._originals[ref]
        if ref.offset + ref.length > len(self._maps.get(ref.file, b"")):
            self._map(ref.file)
        return self._maps[ref.file][ref.offset : ref.offset + ref.length]

    def close(self) -> None:
        """Close the file written to; what was mapped stays as long as it is used."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _map(self, name: str) -> None:
        """Map a file, or map it anew because it grew: older maps stay valid."""
        fd = self._folder.open_reader(name)
        try:
            mapped = memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
        finally:
            os.close(fd)
        self._maps[name] = mapped
        insort(self._starts, (_address(mapped), name, mapped), key=_by_address)

    def _mapped(self, address: int, raw: memoryview) -> Ref | None:
        at = bisect_right(self._starts, address, key=_by_address) - 1
        if at < 0:
            return None
        start, name, mapped = self._starts[at]
        offset = address - start
        inside = offset + raw.nbytes <= len(mapped)
        return Ref(name, offset, raw.nbytes) if inside else None


def _by_address(start: tuple[int, str, memoryview]) -> int:
    return start[0]


def _address(view: memoryview) -> int:
    # Whoever has buffers of this size has numpy loaded already.
    import numpy as np

    return np.frombuffer(view, np.uint8).__array_interface__["data"][0]


class Note:
    """What a worker is working on, where it outlives the worker.

    Two numbers in a file that is mapped: writing them is two stores to memory.
    """

    _FORMAT = struct.Struct("<qq")
    _IDLE = _FORMAT.pack(-1, -1)
    _PREFIX = "note-"

    def __init__(self, folder: Folder, owner: str) -> None:
        writer = folder.open_writer(f"{self._PREFIX}{owner}")
        writer.append(self._IDLE)
        self._map = writer.mapped()

    def write(self, function: int, step: int) -> None:
        """Note that work on a function's step begins; -1 for none."""
        self._FORMAT.pack_into(self._map, 0, function, step)

    @classmethod
    def take_all(cls, folder: Folder) -> dict[int, int]:
        """Return the step by function of all notes of work, and wipe them."""
        found: dict[int, int] = {}
        for name in folder.names(cls._PREFIX):
            with Path(folder.path, name).open("r+b") as file:
                content = file.read()
                file.seek(0)
                file.write(cls._IDLE)
            if content:
                function, step = cls._FORMAT.unpack(content)
                if function >= 0:
                    found[function] = step
        return found
