"""A run where it was started: what of it goes elsewhere, and what comes back."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from parpass.adapters.dask.jobs_away import (
    OthersOf,
    Piece,
    StageAway,
    ValueAway,
    WasAt,
)
from parpass.adapters.dask.kept_parts import digest_of
from parpass.runner.travel.bundles import Packed
from parpass.runner.travel.folder import Folder, Ref, StorageError
from parpass.runner.travel.large_values import WorkerValues
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

# Bytes up to which a value goes with the first job that has it: what is asked for comes
# some milliseconds later. A larger one may never be asked for.
_EAGER = 1 << 18


class JobAway(NamedTuple):
    """A job as it goes to another machine.

    Attributes:
        message: The job, its functions in it.
        stage: What is told of its stage.
        values: Large values that are to be there when it begins.
    """

    message: bytes
    stage: StageAway
    values: Sequence[ValueAway]

    @property
    def digests(self) -> list[str]:
        """The digests of all parts."""
        return [self.stage.spec, *(one.digest for one in self.values)]


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
        self._values = WorkerValues(self._folder, f"{next(_numbers)}-dask")
        self._digests: dict[Ref, str] = {}

    @property
    def has_ended(self) -> bool:
        """Whether its folder is gone."""
        return not os.path.isdir(self.path)

    def away(self, job: Job) -> JobAway:
        """Return a job as it goes to another machine.

        Raises:
            OSError: The run is over.
        """
        stage = self._stage(job.stage)
        missing = [at for at in job.functions if at not in job.apart]
        apart = {**stage.packed(missing), **job.apart}
        message = pack_message(replace(job, folder="", apart=apart))
        refs = {ref for one in apart.values() for ref in one.bundle.values}
        values = [self.value(ref) for ref in refs if ref.length <= _EAGER]
        told = StageAway(self.path, job.stage, len(stage.slots), stage.spec_digest)
        return JobAway(message, told, values)

    def value(self, ref: Ref) -> ValueAway:
        """Return what names a large value everywhere.

        Raises:
            OSError: It cannot be had.
        """
        if ref not in self._digests:
            self._digests[ref] = digest_of(self.content(ref))
        return ValueAway(ref, self._digests[ref])

    def content(self, ref: Ref) -> bytes:
        """Return a large value.

        Raises:
            OSError: It cannot be had.
        """
        return bytes(self._values.fetch(ref))

    def part(self, away: JobAway, digest: str) -> bytes:
        """Return a part of a call, by its digest.

        Raises:
            OSError: It cannot be had.
        """
        if digest == away.stage.spec:
            return self._stage(away.stage.number).spec
        return self.content(
            next(one.ref for one in away.values if one.digest == digest)
        )

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Write down large values that were made elsewhere.

        Raises:
            StorageError: There is no room.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        for name, at, content in pieces:
            try:
                fd = os.open(Path(self.path, name), flags, 0o600)
                with open(fd, "wb") as file:
                    file.seek(at)
                    file.write(content)
            except OSError as error:
                raise StorageError(f"{name}: {error.strerror}") from error

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

    def give_back(self, note: MirroredNote, *, reuse: bool) -> None:
        """Take back a note of a job that is done, or was ended.

        Whoever ended a job takes its note to be that of a process that is no more.
        """
        note.idle()
        if reuse:
            self._free.append(note)

    def _stage(self, number: int) -> _StageHere:
        if number not in self._stages:
            self._stages = {number: _StageHere(self._folder, number)}
        return self._stages[number]

    def close(self) -> None:
        """Close what is open."""
        self._values.close()
        for note in self._notes:
            note.close()


class _StageHere:
    def __init__(self, folder: Folder, number: int) -> None:
        spec = folder.read(spec_name(number))
        if spec is None:
            raise FileNotFoundError(spec_name(number))
        self.spec, self.spec_digest = spec, digest_of(spec)
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
