"""Files are replaced if they are what was read, and keep all but their content."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from parpass.spi import atomic_write


class FileChangedError(OSError):
    """A file is not any more what it was when it was read."""


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Replace the content of a file, in one step; see `atomic_write`.

    Owner, permissions and extended attributes are kept.

    Args:
        path: The file.
        before: What it had when it was read.
        after: The new content.

    Raises:
        FileChangedError: It has something else by now; it stays so.
        OSError: It cannot be written: it is read-only, its folder is, the disk is full.
    """
    if not os.access(path, os.W_OK):
        raise PermissionError(f"'{path}' is read-only")
    with atomic_write(path) as file:
        file.write(after)
        file.flush()
        _copy_properties(path, file.name)
        if Path(path).read_bytes() != before:
            raise FileChangedError(f"'{path}' was changed meanwhile, and stays so")


def _copy_properties(path: str, new: str) -> None:
    known, made = os.stat(path), os.stat(new)
    if (known.st_uid, known.st_gid) != (made.st_uid, made.st_gid):
        with contextlib.suppress(OSError):  # of another user, who lets us write to it
            os.chown(new, known.st_uid, known.st_gid)
    shutil.copystat(path, new)
    os.utime(new)  # it is new, for what goes by that
