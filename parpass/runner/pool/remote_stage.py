"""A stage that runs on a pool: its payload, its functions, its jobs, their results.

It knows no event loop. The coordinator calls its methods in threads, never two at the
same time that write.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parpass.runner.cost_model import BYTES_PER_NODE, COST_MODEL
from parpass.runner.executor import DEFAULT_START_SECONDS
from parpass.runner.ipc.batch import EncodedFunction
from parpass.runner.ipc.function_file import FunctionIndex
from parpass.runner.ipc.messages import (
    FunctionOutcome,
    Job,
    JobResult,
    StageSpec,
    encode_message,
    spec_file_name,
)
from parpass.runner.ipc.module_store import (
    FunctionHandle,
    ModuleStore,
    StoredModule,
    in_gc_pauses,
)
from parpass.runner.ipc.payload import encode_payload
from parpass.runner.ipc.pickling import decode_error
from parpass.runner.ipc.snapshot import Snapshot
from parpass.runner.pool.failure_attribution import FailureAttribution
from parpass.runner.pool.scheduler_events import FunctionsReady
from parpass.runner.pool.stage_writer import FIRST_WORK_SECONDS, StageWriter
from parpass.runner.report.metrics import TransferMetrics
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import Pass
from parpass.transform.budget import budgets_of, call_limits
from parpass.transform.by_value import unpickle
from parpass.transform.checked_adapter import add_violations
from parpass.transform.config import START_TIMEOUT

if TYPE_CHECKING:
    from parpass.transform.capture.pass_memory import PassMemory

_EMPTY_INDEX = FunctionIndex.private(0)


class RemoteStage:
    """One stage that runs on a pool; owns its files and adds outcomes to `outcomes`.

    Args:
        steps: The passes.
        mod: The module.
        snapshot: The settings in force.
        store: The module store, with the shared directory.
        outcomes: The outcomes; functions with an outcome are not run.
        wanted: Whether the functions are read right after the stage.
        is_last: Whether no later stage of the run is remote.
        workers: The number of workers.
        local_seconds: The estimated time of the stage in this process; None if that is
            not known, or this process must not run the rest.
        memory: What the memory of passes is added to; see `PassContext.memory`.
        transfer: The metrics of the transfer; by default new ones.

    Attributes:
        adapter: The adapter of the IR.
        local_seconds: The estimated time of the stage in this process, or None.
        budgets: The budgets of the passes.
        failures: Attributes worker deaths and time-outs.
        is_reclaimed: Whether functions in no job run in this process.
        transfer: The metrics of the transfer.
        optimizations: The optimizations in force.
        start_seconds: The time limit for a worker to start, and to load the stage.
        outcomes: The outcomes so far.
        slots: The index of its functions.
        total: The number of functions to run.
        written: The attributes of passes that changed: pass name and attribute.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        mod: StoredModule,
        snapshot: Snapshot,
        store: ModuleStore,
        outcomes: StageOutcomes,
        *,
        wanted: bool,
        is_last: bool,
        workers: int = 1,
        local_seconds: float | None = None,
        memory: Sequence[PassMemory] = (),
        transfer: TransferMetrics | None = None,
    ) -> None:
        self.local_seconds = local_seconds
        self.is_reclaimed = False
        self.adapter = store.adapter
        self.transfer = transfer or TransferMetrics()
        self.steps = steps
        self.names = outcomes.names
        self.outcomes = outcomes
        self.optimizations = store.optimizations
        self.wanted = wanted
        retains = self.optimizations.retained_bytes
        self._keeps_bytes = retains and not (self.wanted and is_last)
        self.written: dict[tuple[str, str], None] = {}
        self._workers = workers
        self._memory = memory
        self._mod = mod
        self._snapshot = snapshot
        self._store = store
        self.slots = _EMPTY_INDEX
        self._sent: set[int] = set()  # in jobs so far
        self._send_alone = False  # each function, outside of its batch
        self._to_run = outcomes.missing()
        self.total = len(self._to_run)
        self.budgets = budgets_of(steps, snapshot.config)
        self.start_seconds = snapshot.config.get(START_TIMEOUT, DEFAULT_START_SECONDS)
        self.failures = FailureAttribution(
            steps, mod.handles, outcomes, self.budgets, self.start_seconds
        )
        self._bytes = 0  # of the functions with results
        self._seconds = [0.0] * len(steps)
        store.stages += 1
        self._stage = store.stages
        self._writer: StageWriter | None = None

    def pace(self) -> float | None:
        """Return the seconds of all steps for each byte of a function, if known."""
        known = COST_MODEL.of(self.steps)
        return None if known is None else known / BYTES_PER_NODE

    def loaded_functions(self) -> list[Any]:
        """Return the functions that exist as objects in this process."""
        held = [self._mod.handles[name].function for name in self.names]
        return [function for function in held if function is not None]

    def encode_spec(self) -> bytes:
        """Return the encoded payload, which all jobs have in common.

        Raises:
            Exception: A part of it cannot be pickled.
        """
        adapter = self.adapter
        shell = adapter.encode_shell(self._mod.base)
        spec = StageSpec(
            self.steps,
            self._snapshot,
            adapter,
            shell,
            self.names,
            self.budgets,
            call_limits(),
            self.outcomes.unstable_names(),
            self.transfer.is_traced,
            self.outcomes.recording,
        )
        return encode_payload(self.steps, adapter, spec)

    def publish_spec(self) -> None:
        """Write the payload to the shared directory, and open the function file.

        Raises:
            Exception: A part of the payload cannot be pickled.
        """
        published = self.encode_spec()
        folder = self._store.folder
        folder.publish(spec_file_name(self._stage), published)
        self.transfer.sent += len(published)
        pace = self.pace()
        self._writer = StageWriter(
            self._stage,
            self._mod.handles,
            self._to_run,
            self._store,
            self.transfer,
            self._workers * FIRST_WORK_SECONDS / pace if pace else 0.0,
            keep=self._keeps_bytes,
        )
        self.slots = self._writer.slots

    def encode_some(self) -> FunctionsReady | None:
        """Encode a slice of functions; see `StageWriter.encode_some`."""
        assert self._writer is not None
        return self._writer.encode_some()

    def job(self, functions: Iterable[int]) -> bytes:
        """Return the encoded job of some functions."""
        indices = list(functions)
        # A function that runs alone must not fail for another of its batch. From the
        # first suspect on, which is one that runs again, that holds for all.
        is_alone = len(indices) == 1
        self._send_alone |= is_alone and not self._sent.isdisjoint(indices)
        self._sent.update(indices)
        assert self._writer is not None
        sends_separately = is_alone or self._send_alone
        separate = self._writer.encode_separately(indices) if sends_separately else {}
        path, end = self._store.folder.path, self.outcomes.cutoff
        job = Job(path, self._stage, indices, end, self.outcomes.quarantined, separate)
        message = encode_message(job)
        self.transfer.job_sent(len(message))
        return message

    def whole_job(self, functions: Mapping[int, EncodedFunction]) -> Job:
        """Return the job of all functions, with them attached, for an inline stage."""
        outcomes = self.outcomes
        return Job(
            "", 0, self._to_run, outcomes.cutoff, outcomes.quarantined, functions
        )

    def accept_result(self, message: bytes) -> tuple[float, list[FunctionHandle]]:
        """Add the outcomes of a job; return its seconds, and functions to decode."""
        result: JobResult = unpickle(message)
        self.transfer.job_finished(len(message), result.times, self._workers)
        self.written.update(dict.fromkeys(result.written))
        add_violations(self.adapter, result.violations)
        if result.timeline is not None:
            self.transfer.add_timeline(result.timeline)
        if result.memory is not None:
            for one in self._memory:
                one.merge(result.memory)
        new: list[FunctionHandle] = []
        for outcome in result.outcomes:
            held = self._mod.handles[self.names[outcome.function]]
            if outcome.result is not None:
                held = FunctionHandle(encoded=outcome.result)
            self._bytes += self.slots.size(outcome.function)
            for at, seconds in enumerate(outcome.seconds):
                self._seconds[at] += seconds
            failure = outcome.failure
            decoded = FunctionOutcome(
                None,
                outcome.seconds,
                outcome.effects,
                None if failure is None else decode_error(failure),
                outcome.dependencies,
                outcome.signature_changed,
                outcome.reads,
            )
            self.outcomes.put(outcome.function, held, decoded)
            if held.function is None:
                new.append(held)
        return result.times.seconds, new

    def decode_all(self, functions: Sequence[FunctionHandle]) -> None:
        """Decode functions, which are to be read soon."""
        began = time.perf_counter()
        for held in in_gc_pauses(functions):
            self._store.load(held, self._mod.base)
            if not self._keeps_bytes:
                held.encoded = None
        self.transfer.unpacked(began)

    def end(self) -> None:
        """Remove the files of the stage, and update the cost model."""
        nodes = self._bytes / BYTES_PER_NODE
        COST_MODEL.update_missing(self.steps, self._seconds, nodes)
        self.transfer.end()
        if self._writer is not None:
            self._store.folder.discard(spec_file_name(self._stage))
            self._writer.end()
