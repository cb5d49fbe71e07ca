"""Workers whose coordinator is no more: they tidy up after it, and end.

One that is in C code which holds Python's global lock does not notice, so those that do
end it. Whether a process is still the one that the notes tell of is known by a lock on
a file of its, which goes with it: the number alone may be another one's by then.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable

from parpass.runner.travel.file_lock import is_locked
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.notes import FAULT, process_of

_POLL_SECONDS = 0.4  # between two looks whether the coordinator is still there
_GRACE_SECONDS = 0.8  # for the others to notice, and remove what only they know of


def end_with_parent(
    parent: int,
    folders: Callable[[], Iterable[Folder]],
    meanwhile: Callable[[], None],
) -> None:
    """Have this process end soon after its parent, however that ends.

    A coordinator that was killed can neither end its workers nor remove its folders.

    Args:
        parent: The coordinator's process.
        folders: Returns the folders of the runs that this process works for.
        meanwhile: Called now and then, in a thread.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
            meanwhile()
        left = list(folders())
        others = [other for folder in left for other in _others(folder)]
        for folder in left:
            folder.remove()
        time.sleep(_GRACE_SECONDS)
        for process, file in others:
            if is_locked(file):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="parpass-end-with-parent", daemon=True).start()


def _others(folder: Folder) -> list[tuple[int, int]]:
    """Return the processes that have a note here, each with the file that it locks."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):  # another one has removed it
        for name in folder.names(FAULT):
            process = process_of(name.removeprefix(FAULT))
            if process != os.getpid():
                found.append((process, folder.open_reader(name)))
    return found
