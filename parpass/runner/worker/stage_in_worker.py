"""A stage as a worker runs it: functions in, passes over them, functions out."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from parpass.errors import InternalError
from parpass.runner.stage.memory_guard import memory_guard
from parpass.runner.stage.way import Way
from parpass.runner.stage.work import StageWork
from parpass.runner.travel.bundles import Packed, Packer, UnpackingError
from parpass.runner.travel.errors import pack_error
from parpass.runner.travel.folder import StorageError
from parpass.runner.travel.large_values import NoLargeValues, WorkerValues
from parpass.runner.travel.messages import (
    Job,
    JobResult,
    PackedOutcome,
    StageSpec,
    why_unsendable,
)
from parpass.runner.travel.notes import NoNote, Note, Phase
from parpass.runner.travel.shipment import Shipment, UnloadableError
from parpass.runner.travel.slots import FunctionsFile, Slot, Slots
from parpass.runner.worker.job_clock import JobClock
from parpass.runner.worker.pass_state import PassState
from parpass.tables import take_missed
from parpass.transform import ModuleAdapter
from parpass.transform.budget import limits_in_force
from parpass.transform.optimizations import optimizations_in
from parpass.transform.saying.interception import intercepting
from parpass.transform.saying.record import function_pass_body

_BATCH_BYTES = 131_072  # of small functions that go through a step one after the other

_Entries = Sequence[tuple[int, Slot | Packed]]


class RunInWorker(Protocol):
    """What a stage is part of."""

    @property
    def values(self) -> WorkerValues | NoLargeValues:
        """Its large values."""
        ...

    @property
    def note(self) -> Note:
        """Where to note what is worked on."""
        ...

    @property
    def is_elsewhere(self) -> bool:
        """Whether files are in other places than where it was started."""
        ...

    @property
    def is_brief(self) -> bool:
        """Whether its jobs are likely to be over in some microseconds."""
        ...

    def slots(self, number: int) -> Slots:
        """Return where the functions of a stage are."""
        ...

    def functions(self, number: int) -> int:
        """Return the descriptor of the file with the functions of a stage."""
        ...


class ApartFromRuns:
    """In place of a run, for a stage that came whole, in a message."""

    is_brief = True
    is_elsewhere = False

    def __init__(self) -> None:
        self.values = NoLargeValues(math.inf)
        self.note = NoNote()

    def slots(self, number: int) -> Slots:
        """There are none."""
        raise InternalError("all functions of an errand come with it")

    functions: Any = slots


class StageInWorker:
    """A stage as a worker runs it, job by job.

    Args:
        number: Its number in the run.
        run: The run.
        published: What its jobs have in common, as bytes.
        is_own_process: Whether this is a worker's own process, in which much may be
            set; else it is a thread that stands for one.

    Attributes:
        number: The same as the argument.

    Raises:
        UnloadableError: Something in it cannot be loaded here.
    """

    def __init__(
        self, number: int, run: RunInWorker, published: bytes, *, is_own_process: bool
    ) -> None:
        self._is_own_process = is_own_process
        self.number = number
        self._run = run
        self._shipment = Shipment(
            published, follows=is_own_process, elsewhere=run.is_elsewhere
        )
        self._spec: StageSpec = self._shipment.spec
        self._context = self._spec.snapshot.context()
        self._optimizations = optimizations_in(self._context.config)
        run.values.large = self._optimizations.large_value_bytes
        try:
            self._module = self._spec.adapter.decode_shell(self._spec.shell)
            self._environment = self._spec.adapter.worker_environment(self._module)
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
            memory_guard if is_own_process else None,
            budgets=self._spec.budgets,
            doubted=self._spec.doubted,
        )
        self._file = FunctionsFile(
            functools.partial(run.functions, number),
            self._spec.adapter,
            run.values,
            self._module,
        )
        self._unloadable: UnloadableError | None = None
        kind = type(self._spec.adapter)
        self._discards = kind.discard is not ModuleAdapter.discard

    def close(self) -> None:
        """Let go of all that it has loaded."""
        self._work.close()
        self._environment = None
        self._shipment.close()
        self._file.close()

    def run_job(self, job: Job) -> JobResult:
        """Run the passes on the functions of a job."""
        is_own = self._is_own_process
        clock = JobClock(is_own_process=is_own, is_brief=self._run.is_brief)
        self._shipment.put_in_force()
        state = PassState(self._spec.steps)
        outcomes: list[PackedOutcome] = []
        together = self._optimizations.bundles
        packer = Packer(self._spec.adapter, self._run.values, together=together)
        names = self._spec.names
        self._given.update({names[at]: one for at, one in job.apart.items()})
        self._work.verdicts = job.verdicts
        self._work.end = min(self._work.end, job.end)
        snapshot = self._spec.snapshot
        if is_own:
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
                ways = [Way(names[index]) for index, _ in batch]
                is_first = not outcomes and len(job.functions) > 1
                self._run_steps(ways, state if is_first else None)
                for (index, _), way in zip(batch, ways, strict=True):
                    outcomes.append(self._outcome(index, way, packer))
        packer.close()
        return JobResult(outcomes, clock.times(), state.look())

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

    def _run_steps(self, ways: Sequence[Way], state: PassState | None) -> None:
        """Run the steps on functions, each on all of them before the next one.

        Args:
            ways: Those of the functions.
            state: To be asked to look after the first function, which may have passes
                make what they then keep; None if there is nothing to compare with.
        """
        under_way = ways
        while under_way:
            going_on: list[Way] = []
            for way in under_way:
                if self._work.step(way):
                    going_on.append(way)
                    self._check()
                if way is ways[0] and state is not None:
                    state.look()
            under_way = going_on

    def _check(self) -> None:
        """Raise what keeps the functions of a job from being run in this process."""
        if self._run.values.failure is not None:
            raise self._run.values.failure
        missed = take_missed()
        if missed is not None:
            raise UnloadableError(*missed)
        if self._unloadable is not None:  # which a body has met, and passed on
            raise self._unloadable

    def _outcome(self, index: int, way: Way, packer: Packer) -> PackedOutcome:
        name, note, outcome = way.name, self._run.note, way.outcome
        original = self._loaded.pop(name, way.original)
        result, failure = None, outcome.failure
        is_same = outcome.function is original
        is_done = failure is None and len(outcome.seconds) == len(self._spec.steps)
        if is_done and not is_same:
            note.write(index, len(outcome.seconds) - 1, Phase.PICKLE)
            try:
                result = packer.pack(outcome.function)
            except StorageError:
                raise
            except Exception as error:
                raise why_unsendable(name, outcome.function, error) from error
        if self._discards:
            self._discard(name, original, outcome.function)
        failed = None if failure is None else pack_error(failure)
        return PackedOutcome(
            index,
            result,
            outcome.seconds,
            outcome.said,
            failed,
            tuple(outcome.relied_on),
            outcome.has_new_signature,
        )

    def _discard(self, name: str, *functions: Any) -> None:
        for one in {id(one): one for one in functions if one is not None}.values():
            if not self._work.remembers(name, one):
                self._spec.adapter.discard(one)

    def _load(self, name: str) -> Any:
        if name in self._loaded:
            # A box is given out once: who has it may take out what is in it.
            boxes = self._spec.adapter.are_boxes
            return self._loaded.pop(name) if boxes else self._loaded[name]
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

    Code that has just run is faster than code that runs after milliseconds of something
    else: unpickling twice as fast after unpickling as after a pass, a pass by a
    twentieth after itself.
    """
    begin, size = 0, 0
    for at, (_, given) in enumerate(functions):
        size += given.size
        if size > _BATCH_BYTES and at > begin:
            yield functions[begin:at]
            begin, size = at, given.size
    yield functions[begin:]
