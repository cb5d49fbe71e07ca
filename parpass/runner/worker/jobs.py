"""The worker's side: runs one job after the other.

Called in the processes of the pool by the executor. It must never import trio or loky
itself. It keeps what belongs to a run, and to the run's present stage, from one job to
the next; jobs of several runs may alternate.
"""

from __future__ import annotations

import contextvars
import gc
import math
import os
import threading
from collections.abc import Callable

from parpass.errors import InternalError
from parpass.runner.travel.brought import is_elsewhere
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.large_values import WorkerValues
from parpass.runner.travel.messages import (
    Errand,
    Job,
    functions_name,
    pack_message,
    slots_name,
    spec_name,
    unpack_message,
)
from parpass.runner.travel.notes import Note, Phase, let_faults_be
from parpass.runner.travel.slots import Slots
from parpass.runner.worker.alarm import ending_after
from parpass.runner.worker.orphans import end_with_parent
from parpass.runner.worker.stage_in_worker import ApartFromRuns, StageInWorker

_runs: dict[str, _Run] = {}  # by folder
_caught_by: _Run | None = None  # the run that learns of faults of this process
_working = threading.Lock()  # held while a job is run
_is_own_process = False  # else it is a thread that stands for one


def begin_worker(coordinator: int) -> None:
    """Have this process be a worker's: it follows its coordinator, and ends with it.

    For executors: called once in each process of theirs, before its first job.

    Args:
        coordinator: The process that started this one.
    """
    global _is_own_process
    _is_own_process = True
    gc.freeze()  # modules stay: to look for garbage in them takes as long as a pass
    end_with_parent(
        coordinator, lambda: [run.folder for run in list(_runs.values())], _let_go
    )


def run_job(packed_job: bytes) -> bytes:
    """Run a job; an entry point of a worker. Takes a Job, returns a JobResult."""
    return _run(_run_job, packed_job)


def run_errand(packed_errand: bytes) -> bytes:
    """Run a stage that came whole. Takes an Errand, returns a JobResult."""
    return _run(_run_errand, packed_errand)


def _run(what: Callable[[bytes], bytes], message: bytes) -> bytes:
    # What pass bodies and imports set in contextvars ends with the job.
    run = contextvars.copy_context().run
    if not (_is_own_process and gc.isenabled()):
        return run(what, message)
    # Most objects here live until the job ends or are freed by their count; looking
    # for cycles among them takes a quarter of the time and finds none.
    gc.disable()
    try:
        with _working:
            return run(what, message)
    finally:
        gc.enable()


def _let_go() -> None:
    """Let go of passes and modules whose stage is over, between two jobs."""
    if not _working.acquire(blocking=False):
        return
    try:
        ended = len(_runs)
        _forget_ended_runs()
        ended -= len(_runs)
        if ended + sum([run.let_go() for run in _runs.values()]):
            gc.collect()  # classes that travelled by value refer to themselves
    finally:
        _working.release()


def _run_job(packed_job: bytes) -> bytes:
    job: Job = unpack_message(packed_job)
    if job.folder not in _runs:
        _forget_ended_runs()
        _runs[job.folder] = _Run(job.folder)
    run = _runs[job.folder]
    run.catch_faults()
    run.note.write(job.functions[0], 0, Phase.START)
    try:
        result = pack_message(run.stage(job.stage).run_job(job))
    except Exception:
        run.note.idle()
        raise
    run.note.idle()
    return result


def _run_errand(packed_errand: bytes) -> bytes:
    errand: Errand = unpack_message(packed_errand)
    # Nobody looks on: there is no note of it.
    with ending_after(errand.start_seconds if _is_own_process else math.inf):
        stage = StageInWorker(
            0, ApartFromRuns(), errand.spec, is_own_process=_is_own_process
        )
    try:
        return pack_message(stage.run_job(errand.job))
    finally:
        stage.close()


def _forget_ended_runs() -> None:
    for path in [path for path in _runs if not os.path.isdir(path)]:
        _runs.pop(path).close()


class _Run:
    """What lasts as long as a run: the folder, its large values, the note."""

    is_brief = False

    def __init__(self, path: str) -> None:
        # A process that died may have had the same number.
        owner = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.folder = Folder(path)
        self.is_elsewhere = is_elsewhere(self.folder)
        self.values = WorkerValues(self.folder, owner)
        self.note = Note(self.folder, owner)
        self._stage: StageInWorker | None = None

    def stage(self, number: int) -> StageInWorker:
        """Return a stage; the one before it is over then."""
        if self._stage is None or self._stage.number != number:
            self._end_stage()
            published = self.folder.read(spec_name(number))
            if published is None:
                raise InternalError("a job came before the spec of its stage")
            self._stage = StageInWorker(
                number, self, published, is_own_process=_is_own_process
            )
        return self._stage

    def slots(self, number: int) -> Slots:
        """Return where the functions of a stage are, as they are written down."""
        return Slots.open(self.folder, slots_name(number))

    def functions(self, number: int) -> int:
        """Return the descriptor of the file with the functions of a stage."""
        return self.folder.open_reader(functions_name(number))

    def let_go(self) -> bool:
        """Let go of the stage if it is over; return whether it was."""
        stage = self._stage
        if stage is None or self.folder.has(spec_name(stage.number)):
            return False
        self._end_stage()
        return True

    def catch_faults(self) -> None:
        global _caught_by
        if _is_own_process and _caught_by is not self:
            self.note.catch_faults()
            _caught_by = self

    def close(self) -> None:
        global _caught_by
        if _caught_by is self:
            let_faults_be()
            _caught_by = None
        self._end_stage()
        self.note.close()
        self.values.close()

    def _end_stage(self) -> None:
        if self._stage is not None:
            self._stage.close()
            self._stage = None
