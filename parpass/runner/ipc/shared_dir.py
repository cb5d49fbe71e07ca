"""The shared directory of a run: a private folder of files that processes map.

The coordinator opens one `SharedDirectory` for a run and publishes there what the
workers need. The folder is in shared memory if the system has it (`/dev/shm`), has an
unpredictable name, and can be entered by its user only. It is removed when the run
ends; memory that was mapped from it stays valid as long as it is used.

If the coordinator is killed, its workers remove the folder, also those that it has told
nothing of it. If all of them are killed at once, as when a machine loses power or a
container its memory, the next run of any process removes it. Stale folders are known by
a lock that ends with its holder, not by process ids, which mean nothing if containers
share a folder.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

from parpass.fork_safety import forks_wait
from parpass.runner.open_files import file_at, is_locked, lock_file
from parpass.trusted_paths import UntrustedPathError, check_above, is_private_folder

PREFIX = "parpass-"  # of the names of the folders
_LOCK_NAME = "alive"  # the file that the coordinator has locked
_DRAFT_NAME = f"{_LOCK_NAME}.draft"  # its name before
_UNLOCKED_NAME = "unlocked"  # a folder, where it cannot be locked
_OTHER_MACHINE = "other-machine"  # a file, where the coordinator is on another one
_OURS = re.compile(rf"{PREFIX}\d+-\w+")
_LOCK_SECONDS = 10.0  # for a process to lock a folder that it has created
_SHARED_MEMORY = Path("/dev/shm")
# Bytes that must be free in shared memory: containers often have 64 MiB.
_MIN_FREE_BYTES = 1 << 30
_REMOVE_SECONDS = 2.0  # for removing a folder
_MAX_KEPT = 8  # folders between runs, each with an open file here and in each worker
SLOT_PREFIX = "note-"  # of the names of the files of status slots
FAULT_PREFIX = "fault-"  # of the names of the files that `faulthandler` writes
_LASTING = (SLOT_PREFIX, FAULT_PREFIX)  # of workers, which outlive a run


class StorageError(Exception):
    """Bytes cannot be shared, for lack of room or permission; the run does without."""


class Extent(NamedTuple):
    """A range of bytes in a file of a shared directory.

    Attributes:
        file: The name of the file.
        offset: The offset of the first byte.
        length: The number of bytes.
    """

    file: str
    offset: int
    length: int


def lock_directory(folder: str) -> int | None:
    """Lock a new folder while the returned descriptor is open.

    Returns:
        The descriptor; None if files cannot be locked. Then the folder never counts as
        stale, and no other process removes it.
    """
    draft, lock = os.path.join(folder, _DRAFT_NAME), None
    try:
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        lock_file(lock)
        # Renamed once it is locked: a folder without that name is not taken for stale.
        os.rename(draft, os.path.join(folder, _LOCK_NAME))
    except OSError:
        if lock is not None:
            os.close(lock)
        with contextlib.suppress(OSError):
            os.mkdir(os.path.join(folder, _UNLOCKED_NAME))  # needs no descriptor
        return None
    return lock


def remove_all_stale() -> None:
    """Remove the stale folders of this user, whichever process has left them."""
    for place in (_SHARED_MEMORY, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            remove_stale(place.glob(f"{PREFIX}*"))


def remove_stale(folders: Iterable[Path]) -> None:
    """Remove those of the folders that are of this user and that no process uses."""
    for folder in folders:
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.getuid():
                continue
            if (folder / _LOCK_NAME).exists():
                if not _is_in_use(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            elif _OURS.fullmatch(folder.name):
                _remove_unlocked(folder)


def _is_in_use(folder: Path) -> bool:
    """Return whether a process locks a file in a folder that was locked once.

    The coordinator locks a file, and so does each worker, which may outlive it.
    """
    if _is_locked(folder / _LOCK_NAME):  # nearly always
        return True
    # What is no file can be neither opened nor locked.
    return any(path.is_file() and _is_locked(path) for path in folder.iterdir())


def _remove_unlocked(folder: Path) -> None:
    """Remove a folder whose process was killed before it had locked it.

    There is nothing in it, and it is older than that takes.

    Raises:
        OSError: Something is in it after all.
    """
    draft, names = folder / _DRAFT_NAME, os.listdir(folder)
    is_new = time.time() < folder.lstat().st_mtime + _LOCK_SECONDS
    if is_new or names not in ([], [_DRAFT_NAME]):
        return
    if names and not _is_locked(draft):
        draft.unlink()
    folder.rmdir()


def _is_locked(path: Path) -> bool:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return is_locked(file)
    finally:
        os.close(file)


class SharedDirectory:
    """The private folder of one run; owns its lock, and the folder if it created it.

    Args:
        path: An existing folder to open; by default, a new one is created.

    Attributes:
        path: The path of the folder.

    Raises:
        StorageError: No folder can be created, or the given one is not private. Methods
            that write raise it, too.
    """

    def __init__(self, path: str | None = None) -> None:
        if path is None:
            with forks_wait():  # `tempfile` holds a lock while it makes a name
                self.path = _create_directory()
        elif is_private_folder(path):  # files in it are unpickled
            self.path = path
        else:
            raise StorageError(f"{path}: not a folder that this user alone can enter")
        self._lock = lock_directory(self.path) if path is None else None
        if self._lock is not None:
            self._lock_file = file_at(self._lock)
            _locked.add(self)
        self._stages = 0

    def new_stage(self) -> int:
        """Return a new number for a stage, unique in this folder."""
        self._stages += 1
        return self._stages

    def remove(self) -> None:
        """Remove the folder and all files in it, and release its lock.

        It retries for two seconds: a worker whose job was cancelled may still be
        creating a file, and removing needs file descriptors, which may be scarce for a
        moment.
        """
        until = time.monotonic() + _REMOVE_SECONDS
        shutil.rmtree(self.path, ignore_errors=True)
        while os.path.isdir(self.path) and time.monotonic() < until:
            time.sleep(0.002)
            shutil.rmtree(self.path, ignore_errors=True)
        self.close_lock()

    def close_lock(self) -> None:
        """Close the lock, which counts as held while a process has it open."""
        if self._lock is not None:
            if file_at(self._lock) == self._lock_file:  # else the program closed it
                os.close(self._lock)
            self._lock = None

    def publish(self, name: str, content: bytes) -> None:
        """Write a file atomically: readers see all of it, or no file."""
        draft = self.open_writer(f"{name}.draft")
        try:
            draft.append(content)
        finally:
            draft.close()
        Path(self.path, f"{name}.draft").rename(Path(self.path, name))

    def read(self, name: str) -> bytes | None:
        """Return the content of a published file; None if there is no such file."""
        try:
            return Path(self.path, name).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, name: str) -> bool:
        """Return whether there is a published file of that name."""
        return os.path.exists(os.path.join(self.path, name))

    def discard(self, *names: str, are_mapped: bool = False) -> None:
        """Remove the files that exist, and free their room.

        Args:
            names: Their names.
            are_mapped: Whether other processes may map them. If so, their room is freed
                with the last mapping; truncating a file would kill a process that reads
                it.
        """
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                if not are_mapped:  # a descriptor that is open would keep the room
                    os.truncate(os.path.join(self.path, name), 0)
                os.unlink(os.path.join(self.path, name))

    def is_cleared(self, workers: int) -> bool:
        """Return whether only the files remain that the next run needs.

        These are the lock and, for each worker, its slot and the output of
        `faulthandler`. If there are files of more than twice as many workers as exist,
        most of those workers have ended.
        """
        try:
            names = os.listdir(self.path)
        except OSError:
            return False
        if len(names) > 1 + 2 * workers * len(_LASTING):
            return False
        return all(name == _LOCK_NAME or name.startswith(_LASTING) for name in names)

    def names(self, prefix: str) -> list[str]:
        """Return the names of the files that begin with a prefix."""
        return [name for name in os.listdir(self.path) if name.startswith(prefix)]

    def mark_other_machine(self) -> None:
        """Note that the coordinator is on a machine that does not see this folder."""
        self.publish(_OTHER_MACHINE, b"")

    @property
    def on_other_machine(self) -> bool:
        """Whether the coordinator is on a machine that does not see this folder."""
        return self.has(_OTHER_MACHINE)

    def open_writer(self, name: str) -> FileWriter:
        """Create a file to append to.

        Raises:
            FileExistsError: There is a file of that name.
            StorageError: It cannot be created.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        try:
            return FileWriter(name, self._open(name, flags))
        except FileExistsError:
            raise
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}") from error

    def open_reader(self, name: str) -> int:
        """Return a descriptor of a file, to read from."""
        return self._open(name, os.O_RDONLY)

    def mapped(self, name: str) -> mmap.mmap:
        """Return a file as read-only memory."""
        fd = self.open_reader(name)
        try:
            return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)

    def _open(self, name: str, flags: int) -> int:
        return os.open(os.path.join(self.path, name), flags | os.O_CLOEXEC, 0o600)


