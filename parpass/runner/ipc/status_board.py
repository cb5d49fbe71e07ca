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
from mmap import mmap
from pathlib import Path

import msgspec

from parpass.runner.ipc.shared_dir import FAULT_PREFIX, SLOT_PREFIX, SharedDirectory
from parpass.runner.open_files import lock_file

_FORMAT = struct.Struct("<qqqqqqq")
_SINCE = struct.Struct("<q")
_SINCE_AT = _FORMAT.size - _SINCE.size
_DUMP_SECONDS = 0.2  # for a worker to write a traceback after the signal
_DUMP_SIGNAL = getattr(signal, "SIGUSR2", None)


class Phase(enum.IntEnum):
    """The phase of the work on a function."""

    START = 0  # the worker loads the stage; no function is to blame
    UNPICKLE = 1
    PASS = 2
    PICKLE = 3


def owner_pid(owner: str) -> int:
    return int(owner.partition("-")[0])


class Status(msgspec.Struct, frozen=True, gc=False):
    """The activity of a worker; the only place that knows its encoding.

    Attributes:
        stage: The number of its job's stage in the run; negative while it is idle.
        function: The index of the function of its job that it works on; negative while
            it is idle.
        step: The pass that the function has reached; at the start, the number of passes
            that the worker has begun to load.
        body: The function that a pass runs on: `function`, or a function that a pass
            reads and that is made on demand.
        body_step: The pass that runs on `body`.
        phase: The phase of the work on `body`.
        since: The start of that work, in nanoseconds of the system's monotonic clock; 0
            while it has no time limit.
        owner: The owner of the slot; not encoded, since the slot's name contains it.
    """

    stage: int
    function: int
    step: int
    body: int
    body_step: int
    phase: int
    since: int
    owner: str = ""

    @classmethod
    def decode(cls, content: bytes, owner: str = "") -> Status | None:
        """Decode the bytes of a status; return None if they are incomplete."""
        if len(content) != _FORMAT.size:
            return None
        return cls(*_FORMAT.unpack(content), owner=owner)

    def encode(self) -> bytes:
        """Return the status as bytes; the size is always the same."""
        content = bytearray(_FORMAT.size)
        self.encode_into(content)
        return bytes(content)

    def encode_into(self, buffer: bytearray | mmap) -> None:
        """Write the status to the start of a buffer that another process may read."""
        # First without a time, since that may be between the two stores.
        _SINCE.pack_into(buffer, _SINCE_AT, 0)
        _FORMAT.pack_into(
            buffer,
            0,
            self.stage,
            self.function,
            self.step,
            self.body,
            self.body_step,
            self.phase,
            self.since,
        )

    def begun(self, since: int) -> Status:
        """Return the same status with another start of the work."""
        return msgspec.structs.replace(self, since=since)

    def leaving(self) -> Status:
        """Return the status for another machine: `since` becomes relative to now.

        The clocks of two machines are unrelated.
        """
        now = time.monotonic_ns()
        return self.begun(min(-1, self.since - now)) if self.since else self

    def arrived(self) -> Status:
        """Return a status that `leaving` made elsewhere, by this machine's clock."""
        return self.begun(self.since + time.monotonic_ns()) if self.since else self

    @property
    def loading(self) -> int | None:
        """The pass that the worker is loading at the start; None if it loads none."""
        return self.step - 1 if self.phase == Phase.START and self.step else None

    @property
    def process(self) -> int:
        """The process id of the worker."""
        return owner_pid(self.owner)


_IDLE = Status(-1, -1, 0, -1, 0, 0, 0)
Suspended = tuple[Status, int]  # and when it was


