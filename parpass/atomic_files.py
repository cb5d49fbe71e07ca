"""Files that are written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator
from io import BufferedRandom


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[BufferedRandom]:
    """Yield a new file that replaces `path` when the block ends.

    Readers see either the old content or the new content; a process that has the old
    file open or mapped keeps it. If the block raises or is interrupted, the path is
    unchanged and nothing is left beside it. If the process is killed, a file
    `.parpass-*` may remain. If the path is a link, the file that it points to is
    replaced. The permissions of an existing file are kept; those of a new file follow
    the umask.

    Args:
        path: The file to replace or create, in an existing folder.

    Raises:
        OSError: The file cannot be written: for example, it is a folder, its folder is
            not writable, or the disk is full.
    """
    target = os.path.realpath(path)
    # A name of its own, not `tempfile`'s: those files are for their owner alone.
    beside = os.path.join(os.path.dirname(target), f".parpass-{os.urandom(8).hex()}")
    try:
        with open(beside, "x+b") as file:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))
            yield file
        os.replace(beside, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError) and error.filename == beside:
            error.filename, error.filename2 = os.fspath(path), None
        raise
