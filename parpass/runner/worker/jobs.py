"""The worker's side: runs one job after the other.

Called in the processes of the pool by the executor. It must never import trio or loky
itself. It keeps what belongs to a run, and to the run's present stage, from one job to
the next; jobs of several runs may alternate.
"""

from __future__ import annotations

import contextvars
import functools
import gc
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from parpass.errors import InternalError
from parpass.runner.stage.memory_guard import memory_guard
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.bundles import Packed, Packer, UnpackingError
from parpass.runner.travel.errors import pack_error
from parpass.runner.travel.folder import Folder, StorageError
from parpass.runner.travel.large_values import NoLargeValues, WorkerValues
from parpass.runner.travel.messages import (
    Errand,
    Job,
    JobResult,
    Outcome,
    StageSpec,
    functions_name,
    pack_message,
    slots_name,
    spec_name,
    unpack_message,
    why_unsendable,
)
from parpass.runner.travel.notes import NoNote, Note, Phase, let_faults_be
from parpass.runner.travel.shipment import Shipment, UnloadableError
from parpass.runner.travel.slots import FunctionsFile, Slot, Slots
from parpass.runner.worker.orphans import end_with_parent
from parpass.runner.worker.pass_state import PassState
from parpass.tables import take_missed
from parpass.transform.budget import limits_in_force
from parpass.transform.optimizations import optimizations_in
from parpass.transform.plan.apply import function_pass_body
from parpass.transform.saying.interception import intercepting

_BATCH_BYTES = 8_192  # of small functions that are unpickled one after the other

_Entries = Sequence[tuple[int, Slot | Packed]]

_runs: dict[str, _Run] = {}  # by folder
_caught_by: _Run | None = None  # the run that learns of faults of this process
_working = threading.Lock()  # held while a job is run
_is_own_process = False  # else it is a thread that stands for one


def begin(coordinator: int) -> None:
    """Have this process, a worker's own, end soon after its coordinator."""
    global _is_own_process
    _is_own_process = True
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
    stage = _Stage(0, _Apart(), errand.spec)
    try:
        return pack_message(stage.run_job(errand.job))
    finally:
        stage.close()


def _forget_ended_runs() -> None:
    for path in [path for path in _runs if not os.path.isdir(path)]:
        _runs.pop(path).close()


class _Run:
    """What lasts as long as a run: the folder, its large values, the note."""

    def __init__(self, path: str) -> None:
        # A process that died may have had the same number.
        owner = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.folder = Folder(path)
        self.values = WorkerValues(self.folder, owner)
        self.note = Note(self.folder, owner)
        self._stage: _Stage | None = None

    def stage(self, number: int) -> _Stage:
        """Return a stage; the one before it is over then."""
        if self._stage is None or self._stage.number != number:
            self._end_stage()
            published = self.folder.read(spec_name(number))
            if published is None:
                raise InternalError("a job came before the spec of its stage")
            self._stage = _Stage(number, self, published)
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


class _Apart:
    """In place of a run, for a stage that came whole, in a message."""

    def __init__(self) -> None:
        self.values = NoLargeValues(math.inf)
        self.note = NoNote()

    def slots(self, number: int) -> Slots:
        raise InternalError("all functions of an errand come with it")

    functions: Any = slots


