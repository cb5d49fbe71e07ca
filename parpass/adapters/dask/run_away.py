"""The folder that a run has on a worker's machine, and what is brought to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parpass.adapters.dask.jobs_away import OthersOf, Piece, StageAway
from parpass.runner.travel.brought import have_values_be_brought
from parpass.runner.travel.folder import Folder, Ref, StorageError, Writer
from parpass.runner.travel.large_values import values_name
from parpass.runner.travel.messages import functions_name, slots_name, spec_name
from parpass.runner.travel.notes import Notes, Work
from parpass.runner.travel.slots import Slots
from parpass.runner.travel.value_server import ValueServer, socket_path

Tell = Callable[[tuple[Any, ...]], None]


class RunAway:
    """A run's folder on this machine.

    Its specs are written there, its functions if a pass reads others than its own, and
    the notes of the processes that run its jobs.

    Args:
        name: The run, which is the path of its folder where it was started.
        tell: Tells the executor something.

    Attributes:
        folder: The folder.
        notes: Those of the processes.
        values: The large values of the run.
    """

    def __init__(self, name: str, tell: Tell) -> None:
        self.folder = Folder()
        # Who sees the folder that the run has where it was started is there as well.
        have_values_be_brought(self.folder, elsewhere=not os.path.isdir(name))
        self.notes = Notes(self.folder)
        self.values = BroughtValues(self.folder, lambda ref: tell(("value", name, ref)))
        self._name, self._tell = name, tell
        self._number = 0
        self._slots: Slots | None = None
        self._has_asked = False
        self._lock = threading.Lock()

    def has_begun(self, stage: StageAway) -> bool:
        """Return whether a stage is known here."""
        with self._lock:
            return self._number >= stage.number

    def begin(self, stage: StageAway, spec: bytes) -> None:
        """Have a stage be known here."""
        with self._lock:
            if self._number >= stage.number:
                return
            self._discard()
            count = stage.functions
            self._slots = Slots.create(self.folder, slots_name(stage.number), count)
            self.folder.publish(spec_name(stage.number), spec)
            self._number, self._has_asked = stage.number, False

    def ask_for_others(self) -> None:
        """Have all functions of the stage be brought."""
        with self._lock:
            has_asked, self._has_asked = self._has_asked, True
        if not has_asked:
            self._tell(("others", self._name, self._number))

    def put(self, number: int, others: OthersOf) -> None:
        """Have all functions of a stage be here."""
        with self._lock:
            if number == self._number and self._slots is not None:
                self.folder.publish(functions_name(number), others.content)
                for at, slot in enumerate(others.slots):
                    self._slots[at] = slot

    def work_of(self, process: int) -> Work | None:
        """Return what a process is at, or was when it died."""
        found = (work for work in self.notes.read() if work.process == process)
        return next(found, None)

    def traceback(self, process: int) -> str:
        """Return where a process was when a signal ended it."""
        found = [one for one in self.notes.read() if one.process == process]
        return "".join(self.notes.traceback(one.owner) for one in found)

    def where(self, process: int) -> str:
        """Return where a process is, which is asked for that."""
        found = [one for one in self.notes.read() if one.process == process]
        return "".join(self.notes.ask_where(found).values())

    def close(self) -> None:
        """Remove the folder."""
        self.values.close()
        self.folder.remove()

    def _discard(self) -> None:
        old = self._number
        if old:
            self.folder.discard(spec_name(old), functions_name(old))
            self.folder.discard(slots_name(old), are_mapped=True)


class BroughtValues:
    """The large values of a run, on a machine to which they are brought.

    A process here asks for one over a socket in the folder, as it would ask the
    coordinator. It waits until that has brought it.

    Args:
        folder: The run's folder here.
        ask: Has the executor bring a value.
    """

    def __init__(self, folder: Folder, ask: Callable[[Ref], None]) -> None:
        self._folder, self._ask = folder, ask
        self._lock = threading.Lock()
        self._here: set[Ref] = set()
        self._awaited: dict[Ref, threading.Event] = {}
        self._refused: set[Ref] = set()
        self._writers: dict[str, Writer] = {}
        self._sent: dict[str, int] = {}  # bytes, by file of a process here
        path = socket_path(folder)
        self._server = None if path is None else ValueServer(path, self._await)

    def has(self, ref: Ref) -> bool:
        """Return whether a value is here: it was brought, or made here."""
        is_ours = ref.file not in self._writers and self._folder.has(ref.file)
        return is_ours or ref in self._here

    def put(self, ref: Ref, content: bytes | None) -> None:
        """Have a value be here; None says that it cannot be had."""
        with self._lock:
            try:
                if content is None:
                    raise StorageError("it is not there any more")
                if ref not in self._here:
                    if ref.file not in self._writers:
                        self._writers[ref.file] = self._folder.open_writer(ref.file)
                    self._writers[ref.file].write(ref, content)
                self._here.add(ref)
            except StorageError:
                self._refused.add(ref)
            awaited = self._awaited.pop(ref, None)
        if awaited is not None:
            awaited.set()

    def made_by(self, process: int) -> list[Piece]:
        """Return the values that a process here has made since it was asked last."""
        pieces: list[Piece] = []
        for name in self._folder.names(values_name(f"{process}-")):
            with Path(self._folder.path, name).open("rb") as file:
                at = file.seek(self._sent.get(name, 0))
                content = file.read()
            if content:
                pieces.append(Piece(name, at, content))
                self._sent[name] = at + len(content)
        return pieces

    def close(self) -> None:
        """Have nobody wait any more."""
        with self._lock:
            self._refused.update(self._awaited)
            for awaited in self._awaited.values():
                awaited.set()
            self._awaited.clear()
            for writer in self._writers.values():
                writer.close()
        if self._server is not None:
            self._server.close()

    def _await(self, ref: Ref) -> None:
        with self._lock:
            if self.has(ref):
                return
            is_first = ref not in self._awaited
            awaited = self._awaited.setdefault(ref, threading.Event())
        if is_first:
            self._ask(ref)
        awaited.wait()
        if ref in self._refused:
            raise StorageError(f"{ref.file}: a large value that cannot be had")
