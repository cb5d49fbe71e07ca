"""Bytes that several processes share: a private folder of files, read by mapping.

The coordinator opens one `Folder` for a run and publishes there what the workers need.

Files are in shared memory where the system has it (`/dev/shm`), in a folder that only
this user can enter, under an unpredictable name. The folder goes when the run ends;
what was mapped from it lives on as long as it is used.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from parpass.runner.travel.leftovers import PREFIX, claim, remove_leftovers

_SHARED_MEMORY = Path("/dev/shm")
_PATIENCE = 2.0  # seconds to remove a folder
_ENOUGH = 1 << 30  # bytes free there; containers often have 64 MiB, too few for weights


class StorageError(Exception):
    """Bytes cannot be shared: no room, no permission; what runs goes on without."""


class Ref(NamedTuple):
    """A place in a file of the folder."""

    file: str
    offset: int
    length: int


class Folder:
    """The private folder of one run.

    Args:
        path: An existing one; without it, a new one is made.

    Raises:
        StorageError: No folder can be made, or that one is not private; so do the
            methods that write.
    """

    def __init__(self, path: str | None = None) -> None:
        self.path = _new_folder() if path is None else _private(path)
        self._claim = claim(self.path) if path is None else None

    def remove(self) -> None:
        """Remove the folder and all files in it.

        A worker whose job was ended may be making a file there just now, and removing
        takes descriptors, which others may be about to give back: so it is tried again.
        """
        until = time.monotonic() + _PATIENCE
        shutil.rmtree(self.path, ignore_errors=True)
        while os.path.isdir(self.path) and time.monotonic() < until:
            time.sleep(0.002)
            shutil.rmtree(self.path, ignore_errors=True)
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def publish(self, name: str, content: bytes) -> None:
        """Write a file that readers see whole or not at all."""
        draft = self.open_writer(f"{name}.draft")
        try:
            draft.append(content)
        finally:
            draft.close()
        Path(self.path, f"{name}.draft").rename(Path(self.path, name))

    def read(self, name: str) -> bytes | None:
        """Return the content of a published file; None if there is none (yet)."""
        try:
            return Path(self.path, name).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        """Return whether a file was published, and has not been discarded."""
        return os.path.exists(os.path.join(self.path, name))

    def discard(self, *names: str, are_mapped: bool = False) -> None:
        """Remove files, if they are there, and free their room.

        That of files that others map is freed when these let go: a process that looks
        at memory whose file has become shorter is killed.
        """
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if not are_mapped:  # though it may still be open
                    os.truncate(os.path.join(self.path, name), 0)
                os.unlink(os.path.join(self.path, name))

    def names(self, prefix: str) -> list[str]:
        """Return the names of the files that begin so."""
        return [name for name in os.listdir(self.path) if name.startswith(prefix)]

    def open_writer(self, name: str) -> Writer:
        """Return a new file to append to."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        try:
            return Writer(name, self._open(name, flags))
        except FileExistsError:
            raise
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from error

    def open_reader(self, name: str) -> int:
        """Return a file descriptor to read from."""
        return self._open(name, os.O_RDONLY)

    def mapped(self, name: str) -> mmap.mmap:
        """Return a file as memory to read from."""
        fd = self.open_reader(name)
        try:
            return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)

    def _open(self, name: str, flags: int) -> int:
        return os.open(os.path.join(self.path, name), flags | os.O_CLOEXEC, 0o600)


def _new_folder() -> str:
    with contextlib.suppress(OSError):  # there may be no temporary folder
        remove_leftovers(_SHARED_MEMORY, Path(tempfile.gettempdir()))
    prefix = f"{PREFIX}{os.getpid()}-"
    if _is_roomy(_SHARED_MEMORY):
        with contextlib.suppress(OSError):  # no inodes left there, say
            return tempfile.mkdtemp(prefix=prefix, dir=_SHARED_MEMORY)
    try:
        return tempfile.mkdtemp(prefix=prefix)
    except OSError as error:
        where = error.filename or "the temporary folder"
        raise StorageError(f"{where}: {error.strerror}") from error


def _private(path: str) -> str:
    """Return the path of a folder that only this user can enter.

    What is in it is unpickled, so it must not come from anybody else.
    """
    found = os.lstat(path)
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if not (stat.S_ISDIR(found.st_mode) and is_ours and not found.st_mode & 0o077):
        raise StorageError(f"{path}: not a folder that this user alone can enter")
    return path


def _is_roomy(directory: Path) -> bool:
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return False
    return free > _ENOUGH and os.access(directory, os.W_OK)


class Writer:
    """A file that grows at its end."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self._fd = fd
        self._end = 0

    def append(self, content: bytes | memoryview, align: int = 1) -> Ref:
        """Write at the end and return where."""
        ref = self.reserve(memoryview(content).nbytes, align)
        self.write(ref, content)
        return ref

    def reserve(self, length: int, align: int = 1) -> Ref:
        """Keep room at the end, to be written to later, and return where."""
        start = -(-self._end // align) * align
        self._end = start + length
        return Ref(self.name, start, length)

    def write(self, ref: Ref, content: bytes | memoryview) -> None:
        """Write where room was kept."""
        at, rest = ref.offset, memoryview(content)
        while rest.nbytes:
            try:
                written = os.pwrite(self._fd, rest, at)
            except OSError as error:
                raise StorageError(f"{self.name}: {error.strerror}") from error
            at, rest = at + written, rest[written:]

    def mapped(self) -> mmap.mmap:
        """Return the file as memory to write to, and close it."""
        try:
            return mmap.mmap(self._fd, self._end)
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; it stays in the folder."""
        os.close(self._fd)
