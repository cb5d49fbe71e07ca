"""Files that are written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator
from io import BufferedRandom


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[BufferedRandom]:
    """Give a new file, which takes the place of `path` as the block ends.

    A reader sees the old content or the new one; a process that has the old file open
    or mapped keeps it. If the block raises, or is interrupted, the path is as it was,
    and nothing is beside it; if the process is killed, perhaps a file `.parpass-*`. A
    link stays one: the file that it leads to is replaced. The permissions of that
    file stay; where there is none they are those that the umask leaves.

    Args:
        path: The file that is replaced, or made, in a folder that is there.

    Raises:
        OSError: It cannot be written: it is a folder, its folder may not be written to,
            the disk is full.
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
