"""What runs left behind whose processes were all killed at once.

Else nothing is left: a coordinator removes its folder, and if it is killed its workers
do. Where both end without a word, with the power or the memory of a container, the next
process removes the folder. It can tell by a lock that ends with its holder; numbers of
processes mean nothing where containers share a folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Generator, Iterable
from pathlib import Path

from parpass.runner.travel.file_lock import is_locked
from parpass.runner.travel.file_lock import lock as hold

PREFIX = "parpass-"
_ALIVE = "alive"


def claim(folder: str) -> int | None:
    """Lock a new folder for as long as the descriptor that is returned is open.

    None is returned where files cannot be locked; nobody will remove the folder then.
    """
    draft = os.path.join(folder, f"{_ALIVE}.draft")
    try:
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        hold(lock)
        # Under this name only now: without it, nobody takes the folder for abandoned.
        os.rename(draft, os.path.join(folder, _ALIVE))
    except OSError:
        os.close(lock)
        return None
    return lock


@functools.cache
def remove_leftovers(*places: Path) -> None:
    """Remove abandoned folders, the first time that this process is asked to."""
    for place in places:
        with contextlib.suppress(OSError):
            remove_abandoned(place.glob(f"{PREFIX}*"))


def remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove those folders of this user that nobody holds a lock on."""
    for folder in folders:
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Return whether a folder was claimed, and all who lock a file of it are no more.

    Raises:
        OSError: It was not claimed (yet).
    """
    (folder / _ALIVE).lstat()
    # The coordinator's, and those of workers, which remove the folder.
    for path in folder.iterdir():
        if path.is_file():  # a socket cannot be opened, nor locked
            with _opened(path) as file:
                if is_locked(file):
                    return False
    return True


@contextlib.contextmanager
def _opened(path: Path) -> Generator[int]:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield file
    finally:
        os.close(file)
