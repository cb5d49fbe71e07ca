"""A stage that runs on a pool: its spec, its functions, its jobs, their results.

The coordinator calls its methods, in one thread.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from parpass.runner.cost_model import BYTES_PER_NODE, COST_MODEL
from parpass.runner.follow.payload import encode_payload
from parpass.runner.follow.pickling import pickle_briefly
from parpass.runner.follow.snapshot import Snapshot
from parpass.runner.ipc.batch import EncodedFunctions
from parpass.runner.ipc.function_outcome import FunctionOutcome, with_versions
from parpass.runner.ipc.messages import Job, JobResult, JobTimes, StageSpec
from parpass.runner.ipc.module_store import (
    FunctionHandle,
    ModuleStore,
    StoredModule,
)
from parpass.runner.observers import Activity, RunObserver, SentStage, timing
from parpass.runner.pool.failure_attribution import FailureAttribution
from parpass.runner.pool.stage_writer import StageWriter
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.transform import gc_pause
from parpass.transform.budget import budgets_of, call_limits
from parpass.transform.checked_adapter import note_violations
from parpass.transform.plan.commands import RunStage


class RemoteStage:
    """One stage that runs on a pool; adds outcomes to `outcomes`.

    It encodes the spec, which all jobs have in common; its writer encodes functions.

    Args:
        outcomes: The outcomes; functions with an outcome are not run.
        start_seconds: The limit for a worker to load the stage.
        local_seconds: The estimated time of the stage in this process; None if that is
            not known, or this process must not run the rest.
        was_warm: Whether there were workers when the stage began.

    Attributes:
        is_reclaimed: Whether functions in no job run in this process.
        number: Its number in the shared directory.
        total: The number of functions to run.
        wanted: Whether the functions are read right after the stage.
        writer: The encoder of its functions.
        written: The attributes of passes that changed: pass name and attribute.

    Raises:
        StorageError: There is no shared directory.
        UnsendableError: The state of the process cannot be encoded.
        Exception: The passes, the settings or the module cannot be.
    """

    def __init__(
        self,
        command: RunStage,
        mod: StoredModule,
        snapshot: Snapshot,
        store: ModuleStore,
        outcomes: StageOutcomes,
        *,
        workers: int,
        start_seconds: float,
        local_seconds: float | None,
        was_warm: bool,
        observers: RunObserver,
    ) -> None:
        self.steps, self.wanted = command.steps, command.wanted
        self.store = store
        self.outcomes, self.names = outcomes, outcomes.names
        self.observers = observers
        self.local_seconds = local_seconds
        self.is_reclaimed = False
        self.written: dict[tuple[str, str], None] = {}
        self.budgets = budgets_of(self.steps, snapshot.config)
        self.failures = FailureAttribution(
            self.steps, mod.handles, outcomes, self.budgets, start_seconds
        )
        retains = store.optimizations.retained_bytes
        self._is_restoring = command.is_restoring
        self._keeps_bytes = retains and not (command.wanted and command.is_last)
        self._workers = workers
        self._mod = mod
        to_run = outcomes.missing()
        self.total = len(to_run)
        self._bytes = 0  # of the functions with results
        self._seconds_before = list(outcomes.step_seconds)
        self._was_warm, self._began = was_warm, time.perf_counter()
        self._first_began: dict[int, float] = {}  # the first job of each worker
        spec = self._encode_spec(snapshot)
        self.number = store.folder.new_stage()
        self.writer = StageWriter(
            self.number,
            spec,
            mod.handles,
            to_run,
            store,
            self.observers,
            workers=workers,
            pace=self.pace(),
            keep=self._keeps_bytes,
        )
        self.observers.stage_sent(
            SentStage(
                self.steps, self.names, self.total, workers, was_warm, self._began
            )
        )

    def pace(self) -> float | None:
        """Return the seconds of all steps for each byte of a function, if known."""
        known = COST_MODEL.of(self.steps)
        return None if known is None else known / BYTES_PER_NODE

    def _encode_spec(self, snapshot: Snapshot) -> bytes:
        adapter = self.store.adapter
        spec = StageSpec(
            self.steps,
            snapshot,
            adapter,
            adapter.encode_shell(self._mod.base),
            self.names,
            call_limits(),
            self._is_restoring,
            self.outcomes.unstable_names(),
            self.observers.traces_calls,
            self.outcomes.recording,
        )
        return encode_payload(self.steps, adapter, spec)

    def job(self, functions: Sequence[int]) -> bytes:
        quarantined = self.outcomes.quarantined
        message = Job(
            os.fsencode(self.store.folder.path),
            self.number,
            functions,
            self.outcomes.cutoff,
            pickle_briefly(quarantined) if quarantined else b"",
            EncodedFunctions(self.writer.attached_to(functions)),
            self.writer.attached_spec,
        ).encoded()
        self.store.jobs_out += 1
        self.observers.job_sent(len(message))
        return message

    def job_is_over(self) -> None:
        """Record that a worker has answered a job, or that none has begun it."""
        self.store.jobs_out -= 1

    def accept_result(self, message: bytes) -> tuple[JobTimes, list[FunctionHandle]]:
        """Add the outcomes of a job; return its times, and functions to decode."""
        result = JobResult.decoded(message)
        self.observers.job_returned(len(message), result)
        times = result.times
        self._first_began.setdefault(times.process, time.perf_counter() - times.seconds)
        self.written.update(dict.fromkeys(result.findings.written))
        note_violations(self.store.adapter, result.findings.violations)
        new: list[FunctionHandle] = []
        for index, outcome in result.outcomes.items():
            held = self._mod.handles[self.names[index]]
            changed = result.functions.get(index)
            if changed is not None:
                held = FunctionHandle(encoded=changed)
            if result.versions:
                self._load_versions(outcome, result.versions)
            self._bytes += self.writer.slots.size(index)
            self.outcomes.put(index, held, outcome)
            if held.function is None:
                new.append(held)
        return times, new

    def _load_versions(
        self, outcome: FunctionOutcome, versions: EncodedFunctions
    ) -> None:
        """Replace numbers in changes that are not printed by functions."""
        mod = self._mod.base

        def load(number: int | None) -> Any:
            if number is None:
                return None
            return self.store.load(FunctionHandle(encoded=versions[number]), mod)

        outcome.effects = with_versions(outcome.effects, load, mod)

    def decode_some(self, functions: deque[FunctionHandle]) -> None:
        """Decode the first functions, for as long as the collector may rest; drop them.

        With many small functions, that is for some milliseconds.
        """
        until = time.perf_counter() + gc_pause.MAX_GC_PAUSE_SECONDS
        with timing(self.observers, Activity.DECODING), gc_pause.gc_paused:
            while functions:
                held = functions.popleft()
                self.store.load(held, self._mod.base)
                if not self._keeps_bytes:
                    held.encoded = None
                if time.perf_counter() > until:
                    break

    def starting_seconds(self) -> float:
        """Return how long workers took until their first jobs, summed over all."""
        if self._was_warm:
            return 0.0
        first = min(self._first_began.values(), default=time.perf_counter())
        began = [*self._first_began.values()]
        began += [first] * (self._workers - len(began))
        return max(0.0, sum(began) - len(began) * self._began)

    def end(self) -> None:
        """Notify observers of the end, and update the cost model."""
        nodes = self._bytes / BYTES_PER_NODE
        seconds = zip(self.outcomes.step_seconds, self._seconds_before, strict=True)
        COST_MODEL.update_missing(
            self.steps, [now - had for now, had in seconds], nodes
        )
        self.observers.stage_returned(self.starting_seconds())