_locked: WeakSet[SharedDirectory] = WeakSet()


def _after_fork() -> None:
    # The folders belong to the parent, and become stale with it.
    for folder in list(_locked):
        folder.close_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class KeptDirectories:
    """The shared directories that the runs of a pool use one after the other.

    To create one, and for each worker to open its slot there, takes longer than a small
    run. One that has large values in it, or the file of a worker that may still write
    there, is removed with its run.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._free: list[SharedDirectory] = []
        self._is_closed = False

    def take(self) -> SharedDirectory:
        """Return a directory that no other run uses, if necessary a new one."""
        with self._lock:
            while self._free:
                folder = self._free.pop()
                if os.path.isdir(folder.path):  # nobody has removed it
                    return folder
                folder.close_lock()
        return SharedDirectory()

    def give_back(self, folder: SharedDirectory) -> None:
        """Keep the directory of a run that is over, or remove it."""
        with self._lock:
            keeps = not self._is_closed and len(self._free) < _MAX_KEPT
            if keeps and folder.is_cleared(self._workers):
                self._free.append(folder)
                return
        folder.remove()

    def after_fork_in_child(self) -> None:
        """Forget the directories, which belong to the parent of this process."""
        self._lock = threading.Lock()  # a thread of the parent may hold the old one
        self._free = []

    def close(self) -> None:
        """Remove the directories that are kept, and keep no more."""
        with self._lock:  # who closes it, too, is to find them removed
            self._is_closed = True
            while self._free:
                self._free.pop().remove()


def _create_directory() -> str:
    with contextlib.suppress(OSError):  # the temporary directory may not exist
        remove_all_stale()
    prefix = f"{PREFIX}{os.getpid()}-"
    if _is_roomy(_SHARED_MEMORY):
        with contextlib.suppress(OSError, StorageError):  # out of inodes, for example
            return _make_directory(prefix, _SHARED_MEMORY)
    try:
        return _make_directory(prefix)
    except OSError as error:
        where = error.filename or "the temporary folder"
        raise StorageError(f"{where}: {error.strerror}") from error


def _make_directory(prefix: str, place: Path | None = None) -> str:
    """Create a folder, by default in the temporary directory, and return its path.

    Raises:
        StorageError: Another user could exchange it.
        OSError: It cannot be created.
    """
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    try:
        check_above(Path(path))
    except UntrustedPathError as error:
        os.rmdir(path)
        raise StorageError(str(error)) from error
    return path


def _is_roomy(directory: Path) -> bool:
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return False
    return free > _MIN_FREE_BYTES and os.access(directory, os.W_OK)


class FileWriter:
    """A file of a shared directory that is appended to; owns its descriptor."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self._fd = fd
        self._end = 0

    def append(self, content: bytes | memoryview, align: int = 1) -> Extent:
        """Write at the end, at a multiple of `align`; return the extent.

        Raises:
            StorageError: There is no room.
        """
        length = memoryview(content).nbytes
        start = -(-self._end // align) * align
        extent = Extent(self.name, start, length)
        self.write(extent, content)
        self._end = start + length
        return extent

    def write(self, extent: Extent, content: bytes | memoryview) -> None:
        """Write at an extent, also beyond the end.

        Raises:
            StorageError: There is no room.
        """
        at, rest = extent.offset, memoryview(content)
        while rest.nbytes:
            try:
                written = os.pwrite(self._fd, rest, at)
            except OSError as error:
                raise StorageError(f"{self.name}: {error.strerror}") from error
            at, rest = at + written, rest[written:]

    def mapped(self) -> mmap.mmap:
        """Map the file as writable memory, and close its descriptor."""
        try:
            return mmap.mmap(self._fd, self._end)
        finally:
            self.close()

    def close(self) -> None:
        """Close the descriptor; the file stays in the folder."""
        os.close(self._fd)
