"""What workers are working on, in files that outlive them.

Each worker has a note in the run's folder: which function, which pass, since when. It
is mapped, so writing it is a few stores to memory, and when the worker dies, however
that happens, the note tells what it was at. Beside it is a file into which
`faulthandler` writes where the worker was when a signal ended it.
"""

from __future__ import annotations

import contextlib
import enum
import faulthandler
import os
import signal
import struct
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from parpass.runner.travel.file_lock import lock
from parpass.runner.travel.folder import Folder

_FORMAT = struct.Struct("<qqqqqq")
_IDLE = _FORMAT.pack(-1, 0, -1, 0, 0, 0)
_SINCE = struct.Struct("<q")
_SINCE_AT = _FORMAT.size - _SINCE.size
_NOTE = "note-"
FAULT = "fault-"  # what names of the files begin with that faulthandler writes
_DUMP_SECONDS = 0.2  # to write a traceback, once asked to
_TELL_SIGNAL = getattr(signal, "SIGUSR2", None)


class Phase(enum.IntEnum):
    """What is being done with a function."""

    START = 0  # the worker loads what the stage needs; no function is to blame
    UNPICKLE = 1
    PASS = 2
    PICKLE = 3


def process_of(owner: str) -> int:
    """Return the number of the process whose note it is."""
    return int(owner.partition("-")[0])


class Work(NamedTuple):
    """What a worker was at.

    Attributes:
        function: The function, by index, that it was to bring through the stage.
        step: How far that had come.
        body: The function whose body ran: mostly the same, else one that a pass asked
            for, which was made on demand.
        body_step: The pass that ran on it.
        phase: What was done with it.
        since: When that began, on the system's monotonic clock, in nanoseconds.
        owner: Whose note it is.
    """

    function: int
    step: int
    body: int
    body_step: int
    phase: int
    since: int
    owner: str

    @property
    def process(self) -> int:
        """The number of the worker's process."""
        return process_of(self.owner)


class Note:
    """The note of one worker.

    Args:
        folder: The run's folder.
        owner: A name that no other worker has: its process, a dash, 8 digits.
    """

    def __init__(self, folder: Folder, owner: str) -> None:
        writer = folder.open_writer(f"{_NOTE}{owner}")
        writer.append(_IDLE)
        self._map = writer.mapped()
        # To be appended to, as the coordinator empties it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fault = os.open(f"{folder.path}/{FAULT}{owner}", flags, 0o600)
        # It tells others that the process of that number is this one, still.
        with contextlib.suppress(OSError):  # a file system without locks
            lock(self._fault)
        self._values = (-1, 0, -1, 0, 0, 0)

    def write(self, function: int, step: int, phase: Phase = Phase.PASS) -> None:
        """Note that work on a function begins."""
        self._put((function, step, function, step, phase, time.monotonic_ns()))

    def write_again(self) -> None:
        """Note that the work that is noted begins once more."""
        self._put((*self._values[:-1], time.monotonic_ns()))

    def enter(
        self, body: int, body_step: int, phase: Phase = Phase.PASS
    ) -> tuple[int, ...]:
        """Note that another function is made on demand; return what to `leave` to."""
        outer = self._values
        self._put((*outer[:2], body, body_step, phase, time.monotonic_ns()))
        return (*outer, time.monotonic_ns())

    def wait(self) -> tuple[int, ...]:
        """Note that this waits for the coordinator; return what to `leave` to."""
        outer = self._values
        self._put((*outer[:-1], 0))
        return (*outer, time.monotonic_ns())

    def leave(self, outer: tuple[int, ...]) -> None:
        """Note that the work before goes on; its time stood still meanwhile."""
        *values, since, left = outer
        self._put((*values, since + time.monotonic_ns() - left))

    def idle(self) -> None:
        """Note that there is nothing to do."""
        self._put((-1, 0, -1, 0, 0, 0))

    def catch_faults(self) -> None:
        """Have `faulthandler` write where this process is when a signal ends it."""
        faulthandler.enable(self._fault)
        if _TELL_SIGNAL is not None:
            faulthandler.register(_TELL_SIGNAL, self._fault)

    def close(self) -> None:
        """Close what is open."""
        self._map.close()
        os.close(self._fault)

    def _put(self, values: tuple[int, ...]) -> None:
        # Without a time first, as the coordinator may read at any moment.
        _SINCE.pack_into(self._map, _SINCE_AT, 0)
        _FORMAT.pack_into(self._map, 0, *values)
        self._values = values


class NoNote(Note):
    """In place of a note, for work of which nobody reads one."""

    def __init__(self) -> None:
        self._values = (-1, 0, -1, 0, 0, 0)

    def close(self) -> None:
        """Close nothing."""

    def _put(self, values: tuple[int, ...]) -> None:
        self._values = values


def let_faults_be() -> None:
    """End what `Note.catch_faults` began, before the note is closed."""
    faulthandler.disable()
    if _TELL_SIGNAL is not None:
        faulthandler.unregister(_TELL_SIGNAL)


class Notes:
    """The notes of a run, as the coordinator reads them.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self) -> list[Work]:
        """Return what workers are at; nothing for those that are idle."""
        found: list[Work] = []
        for name in self._folder.names(_NOTE):
            content = self._folder.read(name) or b""
            if len(content) == _FORMAT.size:
                owner = name.removeprefix(_NOTE)
                work = Work._make((*_FORMAT.unpack(content), owner))
                if work.function >= 0:
                    found.append(work)
        return found

    def of_process(self, process: int) -> Work | None:
        """Return what a worker that is no more was at, and wipe its note."""
        for work in self.read():
            if work.process == process:
                name = f"{_NOTE}{work.owner}"
                with (
                    contextlib.suppress(FileNotFoundError),
                    Path(self._folder.path, name).open("r+b") as file,
                ):
                    file.write(_IDLE)
                return work
        return None

    def traceback(self, owner: str) -> str:
        """Return what `faulthandler` wrote of a worker, and empty the file."""
        name = f"{FAULT}{owner}"
        text = (self._folder.read(name) or b"").decode(errors="replace")
        if text:
            with contextlib.suppress(FileNotFoundError):
                os.truncate(Path(self._folder.path, name), 0)
        return text

    def ask_where(self, works: Collection[Work]) -> dict[str, str]:
        """Have workers that hang tell where they are, C code included, by owner."""
        asked = [work for work in works if work.process != os.getpid()]
        if _TELL_SIGNAL is None or not asked:
            return {}
        for work in asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(work.process, _TELL_SIGNAL)
        told: dict[str, str] = {}
        until = time.monotonic() + _DUMP_SECONDS
        while len(told) < len(asked) and time.monotonic() < until:
            time.sleep(0.01)
            for work in asked:
                if text := self.traceback(work.owner):
                    told[work.owner] = text
        return told
