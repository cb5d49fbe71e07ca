"""The worker's side: runs one job after the other.

Called in the processes of the pool by the executor. It must never import trio or loky
itself, and keeps nothing from one stage to the next.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from typing import Any

from parpass.errors import InternalError
from parpass.runtime.packing import (
    Index,
    Job,
    JobResult,
    Outcome,
    Packed,
    StageSpec,
    index_name,
    pack,
    pack_error,
    pack_message,
    spec_name,
    unpack,
    unpack_message,
)
from parpass.runtime.stage import StageWork
from parpass.runtime.store import Buffers, Folder, Note, Ref
from parpass.transform import Pass
from parpass.transform.apply import function_pass_body

_INDEX_POLL = 0.001  # seconds between two looks for the index of a stage

_present: _Stage | None = None


def run_job(packed_job: bytes) -> bytes:
    """Run a job; the entry point of a worker. Takes a Job, returns a JobResult."""
    global _present
    job: Job = unpack_message(packed_job)
    # Most objects here live until the job ends or are freed by their count; looking
    # for cycles among them takes a quarter of the time and finds none.
    gc.disable()
    try:
        if _present is None or _present.key != (job.folder, job.stage):
            run = _present.run if _present and _present.run.matches(job) else _Run(job)
            _present = _Stage(job, run)
        return pack_message(_present.run_job(job))
    finally:
        gc.enable()


class _Run:
    """What lasts as long as a run: the folder, its buffers, the note."""

    def __init__(self, job: Job) -> None:
        self.folder = Folder(job.folder)
        self.buffers = Buffers(self.folder, str(os.getpid()), keeps_originals=False)
        self.note = Note(self.folder)

    def matches(self, job: Job) -> bool:
        return self.folder.path == job.folder


class _Stage:
    def __init__(self, job: Job, run: _Run) -> None:
        self.key = (job.folder, job.stage)
        self.run = run
        published = run.folder.read(spec_name(job.stage))
        if published is None:
            raise InternalError("a job came before the spec of its stage")
        self._spec: StageSpec = unpack_message(published)
        self._context = self._spec.snapshot.context()
        self._module = self._spec.adapter.decode_shell(self._spec.shell)
        self._places: dict[str, tuple[Ref, tuple[Ref, ...]]] = {}
        self._index: Index | None = None
        self._fds: dict[str, int] = {}
        self._loaded: dict[str, Any] = {}
        positions = {name: at for at, name in enumerate(self._spec.names)}
        self._work = StageWork(
            self._spec.steps,
            self._context,
            self._spec.adapter,
            self._module,
            self._spec.names,
            self._load,
            lambda name, step: run.note.write(positions[name], step),
        )

    def run_job(self, job: Job) -> JobResult:
        began = time.perf_counter()
        before = _attributes(self._spec.steps)
        outcomes: list[Outcome] = []
        with self._spec.snapshot.in_force(self._context), function_pass_body():
            for index, place, buffers in job.functions:
                name = self._spec.names[index]
                self._places[name] = (place, buffers)
                outcomes.append(self._run(index, name))
        self.run.note.write(-1, -1)
        written = [
            (self._spec.steps[at].info.name, attribute)
            for (at, attribute), value in _attributes(self._spec.steps).items()
            if (at, attribute) not in before or before[at, attribute] is not value
        ]
        return JobResult(outcomes, time.perf_counter() - began, written)

    def _run(self, index: int, name: str) -> Outcome:
        self.run.note.write(index, 0)
        original = self._loaded[name] = self._load(name)
        outcome = self._work.run(name)
        del self._loaded[name]
        failure = None if outcome.failure is None else pack_error(outcome.failure)
        result = None
        if failure is None and outcome.function is not original:
            result = pack(outcome.function, self._spec.adapter, self.run.buffers)
        return Outcome(index, result, outcome.steps, failure)

    def _load(self, name: str) -> Any:
        if name in self._loaded:
            return self._loaded[name]
        place, buffers = self._places[name] if name in self._places else self._at(name)
        if place.file not in self._fds:
            self._fds[place.file] = self.run.folder.open_reader(place.file)
        payload = os.pread(self._fds[place.file], place.length, place.offset)
        packed = Packed(payload, buffers)
        return unpack(packed, self._spec.adapter, self.run.buffers, self._module)

    def _at(self, name: str) -> tuple[Ref, tuple[Ref, ...]]:
        """Return where another function is, waiting until all are written down.

        The coordinator publishes the index when it has packed the last function. Only
        a pass that reads another function in the first moments of a stage waits here.
        """
        while self._index is None:
            published = self.run.folder.read(index_name(self.key[1]))
            if published is not None:
                self._index = unpack_message(published)
            else:
                time.sleep(_INDEX_POLL)
        return self._index[name]

    def __del__(self) -> None:
        for fd in self._fds.values():
            os.close(fd)


def _attributes(steps: Sequence[Pass]) -> dict[tuple[int, str], Any]:
    """Return the attributes of passes, to see whether a pass wrote to itself."""
    found: dict[tuple[int, str], Any] = {}
    for at, step in enumerate(steps):
        inner = getattr(step, "_inst", None)
        for holder in (step, inner):
            for name, value in getattr(holder, "__dict__", {}).items():
                found[at, name] = value
    return found
