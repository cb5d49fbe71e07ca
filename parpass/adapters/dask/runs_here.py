"""The runs of an executor, where they were started: what of them goes elsewhere."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from parpass.adapters.dask.jobs_away import OthersOf, StageAway, WasAt
from parpass.runner.travel.bundles import Packed
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.messages import (
    Job,
    functions_name,
    pack_message,
    slots_name,
    spec_name,
)
from parpass.runner.travel.notes import FAULT, Note
from parpass.runner.travel.slots import BundlesFile, Slots

# Notes are under numbers of processes, which no process has: no system counts so far.
_numbers = itertools.count(1 << 30)


class RunHere:
    """A run, by the folder that it has here.

    Args:
        path: The folder.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = Folder(path)
        self._stages: dict[int, _StageHere] = {}
        self._notes: list[MirroredNote] = []
        self._free: list[MirroredNote] = []  # those of nobody just now

    @property
    def has_ended(self) -> bool:
        """Whether its folder is gone."""
        return not os.path.isdir(self.path)

    def away(self, job: Job) -> tuple[bytes, StageAway]:
        """Return a job with its functions, and what is told of its stage."""
        stage = self._stage(job.stage)
        missing = [at for at in job.functions if at not in job.apart]
        apart = {**stage.packed(missing), **job.apart}
        message = pack_message(replace(job, folder="", apart=apart))
        return message, StageAway(self.path, job.stage, len(stage.slots), None)

    def spec(self, number: int) -> bytes | None:
        """Return what the jobs of a stage have in common; None if it is over."""
        return self._folder.read(spec_name(number))

    def others(self, number: int) -> OthersOf:
        """Return all functions of a stage, as soon as they are written down.

        Raises:
            OSError: It is over.
        """
        slots = self._stage(number).slots
        found = [slots.awaited(at) for at in range(len(slots))]
        content = Path(self.path, functions_name(number)).read_bytes()
        return OthersOf(found, content)

    def note(self) -> MirroredNote:
        """Return a note for a process elsewhere."""
        if self._free:
            return self._free.pop()
        self._notes.append(MirroredNote(self._folder))
        return self._notes[-1]

    def give_back(self, note: MirroredNote) -> None:
        """Take back a note of a job that is done."""
        note.idle()
        self._free.append(note)

    def _stage(self, number: int) -> _StageHere:
        if number not in self._stages:
            self._stages = {number: _StageHere(self._folder, number)}
        return self._stages[number]

    def close(self) -> None:
        """Close what is open."""
        for note in self._notes:
            note.close()


class _StageHere:
    def __init__(self, folder: Folder, number: int) -> None:
        self.slots = Slots.open(folder, slots_name(number))
        open_file = functools.partial(folder.open_reader, functions_name(number))
        self._file = BundlesFile(open_file)

    def packed(self, functions: Sequence[int]) -> dict[int, Packed]:
        return {at: self._file.packed(self.slots[at]) for at in functions}


class MirroredNote(Note):
    """What a process elsewhere has noted, in the folder of the run.

    Attributes:
        number: In place of the number of a process.
    """

    def __init__(self, folder: Folder) -> None:
        self.number = next(_numbers)
        owner = f"{self.number}-{os.urandom(4).hex()}"
        super().__init__(folder, owner)
        self._path = Path(folder.path, f"{FAULT}{owner}")

    def show(self, at: WasAt) -> None:
        """Have the note say what a process is at."""
        since = 0 if at.age is None else time.monotonic_ns() - at.age
        self._put((*at.values, since))

    def show_traceback(self, text: str) -> None:
        """Have it say where the process was."""
        self._path.write_text(text)
