"""Files are replaced whole: a reader sees the old content or the new one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


class FileChangedError(OSError):
    """A file is not any more what it was when it was read."""


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Replace the content of a file, in one step.

    The new content is written beside it, and renamed. Owner, permissions and extended
    attributes are kept. A link stays one: its file is replaced. Killed at any moment
    this leaves the whole old file or the whole new one, and perhaps a file
    `.parpass-*` beside it.

    Args:
        path: The file.
        before: What it had when it was read.
        after: The new content.

    Raises:
        FileChangedError: It has something else by now; it stays so.
        OSError: It cannot be written: it is read-only, its folder is, the disk is full.
    """
    target = Path(os.path.realpath(path))
    if not os.access(target, os.W_OK):
        raise PermissionError(f"'{path}' is read-only")
    number, temporary = tempfile.mkstemp(prefix=".parpass-", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(after)
        _copy_properties(target, temporary)
        if target.read_bytes() != before:
            raise FileChangedError(f"'{path}' was changed meanwhile, and stays so")
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _copy_properties(target: Path, temporary: str) -> None:
    known, made = target.stat(), os.stat(temporary)
    if (known.st_uid, known.st_gid) != (made.st_uid, made.st_gid):
        with contextlib.suppress(OSError):  # of another user, who lets us write to it
            os.chown(temporary, known.st_uid, known.st_gid)
    shutil.copystat(target, temporary)
    os.utime(temporary)  # it is new, for what goes by that
