"""One stage on the pool, as the coordinator sees it: all of its work but the waiting.

Nothing here knows of an event loop. The coordinator calls these methods in threads,
never two that write at the same time, and takes care of when.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parpass.runner.executor import START_SECONDS
from parpass.runner.placing.costs import BYTES_OF_NODE, COSTS
from parpass.runner.pool.inquest import Inquest
from parpass.runner.pool.packing import FIRST_WORK_SECONDS, Packing
from parpass.runner.pool.schedule_events import FunctionsReady
from parpass.runner.report.account import Journey
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.bundles import Packed
from parpass.runner.travel.errors import unpack_error
from parpass.runner.travel.function_outcome import FunctionOutcome
from parpass.runner.travel.messages import (
    Job,
    JobResult,
    PackedOutcome,
    StageSpec,
    pack_message,
    spec_name,
)
from parpass.runner.travel.retained import Held, HeldModule, Retainer
from parpass.runner.travel.shipment import pack_shipment
from parpass.runner.travel.slots import Slots
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import Pass
from parpass.transform.budget import budgets_of, limits_of_call
from parpass.transform.by_value import unpack
from parpass.transform.collector import LONGEST_PAUSE_SECONDS, paused_collector
from parpass.transform.config import START_TIMEOUT
from parpass.transform.optimizations import optimizations_in

_NO_SLOTS = Slots.private(0)


class PooledStage:
    """A stage to be run by workers.

    Args:
        steps: The passes.
        mod: The module.
        snapshot: The settings in force.
        retainer: Keeps functions and folder.
        outcomes: Where to put the outcomes; functions in it have been run already.
        wanted: Whether the functions will be looked at right after.
        is_last: Whether no function will be sent to workers any more.
        workers: How many workers there are.
        alone_seconds: What this process would take; None if that is not known, or it
            must not take over.

    Attributes:
        adapter: How modules are handled.
        alone_seconds: The same as the argument.
        budgets: Of the passes.
        inquest: Finds out about workers that die or hang.
        is_recalled: Whether functions that are in no job stay with this process.
        journey: How the time goes.
        optimizations: What is done to be fast.
        start_seconds: How long a worker may take to start, or to load the stage.
        outcomes: The outcomes so far.
        slots: Where its functions are.
        total: How many functions are to be run.
        written: What passes changed of themselves: pass name and attribute.
    """

    def __init__(
        self,
        steps: Sequence[Pass],
        mod: HeldModule,
        snapshot: Snapshot,
        retainer: Retainer,
        outcomes: StageOutcomes,
        *,
        wanted: bool,
        is_last: bool,
        workers: int = 1,
        alone_seconds: float | None = None,
    ) -> None:
        self.alone_seconds = alone_seconds
        self.is_recalled = False
        self.adapter = retainer.adapter
        self.journey = Journey()
        self.steps = steps
        self.names = outcomes.names
        self.outcomes = outcomes
        self.optimizations = optimizations_in(snapshot.config)
        self.wanted = wanted
        retains = self.optimizations.retained_bytes
        self._keeps_bytes = retains and not (self.wanted and is_last)
        self.written: dict[tuple[str, str], None] = {}
        self._workers = workers
        self._mod = mod
        self._snapshot = snapshot
        self._retainer = retainer
        self.slots = _NO_SLOTS
        self._sent: set[int] = set()  # in jobs so far
        self._go_apart = False  # all functions, without their bundles
        self._to_run = outcomes.missing()
        self.total = len(self._to_run)
        self.budgets = budgets_of(steps, snapshot.config)
        self.start_seconds = snapshot.config.get(START_TIMEOUT, START_SECONDS)
        self.inquest = Inquest(
            steps, mod.held, outcomes, self.budgets, self.start_seconds
        )
        self._bytes = 0  # of the functions that came back
        self._seconds = [0.0] * len(steps)
        retainer.stages += 1
        self._stage = retainer.stages
        self._packing: Packing | None = None

    def pace(self) -> float | None:
        """Return the seconds of the steps for each byte of a function, if known."""
        known = COSTS.of(self.steps)
        return None if known is None else known / BYTES_OF_NODE

    def functions_at_hand(self) -> list[Any]:
        """Return the functions that are objects now."""
        held = [self._mod.held[name].function for name in self.names]
        return [function for function in held if function is not None]

    def packed_spec(self) -> bytes:
        """Return what all jobs have in common, as bytes.

        Raises:
            Exception: Something in it cannot be pickled.
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
            limits_of_call(),
            self.outcomes.doubted_names(),
        )
        return pack_shipment(self.steps, spec)

    def publish_spec(self) -> None:
        """Publish what all jobs have in common.

        Raises:
            Exception: Something in it cannot be pickled.
        """
        published = self.packed_spec()
        folder = self._retainer.folder
        folder.publish(spec_name(self._stage), published)
        self.journey.sent += len(published)
        pace = self.pace()
        self._packing = Packing(
            self._stage,
            self._mod.held,
            self._to_run,
            self._retainer,
            self.journey,
            self._workers * FIRST_WORK_SECONDS / pace if pace else 0.0,
            keep=self._keeps_bytes,
        )
        self.slots = self._packing.slots

    def pack_some(self) -> FunctionsReady | None:
        """Pack functions for a few milliseconds; return those that can be run now.

        None says that all are packed. They are, though the rest may stay with this
        process: a worker may be waiting for one that it reads.
        """
        assert self._packing is not None
        return self._packing.pack_some()

    def job(self, functions: Iterable[int]) -> bytes:
        """Return the message that has a worker run these functions."""
        indices = list(functions)
        # Who runs alone may be suspected of what another one of its bundle does; once
        # somebody is, which is when one runs again, so may be who runs after that.
        is_alone = len(indices) == 1
        self._go_apart |= is_alone and not self._sent.isdisjoint(indices)
        self._sent.update(indices)
        assert self._packing is not None
        goes_apart = is_alone or self._go_apart
        apart = self._packing.apart(indices) if goes_apart else {}
        path, end = self._retainer.folder.path, self.outcomes.end
        job = Job(path, self._stage, indices, end, self.outcomes.verdicts, apart)
        message = pack_message(job)
        self.journey.job_sent(len(message))
        return message

    def whole_job(self, functions: Mapping[int, Packed]) -> Job:
        """Return the job that runs all there is to run, with all functions in it."""
        outcomes = self.outcomes
        return Job("", 0, self._to_run, outcomes.end, outcomes.verdicts, functions)

    def recall(self) -> None:
        """Have functions that are in no job stay with this process."""
        self.is_recalled = True

    def take_in(self, message: bytes) -> tuple[float, list[Held]]:
        """Take in a job's result; return its seconds and the new functions."""
        result: JobResult = unpack(message)
        self.journey.job_came_back(len(message), result.times, self._workers)
        self.written.update(dict.fromkeys(result.written))
        new = [self._take_in(outcome) for outcome in result.outcomes]
        return result.times.seconds, [held for held in new if held.function is None]

    def _take_in(self, outcome: PackedOutcome) -> Held:
        held = self._mod.held[self.names[outcome.function]]
        if outcome.result is not None:
            held = Held(packed=outcome.result)
        self._bytes += self.slots.size(outcome.function)
        for at, seconds in enumerate(outcome.seconds):
            self._seconds[at] += seconds
        failure = None if outcome.failure is None else unpack_error(outcome.failure)
        told = FunctionOutcome(
            None,
            outcome.seconds,
            outcome.said,
            failure,
            outcome.relied_on,
            outcome.has_new_signature,
        )
        self.outcomes.put(outcome.function, held, told)
        return held

    def look_at(self, functions: Sequence[Held]) -> None:
        """Unpack new functions, because somebody will look at them."""
        began = time.perf_counter()
        waiting = iter(functions)
        while self._looked_at_some(waiting):
            pass
        self.journey.unpacking += time.perf_counter() - began

    def _looked_at_some(self, waiting: Iterator[Held]) -> bool:
        """Unpack functions while the collector may rest; return whether that ended it.

        What is made meanwhile it looks at once, not again for each function.
        """
        until = time.perf_counter() + LONGEST_PAUSE_SECONDS
        with paused_collector:
            for held in waiting:
                self._retainer.function(held, self._mod.base)
                if not self._keeps_bytes:
                    held.packed = None
                if time.perf_counter() > until:
                    return True
        return False

    def end(self) -> None:
        """Remove what was published, and learn from what came back."""
        nodes = self._bytes / BYTES_OF_NODE
        COSTS.learn_what_is_new(self.steps, self._seconds, nodes)
        if self._packing is not None:
            self._retainer.folder.discard(spec_name(self._stage))
            self._packing.end()