class StatusSlot:
    """The slot of one worker; owns its mapped file, and the file for tracebacks.

    Args:
        folder: The shared directory of the run.
        owner: A name unique to this worker: its process id, a dash, 8 digits.
    """

    def __init__(self, folder: SharedDirectory, owner: str) -> None:
        writer = folder.open_writer(f"{SLOT_PREFIX}{owner}")
        writer.append(_IDLE.encode())
        self._map = writer.mapped()
        # In append mode, since the coordinator truncates it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._fault = os.open(f"{folder.path}/{FAULT_PREFIX}{owner}", flags, 0o600)
        # The lock shows that this process, not another with its id, is alive.
        with contextlib.suppress(OSError):  # a file system without locks
            lock_file(self._fault)
        self._status = _IDLE

    def begin(self, stage: int, function: int) -> None:
        """Record that a job of a stage begins, with this function."""
        now = time.monotonic_ns()
        self.put(Status(stage, function, 0, function, 0, Phase.START, now))

    def write(self, function: int, step: int, phase: Phase = Phase.PASS) -> None:
        """Record that work on a function of the job begins."""
        stage, now = self._status.stage, time.monotonic_ns()
        self.put(Status(stage, function, step, function, step, phase, now))

    def load(self, step: int) -> None:
        """Record that the worker begins to load a pass, at the start."""
        self.put(msgspec.structs.replace(self._status, step=step + 1))

    def restart_clock(self) -> None:
        """Record that the current work starts again now."""
        self.put(self._status.begun(time.monotonic_ns()))

    def enter(self, body: int, body_step: int, phase: Phase = Phase.PASS) -> Suspended:
        """Record that a function is made on demand; return the state for `leave`."""
        outer, now = self._status, time.monotonic_ns()
        self.put(
            Status(outer.stage, outer.function, outer.step, body, body_step, phase, now)
        )
        return outer, time.monotonic_ns()

    def wait(self) -> Suspended:
        """Record a wait for the coordinator; return the state for `leave`."""
        outer = self._status
        self.put(outer.begun(0))
        return outer, time.monotonic_ns()

    def leave(self, suspended: Suspended) -> None:
        """Record that earlier work resumes; the interruption is not counted."""
        outer, left = suspended
        self.put(outer.begun(outer.since + time.monotonic_ns() - left))

    def idle(self) -> None:
        """Record that the worker is idle."""
        self.put(_IDLE)

    def enable_fault_dumps(self) -> None:
        """Make `faulthandler` write a traceback if a signal ends this process."""
        faulthandler.enable(self._fault)
        if _DUMP_SIGNAL is not None:
            faulthandler.register(_DUMP_SIGNAL, self._fault)

    def close(self) -> None:
        """Unmap and close the file."""
        self._map.close()
        os.close(self._fault)

    def put(self, status: Status) -> None:
        """Record a status."""
        status.encode_into(self._map)
        self._status = status


def disable_fault_dumps() -> None:
    """Undo `StatusSlot.enable_fault_dumps`; call it before the slot is closed."""
    faulthandler.disable()
    if _DUMP_SIGNAL is not None:
        faulthandler.unregister(_DUMP_SIGNAL)


class StatusBoard:
    """The slots of a run, as the coordinator reads them.

    Args:
        folder: The shared directory of the run.
        stage: The stage whose activities to show; None shows all. A worker that was
            killed leaves its last activity behind, which means nothing in a later
            stage: functions and passes have other numbers there.
    """

    def __init__(self, folder: SharedDirectory, stage: int | None = None) -> None:
        self._folder, self._stage = folder, stage

    def read(self) -> list[Status]:
        """Return the activity of each worker that is not idle."""
        found: list[Status] = []
        for name in self._folder.names(SLOT_PREFIX):
            owner = name.removeprefix(SLOT_PREFIX)
            work = Status.decode(self._folder.read(name) or b"", owner)
            if work is None or work.function < 0:
                continue
            if self._stage is None or work.stage == self._stage:
                found.append(work)
        return found

    def take_for_process(self, process: int) -> Status | None:
        """Return the last activity of a dead worker, and reset its slot to idle."""
        for work in self.read():
            if work.process == process:
                name = f"{SLOT_PREFIX}{work.owner}"
                with (
                    contextlib.suppress(FileNotFoundError),
                    Path(self._folder.path, name).open("r+b") as file,
                ):
                    file.write(_IDLE.encode())
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

    def dump_tracebacks(self, works: Collection[Status]) -> dict[str, str]:
        """Return the tracebacks of workers that hang, by owner of the slot.

        A signal makes `faulthandler` write them, so C code does not prevent it. Workers
        that do not answer within 0.2 seconds are omitted, as is this process.
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
