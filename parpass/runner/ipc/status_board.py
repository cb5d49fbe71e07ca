"""The current activity of each worker, in files that outlive the worker.

Each worker has a slot, a file of the shared directory that holds the function, the pass
and the time since when. The file is mapped: writing it takes a few stores, and however
the worker dies, the slot shows its last activity. A second file takes the traceback
that `faulthandler` writes if a signal ends the worker.
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

from parpass.runner.ipc.file_lock import lock_file
from parpass.runner.ipc.shared_dir import SharedDirectory

_FORMAT = struct.Struct("<qqqqqq")
_IDLE = _FORMAT.pack(-1, 0, -1, 0, 0, 0)
_SINCE = struct.Struct("<q")
_SINCE_AT = _FORMAT.size - _SINCE.size
_SLOT_PREFIX = "note-"
FAULT_PREFIX = "fault-"  # of the names of the files that `faulthandler` writes
_DUMP_SECONDS = 0.2  # for a worker to write a traceback after the signal
_DUMP_SIGNAL = getattr(signal, "SIGUSR2", None)


class Phase(enum.IntEnum):
    """The phase of the work on a function."""

    START = 0  # the worker loads the stage; no function is to blame
    UNPICKLE = 1
    PASS = 2
    PICKLE = 3


def owner_pid(owner: str) -> int:
    """Return the process id of the owner of a slot."""
    return int(owner.partition("-")[0])


class Activity(NamedTuple):
    """The activity of a worker.

    Attributes:
        function: The function of its job, by index, that it runs the stage on.
        step: The pass that function has come to.
        body: The function that a pass runs on: `function`, or else one that a pass
            reads, which is made on demand.
        body_step: The pass that runs on `body`.
        phase: The phase of the work on `body`.
        since: The start of that work, in nanoseconds of the system's monotonic clock; 0
            while it has no time limit.
        owner: The owner of the slot.
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
        """The process id of the worker."""
        return owner_pid(self.owner)


class StatusSlot:
    """The slot of one worker; owns the map of its file, and the file for tracebacks.

    Args:
        folder: The shared directory of the run.
        owner: A name that no other worker has: its process id, a dash, 8 digits.
    """

    def __init__(self, folder: SharedDirectory, owner: str) -> None:
        writer = folder.open_writer(f"{_SLOT_PREFIX}{owner}")
        writer.append(_IDLE)
        self._map = writer.mapped()
        # In append mode, since the coordinator truncates it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fault = os.open(f"{folder.path}/{FAULT_PREFIX}{owner}", flags, 0o600)
        # The lock shows that this process, not another with its id, is alive.
        with contextlib.suppress(OSError):  # a file system without locks
            lock_file(self._fault)
        self._values = (-1, 0, -1, 0, 0, 0)

    def write(self, function: int, step: int, phase: Phase = Phase.PASS) -> None:
        """Record that work on a function begins."""
        self._put((function, step, function, step, phase, time.monotonic_ns()))

    def restart_clock(self) -> None:
        """Record that the current work begins now, again."""
        self._put((*self._values[:-1], time.monotonic_ns()))

    def enter(
        self, body: int, body_step: int, phase: Phase = Phase.PASS
    ) -> tuple[int, ...]:
        """Record that a function is made on demand; return the state for `leave`."""
        outer = self._values
        self._put((*outer[:2], body, body_step, phase, time.monotonic_ns()))
        return (*outer, time.monotonic_ns())

    def wait(self) -> tuple[int, ...]:
        """Record a wait for the coordinator; return the state for `leave`."""
        outer = self._values
        self._put((*outer[:-1], 0))
        return (*outer, time.monotonic_ns())

    def leave(self, outer: tuple[int, ...]) -> None:
        """Record that earlier work resumes; the time in between is not counted."""
        *values, since, left = outer
        self._put((*values, since + time.monotonic_ns() - left))

    def idle(self) -> None:
        """Record that there is nothing to do."""
        self._put((-1, 0, -1, 0, 0, 0))

    def enable_fault_dumps(self) -> None:
        """Make `faulthandler` write a traceback if a signal ends this process."""
        faulthandler.enable(self._fault)
        if _DUMP_SIGNAL is not None:
            faulthandler.register(_DUMP_SIGNAL, self._fault)

    def close(self) -> None:
        """Close the map and the file."""
        self._map.close()
        os.close(self._fault)

    def _put(self, values: tuple[int, ...]) -> None:
        # First without a time, since the coordinator may read between the two stores.
        _SINCE.pack_into(self._map, _SINCE_AT, 0)
        _FORMAT.pack_into(self._map, 0, *values)
        self._values = values


class NullStatusSlot(StatusSlot):
    """A slot without a file, for work that no coordinator watches."""

    def __init__(self) -> None:
        self._values = (-1, 0, -1, 0, 0, 0)

    def close(self) -> None:
        """Close nothing."""

    def _put(self, values: tuple[int, ...]) -> None:
        self._values = values


def disable_fault_dumps() -> None:
    """Undo `StatusSlot.enable_fault_dumps`; call it before the slot is closed."""
    faulthandler.disable()
    if _DUMP_SIGNAL is not None:
        faulthandler.unregister(_DUMP_SIGNAL)


class StatusBoard:
    """All slots of a run, as the coordinator reads them.

    Args:
        folder: The shared directory of the run.
    """

    def __init__(self, folder: SharedDirectory) -> None:
        self._folder = folder

    def read(self) -> list[Activity]:
        """Return the activity of each worker that is not idle."""
        found: list[Activity] = []
        for name in self._folder.names(_SLOT_PREFIX):
            content = self._folder.read(name) or b""
            if len(content) == _FORMAT.size:
                owner = name.removeprefix(_SLOT_PREFIX)
                work = Activity._make((*_FORMAT.unpack(content), owner))
                if work.function >= 0:
                    found.append(work)
        return found

    def take_for_process(self, process: int) -> Activity | None:
        """Return the last activity of a dead worker, and reset its slot to idle."""
        for work in self.read():
            if work.process == process:
                name = f"{_SLOT_PREFIX}{work.owner}"
                with (
                    contextlib.suppress(FileNotFoundError),
                    Path(self._folder.path, name).open("r+b") as file,
                ):
                    file.write(_IDLE)
                return work
        return None

    def traceback(self, owner: str) -> str:
        """Return the traceback that `faulthandler` wrote, and truncate the file."""
        name = f"{FAULT_PREFIX}{owner}"
        text = (self._folder.read(name) or b"").decode(errors="replace")
        if text:
            with contextlib.suppress(FileNotFoundError):
                os.truncate(Path(self._folder.path, name), 0)
        return text

    def dump_tracebacks(self, works: Collection[Activity]) -> dict[str, str]:
        """Return the tracebacks of workers that hang, by owner of the slot.

        A signal makes `faulthandler` write them, so C code does not prevent it. Workers
        that do not answer within 0.2 seconds, and this process, are left out.
        """
        asked = [work for work in works if work.process != os.getpid()]
        if _DUMP_SIGNAL is None or not asked:
            return {}
        for work in asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(work.process, _DUMP_SIGNAL)
        tracebacks: dict[str, str] = {}
        until = time.monotonic() + _DUMP_SECONDS
        while len(tracebacks) < len(asked) and time.monotonic() < until:
            time.sleep(0.01)
            for work in asked:
                if text := self.traceback(work.owner):
                    tracebacks[work.owner] = text
        return tracebacks
