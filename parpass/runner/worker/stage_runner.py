"""The stage runner of a worker: decodes functions, runs the passes, encodes results."""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from parpass.replicated_tables import take_missing
from parpass.runner.follow.payload import (
    StagePayload,
    UnloadableError,
    UnsendableError,
)
from parpass.runner.ipc.batch import (
    BatchDecodeError,
    EncodedFunction,
    EncodedFunctions,
    FunctionEncoder,
    decode,
)
from parpass.runner.ipc.blobs import WorkerBlobStore
from parpass.runner.ipc.function_file import StageFunctions
from parpass.runner.ipc.function_outcome import FunctionOutcome, Verdicts, with_versions
from parpass.runner.ipc.messages import Findings, Job, JobResult, JobTimeline, StageSpec
from parpass.runner.ipc.shared_dir import SharedDirectory, StorageError
from parpass.runner.ipc.status_board import Phase, StatusSlot
from parpass.runner.stage.call_recorder import (
    DECODING,
    ENCODING,
    LOADING,
    CallRecorder,
)
from parpass.runner.stage.interpreter import FunctionCursor, StageInterpreter
from parpass.runner.worker.monitor import JobTimer, PassStateMonitor
from parpass.transform.budget import enforcing_budgets, in_worker, setting_limits
from parpass.transform.checked_adapter import overrides, violations_of
from parpass.transform.config import optimizations_in
from parpass.transform.mutability import copying_seconds

if TYPE_CHECKING:
    from parpass.transform.capture.pass_memory import PassMemory

_BATCH_BYTES = 131_072  # of small functions that go through a step together


