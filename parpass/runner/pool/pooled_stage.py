"""One stage on the pool, as the coordinator sees it: all of its work but the waiting.

Nothing here knows of an event loop. The coordinator calls these methods in threads,
never two that write at the same time, and takes care of when.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

from parpass.errors import FunctionFailure, FunctionTimeoutError, WorkerDiedError
from parpass.runner.executor import START_SECONDS
from parpass.runner.placing.costs import BYTES_OF_NODE, COSTS
from parpass.runner.pool.schedule import FunctionsReady
from parpass.runner.report.account import Journey
from parpass.runner.stage.outcomes import StageOutcomes
from parpass.runner.travel.bundles import Bundle, Packed
from parpass.runner.travel.errors import read_back, show_where_it_ended, unpack_error
from parpass.runner.travel.folder import StorageError, Writer
from parpass.runner.travel.function_outcome import FunctionOutcome
from parpass.runner.travel.messages import (
    Job,
    JobResult,
    PackedOutcome,
    StageSpec,
    functions_name,
    pack_message,
    slots_name,
    spec_name,
    why_unsendable,
)
from parpass.runner.travel.notes import Phase, Work
from parpass.runner.travel.retained import Held, HeldModule, Retainer
from parpass.runner.travel.shipment import pack_shipment
from parpass.runner.travel.slots import Slot, Slots, append_bundle
from parpass.runner.travel.snapshot import Snapshot
from parpass.transform import Pass
from parpass.transform.budget import budgets_of, limits_of_call
from parpass.transform.config import START_TIMEOUT, OnFailure
from parpass.transform.optimizations import optimizations_in

ON_THE_WAY_SECONDS = 10.0  # at least, for a function that is unpickled or pickled

# Of packing between two announcements: little at first, so that workers begin soon, and
# each time twice as much, up to the second one.
_FIRST_PACK_SECONDS = 0.0005
_PACK_SECONDS = 0.005
# Where costs are known, there is work for a while in the first announcement, so that
# workers are not done before they hear of more; if it is no more than so many bytes,
# and packing them takes no longer.
_FIRST_WORK_SECONDS = 0.03
_MOST_FIRST_BYTES = 50_000
# For large functions, before the first are packed and, if there was more to look at,
# while these keep the workers busy.
_GLANCE_SECONDS = 0.001
_SEARCH_SECONDS = 0.02
_LARGE = 1_000  # nodes
_GIANT = 20_000  # larger ones are all alike


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
        assumes: Whether functions are taken to keep their signatures.
        alone_seconds: What this process would take; None if that is not known, or it
            must not take over.

    Attributes:
        adapter: How modules are handled.
        alone_seconds: The same as the argument.
        assumes: The same.
        budgets: Of the passes.
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
        assumes: bool = True,
        alone_seconds: float | None = None,
    ) -> None:
        self.assumes = assumes
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
        self.slots = Slots.private(0)
        self._written: WeakKeyDictionary[Bundle, Slot] = WeakKeyDictionary()  # where
        self._go_apart = False  # functions, without their bundles
        # Those to be run come first; the others are packed for passes that read them.
        self._to_pack = outcomes.missing()
        self.total = len(self._to_pack)
        self._to_pack += [at for at, held in enumerate(outcomes.held) if held]
        self.budgets = budgets_of(steps, snapshot.config)
        self.start_seconds = snapshot.config.get(START_TIMEOUT, START_SECONDS)
        self.verdicts: dict[tuple[str, int], BaseException | str] = {}
        if not assumes:  # it is done again
            self.verdicts.update(retainer.verdicts_of(steps))
        self._tries: Counter[tuple[str, int]] = Counter()
        retainer.judge(steps, self.verdicts)
        self._packed = self._packed_bytes = 0
        self._pack_seconds = _FIRST_PACK_SECONDS
        pace = self.pace()
        work = workers * _FIRST_WORK_SECONDS
        self._first_bytes = min(work / pace, _MOST_FIRST_BYTES) if pace else 0.0
        self._is_sorted = False
        self._bytes = 0  # of the functions that came back
        self._seconds = [0.0] * len(steps)
        retainer.stages += 1
        self._stage = retainer.stages
        self._writer: Writer | None = None

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
            self.assumes,
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
        self._writer = folder.open_writer(functions_name(self._stage))
        self.slots = Slots.create(folder, slots_name(self._stage), len(self.names))
        self._packer = self._retainer.packer()

    def pack_some(self) -> FunctionsReady | None:
        """Pack functions for a few milliseconds; return those that can be run now.

        None says that all are packed. They are, though the rest may stay with this
        process: a worker may be waiting for one that it reads.
        """
        if not self._is_sorted:
            all_seen = self._put_large_ones_first()
            self._is_sorted = all_seen or self._packed > 0
        began = time.perf_counter()
        packed: list[tuple[int, Packed]] = []
        while self._packed < len(self._to_pack) and self._goes_on_packing(began):
            function = self._to_pack[self._packed]
            one = self._packed_function(self.names[function])
            packed.append((function, one))
            self._packed_bytes += one.size
            self._packed += 1
        self._packer.close()
        self._write_down(packed)
        first = self._packed - len(packed)
        ready = [function for function, _ in packed[: max(0, self.total - first)]]
        self._pack_seconds = min(2 * self._pack_seconds, _PACK_SECONDS)
        self.journey.packing += time.perf_counter() - began
        if not ready and self._packed == len(self._to_pack):
            return None
        return FunctionsReady(ready, list(map(self.slots.size, ready)))

    def _goes_on_packing(self, began: float) -> bool:
        """Return whether it is too soon to announce what has been packed since then."""
        spent = time.perf_counter() - began
        is_first = self._packed_bytes < self._first_bytes
        return spent < self._pack_seconds or (is_first and spent < _FIRST_WORK_SECONDS)

    def _write_down(self, packed: Sequence[tuple[int, Packed]]) -> None:
        """Write down bundles, each once, and where the functions are."""
        assert self._writer is not None
        for bundle, members in groupby(packed, lambda pair: pair[1].bundle):
            slot = self._written.get(bundle)
            if slot is None:
                slot = self._written[bundle] = append_bundle(self._writer, bundle)
                self.journey.sent += slot.length
            for function, (_, at) in members:
                self.slots[function] = slot._replace(at=at)

    def _put_large_ones_first(self) -> bool:
        """Have large functions packed before others, as far as they are soon found.

        They should be under way early, since nothing else can make up for the time that
        the largest takes. Return whether all functions were looked at.
        """
        search = _SEARCH_SECONDS if self._packed else _GLANCE_SECONDS
        until = time.perf_counter() + search
        size = self._retainer.adapter.size
        waiting = self._to_pack[self._packed : self.total]
        large: dict[int, int] = {}
        for index in waiting:
            function = self._mod.held[self.names[index]].function
            if function is not None and (nodes := size(function, _GIANT)) >= _LARGE:
                large[index] = nodes
            if time.perf_counter() > until:
                break
        if large:
            first = sorted(large, key=large.__getitem__, reverse=True)
            others = [index for index in waiting if index not in large]
            self._to_pack[self._packed : self.total] = [*first, *others]
        return time.perf_counter() <= until

    def _packed_function(self, name: str) -> Packed:
        held = self._mod.held[name]
        try:
            return self._retainer.packed(held, self._packer, keep=self._keeps_bytes)
        except StorageError:
            raise
        except Exception as error:
            raise why_unsendable(name, held.function, error) from error

    def job(self, functions: Iterable[int]) -> bytes:
        """Return the message that has a worker run these functions."""
        indices = list(functions)
        # Who runs alone may be suspected of what another one of its bundle does.
        self._go_apart = self._go_apart or len(indices) == 1
        apart = self._apart(indices) if self._go_apart else {}
        path, end = self._retainer.folder.path, self.outcomes.end
        job = Job(path, self._stage, indices, end, self.verdicts, apart)
        message = pack_message(job)
        self.journey.job_sent(len(message))
        return message

    def _apart(self, functions: Iterable[int]) -> dict[int, Packed]:
        """Return those of these functions that can go without their bundle."""
        found: dict[int, Packed] = {}
        for at in functions:
            function = self._mod.held[self.names[at]].function
            if function is not None and self.slots[at].has_others:
                found[at] = self._packer.pack_alone(function)
        return found

    def recall(self) -> None:
        """Have functions that are in no job stay with this process."""
        self.is_recalled = True

    def take_in(self, message: bytes) -> tuple[float, list[Held]]:
        """Take in a job's result; return its seconds and the new functions."""
        result: JobResult = read_back(message)
        self.journey.job_came_back(len(message), result.seconds, self._workers)
        self.written.update(dict.fromkeys(result.written))
        new = [self._take_in(outcome) for outcome in result.outcomes]
        return result.seconds, [held for held in new if held.function is None]

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
            outcome.looked_at_others,
            outcome.has_new_signature,
        )
        self.outcomes.put(outcome.function, held, told)
        return held

    def shortest_limit(self) -> float | None:
        """Return the shortest time that a step may take; None if none is limited."""
        limits = [one.seconds for one in self.budgets if one.seconds is not None]
        return min(limits, default=None)

    def overdue(self, work: Work, now: int) -> bool:
        """Return whether a worker has been at something for longer than it may."""
        limit = self.budgets[work.body_step].seconds
        if work.phase == Phase.START:
            limit = self.start_seconds
        elif work.phase != Phase.PASS and limit is not None:
            limit = max(limit, ON_THE_WAY_SECONDS)  # it is none of the pass's time
        if limit is None or not work.since:
            return False
        return now - work.since > limit * 1e9

    def died(self, work: Work, cause: str, traceback: str) -> bool:
        """Take down that work killed its worker; return whether to run it again."""
        error = WorkerDiedError(
            pass_name=self.steps[work.body_step].info.name,
            function=self.names[work.body],
            cause=cause,
            where=Phase(work.phase).name.lower(),
        )
        return self._settle(work, error, traceback)

    def timed_out(self, work: Work, traceback: str) -> bool:
        """Take down that work took too long; return whether to run it again."""
        limit = self.budgets[work.body_step].seconds
        assert limit is not None
        error = FunctionTimeoutError(
            pass_name=self.steps[work.body_step].info.name,
            function=self.names[work.body],
            limit=limit,
        )
        return self._settle(work, error, traceback)

    def _settle(self, work: Work, error: FunctionFailure, traceback: str) -> bool:
        error.traceback = traceback
        show_where_it_ended(error)
        body = self.names[work.body], work.body_step
        policy = self.budgets[work.body_step].on_failure
        # What kills again although its body is not called kills on its way.
        if body not in self.verdicts:
            self._tries[body] += 1
            if policy is OnFailure.RETRY and self._tries[body] == 1:
                return True
            if policy is OnFailure.SKIP or work.phase == Phase.PASS:
                # It is run again up to there, for what the passes before have to say.
                skips = policy is OnFailure.SKIP
                self.verdicts[body] = error.reason if skips else error
                return True
        held = self._mod.held[self.names[work.function]]
        outcome = FunctionOutcome(None, [0.0] * (work.step + 1), failure=error)
        self.outcomes.put(work.function, held, outcome)
        return False

    def look_at(self, functions: Sequence[Held]) -> None:
        """Unpack new functions, because somebody will look at them."""
        began = time.perf_counter()
        for held in functions:
            self._retainer.function(held, self._mod.base)
            if not self._keeps_bytes:
                held.packed = None
        self.journey.unpacking += time.perf_counter() - began

    def end(self) -> None:
        """Remove what was published, and learn from what came back."""
        nodes = self._bytes / BYTES_OF_NODE
        COSTS.learn_what_is_new(self.steps, self._seconds, nodes)
        if self._writer is None:
            return
        self._writer.close()
        folder, stage = self._retainer.folder, self._stage
        folder.discard(spec_name(stage), functions_name(stage))
        folder.discard(slots_name(stage), are_mapped=True)