class _Stage:
    def __init__(self, number: int, run: _Run | _Apart, published: bytes) -> None:
        self.number = number
        self._run = run
        self._shipment = Shipment(published, follows=_is_own_process)
        self._spec: StageSpec = self._shipment.spec
        self._context = self._spec.snapshot.context()
        self._optimizations = optimizations_in(self._context.config)
        run.values.large = self._optimizations.large_value_bytes
        try:
            self._module = self._spec.adapter.decode_shell(self._spec.shell)
        except Exception as error:
            raise UnloadableError.of("the module", error) from error
        # Of functions in jobs of this worker.
        self._given: dict[str, Slot | Packed] = {}
        self._loaded: dict[str, Any] = {}
        self._work = StageWork(
            self._spec.steps,
            self._context,
            self._spec.adapter,
            self._module,
            self._spec.names,
            self._load,
            run.note,
            memory_guard if _is_own_process else None,
            budgets=self._spec.budgets,
            assumes=self._spec.assumes,
        )
        self._file = FunctionsFile(
            functools.partial(run.functions, number),
            self._spec.adapter,
            run.values,
            self._module,
        )
        self._unloadable: UnloadableError | None = None

    def close(self) -> None:
        self._work.close()
        self._shipment.close()
        self._file.close()

    def run_job(self, job: Job) -> JobResult:
        began = time.perf_counter()
        self._shipment.put_in_force()
        state = PassState(self._spec.steps)
        outcomes: list[Outcome] = []
        together = self._optimizations.bundles
        packer = Packer(self._spec.adapter, self._run.values, together=together)
        self._work.verdicts = job.verdicts
        self._work.end = min(self._work.end, job.end)
        snapshot = self._spec.snapshot
        if _is_own_process:
            if not self._optimizations.resting_collector:
                gc.enable()
            snapshot.logging.apply()
        with (
            snapshot.in_force(self._context),
            limits_in_force(self._spec.limits),
            function_pass_body(),
            intercepting(),
        ):
            for batch in _batches(self._entries(job)):
                for index, given in batch:
                    self._unpickle(index, given)
                for index, _ in batch:
                    outcomes.append(self._outcome(index, packer))
                    if len(outcomes) == 1:  # it may make what it then keeps
                        state.look()
        packer.close()
        return JobResult(outcomes, time.perf_counter() - began, state.look())

    @functools.cached_property
    def _slots(self) -> Slots:
        return self._run.slots(self.number)

    def _entries(self, job: Job) -> _Entries:
        """Return each function of a job with where it is, or itself."""
        return [(at, job.apart.get(at) or self._slots[at]) for at in job.functions]

    def _unpickle(self, index: int, given: Slot | Packed) -> None:
        name = self._spec.names[index]
        self._given[name] = given
        if not self._work.steps_on(name):
            return
        self._run.note.write(index, 0, Phase.UNPICKLE)
        self._loaded[name] = self._load(name)

    def _outcome(self, index: int, packer: Packer) -> Outcome:
        name, note = self._spec.names[index], self._run.note
        outcome = self._work.run(name)
        if self._run.values.failure is not None:
            raise self._run.values.failure
        missed = take_missed()
        if missed is not None:
            raise UnloadableError(*missed)
        if self._unloadable is not None:  # which a body has met, and passed on
            raise self._unloadable
        original = self._loaded.pop(name, None)
        result, failure = None, outcome.failure
        is_same = outcome.function is original and self._optimizations.unchanged_marks
        is_done = failure is None and len(outcome.seconds) == len(self._spec.steps)
        if is_done and not is_same:
            note.write(index, len(outcome.seconds) - 1, Phase.PICKLE)
            try:
                result = packer.pack(outcome.function)
            except StorageError:
                raise
            except Exception as error:
                raise why_unsendable(name, outcome.function, error) from error
        failed = None if failure is None else pack_error(failure)
        return Outcome(
            index,
            result,
            outcome.seconds,
            outcome.said,
            failed,
            outcome.looked_at_others,
            outcome.has_new_signature,
        )

    def _load(self, name: str) -> Any:
        if name in self._loaded:
            return self._loaded[name]
        given = self._given[name] if name in self._given else self._awaited(name)
        try:
            return self._file.function(given)
        except StorageError:
            raise
        except UnpackingError as failed:  # another one of its bundle
            assert isinstance(given, Slot)
            index = self._slots.function_at(given.offset, failed.at)
            name, error = self._spec.names[index], failed.error
        except Exception as raised:  # noqa: BLE001 -- raised again
            error = raised
        self._unloadable = UnloadableError.of(f"function '{name}'", error)
        raise self._unloadable from error

    def _awaited(self, name: str) -> Slot:
        """Return where another function is, as soon as it is written down."""
        index = self._work.names()[name]
        if self._slots.is_filled(index):
            return self._slots[index]
        outer = self._run.note.wait()
        slot = self._slots.awaited(index)
        self._run.note.leave(outer)
        return slot


def _batches(functions: _Entries) -> Iterator[_Entries]:
    """Yield functions in parts: small ones together, large ones alone.

    Code that has just run is twice as fast as code that runs after milliseconds of
    something else, such as a pass.
    """
    begin, size = 0, 0
    for at, (_, given) in enumerate(functions):
        size += given.size
        if size > _BATCH_BYTES and at > begin:
            yield functions[begin:at]
            begin, size = at, given.size
    yield functions[begin:]