class StageRunner:
    """Runs the jobs of one stage in a worker; owns the payload and decoded functions.

    Args:
        number: The number of the stage in its run.
        payload: The encoded payload.
        folder: The shared directory of the run, with the files of the stage.
        values: The large values of the run.
        slot: The status slot of this worker.
        is_own_process: Whether the process runs only this worker, so that process-wide
            state may be set; False in a thread that acts as a worker.

    Raises:
        UnloadableError: A part of the payload cannot be loaded in this process.
    """

    def __init__(
        self,
        number: int,
        payload: bytes,
        folder: SharedDirectory,
        values: WorkerBlobStore,
        slot: StatusSlot,
        *,
        is_own_process: bool,
    ) -> None:
        self._load_began: float | None = time.perf_counter()  # None once recorded
        self._is_own_process = is_own_process
        self.number = number
        self._folder, self._values, self._slot = folder, values, slot
        self._on_other_machine = folder.on_other_machine
        self._payload = StagePayload(
            payload,
            follows=is_own_process,
            other_machine=self._on_other_machine,
            on_step=slot.load,
        )
        spec: StageSpec = self._payload.spec
        self._spec, self._adapter = spec, spec.adapter
        self._context = spec.snapshot.context()
        self._optimizations = optimizations_in(self._context.config)
        values.min_bytes = self._optimizations.large_value_bytes
        try:
            self._module = self._adapter.decode_shell(spec.shell)
            self._environment = self._adapter.worker_environment(self._module)
        except Exception as error:
            raise UnloadableError.of("the module", error) from error
        self._functions = StageFunctions(folder, number, slot)
        self._loaded: dict[str, Any] = {}
        with setting_limits(spec.limits):
            self._work = StageInterpreter(
                spec.steps,
                self._context,
                self._adapter,
                self._module,
                spec.names,
                self._load,
                slot,
                is_restoring=spec.is_restoring,
                unstable=spec.unstable,
                recording=spec.recording,
            )
        self._unloadable: UnloadableError | None = None
        self._recorder: CallRecorder | None = None  # of the job that runs
        self._discards = overrides(self._adapter, "discard")

    def close(self) -> None:
        self._work.close()
        self._environment = None
        self._payload.close()
        self._functions.close()

    def run_job(self, job: Job) -> bytes:
        """Run the passes on the functions of a job; return the encoded `JobResult`.

        A batch of functions goes through the passes together, each pass on all of them
        in turn.

        Raises:
            UnloadableError: A function, or an entry of a replicated table, cannot be
                loaded in this process.
            StorageError: The shared directory is full, or cannot be read or written.
        """
        timer = JobTimer(
            is_own_process=self._is_own_process, is_short=job.spec is not None
        )
        copied = copying_seconds(self._adapter)
        violations = violations_of(self._adapter)
        violations.clear()  # those of the job before are told
        recorder = self._recorder = self._begin_recording()
        self._payload.activate()
        state = PassStateMonitor(self._spec.steps)
        outcomes: dict[int, FunctionOutcome] = {}
        changed: dict[int, EncodedFunction] = {}
        versions: dict[int, EncodedFunction] = {}
        together = self._optimizations.batches
        encoder, others = (
            FunctionEncoder(self._adapter, self._values.put, together=together)
            for _ in range(2)
        )
        self._functions.attach(job.attached)
        verdicts: Verdicts = pickle.loads(job.quarantined) if job.quarantined else {}
        self._work.quarantined = verdicts
        self._work.cutoff = min(self._work.cutoff, job.cutoff)
        in_force = self._spec.snapshot.activated(self._context, self._spec.limits)
        with (
            in_force,
            self._enforcing(),
            self._measuring_memory() as memory,
        ):
            for batch in self._batches(job.functions):
                cursors = self._begin_all(batch)
                self._work.run(cursors, self._step_ended)
                if not outcomes and len(batch) < len(job.functions):
                    # On the first function passes may set attributes lazily.
                    state.sample()
                if self._context.change_watch is not None:
                    for cursor in cursors:
                        self._encode_versions(cursor, others, versions)
                changed |= self._encode_changed(batch, cursors, encoder)
                for index, cursor in zip(batch, cursors, strict=True):
                    outcomes[index] = cursor.outcome
        encoder.close()
        others.close()
        timeline = None if recorder is None else self._timeline(recorder)
        times = timer.times(copying_seconds(self._adapter) - copied)
        return JobResult(
            outcomes,
            times,
            EncodedFunctions(changed),
            Findings(state.sample(), [*violations.values()], memory),
            timeline,
            EncodedFunctions(versions),
        ).encoded()

    def _enforcing(self) -> AbstractContextManager[object]:
        if not self._is_own_process:
            return contextlib.nullcontext()
        return enforcing_budgets(in_worker)

    def _measuring_memory(self) -> AbstractContextManager[PassMemory | None]:
        if not self._spec.snapshot.measures_memory:
            return contextlib.nullcontext()
        # Few ask for it.
        from parpass.transform.capture.memory_meter import measuring_memory

        return measuring_memory(self._context)

    def _begin_recording(self) -> CallRecorder | None:
        if not self._spec.traced:
            return None
        recorder = CallRecorder(self._load_began)
        if self._load_began is not None:  # loading is part of the first job
            recorder.add(self._load_began, LOADING)
            self._load_began = None
        return recorder

    def _step_ended(self, cursor: FunctionCursor) -> None:
        """Record a step; raise the error that prevents the job, if there is one."""
        if self._recorder is not None:
            seconds = cursor.outcome.seconds
            self._recorder.add_steps(cursor.index, seconds, len(seconds) - 1)
        if self._values.failure is not None:
            raise self._values.failure
        missed = take_missing()
        if missed is not None:
            raise UnloadableError(*missed)
        if self._unloadable is not None:  # a pass body may have swallowed it
            raise self._unloadable

    def _timeline(self, recorder: CallRecorder) -> JobTimeline:
        return JobTimeline(
            os.getpid(),
            0 if self._is_own_process else threading.get_ident(),
            platform.node() if self._on_other_machine else "",
            recorder.began,
            time.perf_counter(),
            recorder.encoded(),
        )

    def _batches(self, functions: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield the functions in batches: small ones together, large ones alone.

        The first one is alone, too: passes set up what the others use.

        Batches keep the caches warm: unpickling is twice as fast directly after
        unpickling as after a pass, and a pass is faster by a twentieth directly after
        itself.
        """
        begin, size = 0, 0
        for at, index in enumerate(functions):
            own = self._functions.size(index)
            size += own
            if at == 1 or (size > _BATCH_BYTES and at > begin):
                yield functions[begin:at]
                begin, size = at, own
        yield functions[begin:]

    def _begin_all(self, batch: Sequence[int]) -> list[FunctionCursor]:
        began = time.perf_counter()
        cursors = list(map(self._begin, batch))
        if self._recorder is not None:
            self._recorder.add(began, DECODING)
        return cursors

    def _encode_changed(
        self,
        batch: Sequence[int],
        cursors: Sequence[FunctionCursor],
        encoder: FunctionEncoder,
    ) -> dict[int, EncodedFunction]:
        """Return the functions that passes changed, by index; outcomes lose theirs."""
        began = time.perf_counter()
        changed: dict[int, EncodedFunction] = {}
        for index, cursor in zip(batch, cursors, strict=True):
            encoded = self._encode_if_changed(index, cursor, encoder)
            if encoded is not None:
                changed[index] = encoded
            cursor.outcome.function = None
        if self._recorder is not None:
            self._recorder.add(began, ENCODING)
        return changed

    def _encode_versions(
        self,
        cursor: FunctionCursor,
        encoder: FunctionEncoder,
        versions: dict[int, EncodedFunction],
    ) -> None:
        """Add the functions of changes that are not printed; these get their number."""

        def number(function: Any) -> int | None:
            if function is None:
                return None
            versions[len(versions)] = self._encode(cursor.name, function, encoder)
            return len(versions) - 1

        outcome = cursor.outcome
        outcome.effects = with_versions(outcome.effects, number, None)

    def _begin(self, index: int) -> FunctionCursor:
        """Decode a function, if a step is run on it; return its cursor."""
        name = self._spec.names[index]
        if self._work.steps_on(name):
            self._slot.write(index, 0, Phase.UNPICKLE)
            known = self._work.versions.read_original(name)
            self._loaded[name] = self._load(name) if known is None else known
        return FunctionCursor(name, index)

    def _encode_if_changed(
        self, index: int, cursor: FunctionCursor, encoder: FunctionEncoder
    ) -> EncodedFunction | None:
        name, slot, outcome = cursor.name, self._slot, cursor.outcome
        original = self._loaded.pop(name, cursor.original)
        result = None
        is_same = outcome.function is original
        has_all = len(outcome.seconds) == len(self._spec.steps)
        if has_all and outcome.failure is None and not is_same:
            slot.write(index, len(outcome.seconds) - 1, Phase.PICKLE)
            result = self._encode(name, outcome.function, encoder)
        if self._discards:
            self._discard(name, original, outcome.function)
        return result

    def _encode(
        self, name: str, function: Any, encoder: FunctionEncoder
    ) -> EncodedFunction:
        try:
            return encoder.encode(function)
        except StorageError:
            raise
        except Exception as error:
            raise UnsendableError.of_function(name, function, error) from error

    def _discard(self, name: str, *functions: Any) -> None:
        for one in {id(one): one for one in functions if one is not None}.values():
            if not self._work.versions.is_cached(name, one):
                self._adapter.discard(one)

    def _load(self, name: str) -> Any:
        if name in self._loaded:
            # A pass that consumes its argument owns it: it is given to no other.
            boxes = self._adapter.consumes_functions
            return self._loaded.pop(name) if boxes else self._loaded[name]
        index = self._work.versions.index[name]
        self._functions.wait_for(index)
        try:
            encoded = self._functions.read(index)
            return decode(encoded, self._adapter, self._values.source, self._module)
        except StorageError:
            raise
        except BatchDecodeError as failed:  # an earlier function of the same batch
            earlier = self._functions.batch_member(index, failed.at)
            name = name if earlier is None else self._spec.names[earlier]
            error = failed.error
        except Exception as raised:  # noqa: BLE001 -- raised again
            error = raised
        self._unloadable = UnloadableError.of(f"function '{name}'", error)
        raise self._unloadable from error
