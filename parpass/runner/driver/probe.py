"""Criteria for handing functions over to workers, while a stage runs in this process.

A stage of passes whose cost is unknown is probed: all its passes run here on one batch
of functions after another, until workers would be done sooner with the rest, dispatch
overhead included. A module that is worth a pool loses a few milliseconds, once; a small
one never pays for a pool, nor does a large one of small functions.

Workers that are not started take longer to start than a small pipeline takes. So this
process goes on with the functions until they are ready: a first run is not slower than
a serial one, as far as there is a core to start them on.

To run all passes on one function, and keep what each did, takes some microseconds more
for each call than to run one pass on all functions. So once functions turn out to be
small work, the passes run on the rest one after the other, as in a serial run. Each is
then a probe of its own, in case later functions are large work.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future

import msgspec

from parpass.errors import RuntimeUseError
from parpass.fork_safety import forks_wait
from parpass.runner.driver.state import RunState, StageInProgress
from parpass.runner.executor import DEFAULT_START_SECONDS, NoWorkersError
from parpass.runner.ipc.module_store import FunctionHandle, ModuleStore
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import (
    Placement,
    PlacementPolicy,
    PlacementReason,
)
from parpass.transform import ModuleAdapter
from parpass.transform.config import ASKING_WORKERS_SECONDS, START_TIMEOUT

_DEFAULT_PACE = 2e-5  # seconds for a node, until it has been measured
_ALWAYS_COUNTED = 16  # first functions, whose nodes are counted and the clock read
_BATCH = 8  # functions after these that run together, one of which is counted,
_LARGEST_BATCH = 16  # once that is next to nothing of what has been run,
_BATCHES = 32  # so many times as much
_BRIEF_SECONDS = 1e-3  # if a function takes less
_LOOKS = 4  # in a row at which functions were slow, for the others to be taken so
_COUNTING_SHARE = 0.01  # of the time, that nodes of other functions are counted for
# Of the seconds that workers must save to be started, those that functions take here
# before: the first ones load, and fill, what the others use, and look heavy.
_MEASURED_SHARE = 0.2
_SMALL_SHARE = 0.5  # of them, which functions before that must seem to save at least
# Seconds that the workers must save on the rest to get it when the first one is ready:
# the others have yet to start, and this process to import the coordinator.
_OFFLOAD_SECONDS = 0.2


class Look(msgspec.Struct, frozen=True):
    """The decision of a criterion.

    Attributes:
        count: How many functions this process goes on with, before the next look; 0 if
            it hands over the rest.
        is_small: Whether the rest is small work, so that a serial run of it is best.
    """

    count: int
    is_small: bool = False


class StopCriterion:
    """Decides, at each look, whether workers would be faster with the rest.

    Args:
        functions: How many functions there are.
        policy: Knows the workers.
        store: Has the functions.

    Attributes:
        nodes: The nodes of the functions so far, about.
        has_started: Whether it started workers.
        start_seconds: How long this process was at starting them.
    """

    def __init__(
        self, functions: int, policy: PlacementPolicy, store: ModuleStore
    ) -> None:
        self._overhead = policy.dispatch_overhead(functions)
        self._speedup = policy.speedup()
        self._store = store
        self._adapter: ModuleAdapter = store.adapter
        # Of the last looks, seconds for each function since the look before.
        self._rates: deque[float] = deque(maxlen=_LOOKS)
        self.has_started = False
        self.start_seconds = 0.0
        self.begin(functions)

    def begin(self, functions: int) -> None:
        """Begin anew, on so many functions, with the workers that were started."""
        self._functions = functions
        self._size = 0
        self._counting = 0.0  # seconds for nodes so far
        self._began = time.perf_counter()
        self._last = 0, 0.0  # function and time of the last look
        self._rates.clear()
        self._longest = 0.0, 0  # seconds between two looks, and for how many functions
        self.nodes = 0

    def look(self, at: int, held: FunctionHandle) -> Look:
        """Return whether this process goes on, and with how many functions.

        Args:
            at: How many it has run.
            held: The next one.
        """
        self._store.check_open()
        spent = self.seconds()
        each = self._seconds_per_function(spent, at)
        saving = self._expected_saving(each, at)
        if self._hands_over(saving):
            return Look(0)
        is_counted = at < _ALWAYS_COUNTED
        count, is_small = 1, False
        if not is_counted and self._rates[-1] < _BRIEF_SECONDS:
            is_small = saving < _SMALL_SHARE * self._overhead or self._is_measured
            count = max(_BATCH, min(at // _BATCHES, _LARGEST_BATCH))
            count = min(count, self._functions - at)
        if is_counted or self._counting <= _COUNTING_SHARE * spent:
            pace = each * at / self.nodes if each else _DEFAULT_PACE
            # Beside the last function there is nothing to run.
            most = math.inf if at + 1 == self._functions else self._overhead
            limit = int(min(most / (pace or 1e-12), 1e9)) + 1
            self._size = 1 + held.size(self._adapter, limit)
            self._counting += self.seconds() - spent
            if self._size > limit:
                return Look(0)
        self.nodes += count * self._size
        return Look(count, is_small and not self.has_started)

    def seconds(self) -> float:
        """Return the seconds since the first function."""
        return time.perf_counter() - self._began

    def start_others(self) -> None:
        """Start the workers for which there was no core while others started."""

    def cancel(self) -> None:
        """Let the workers load nothing any more."""

    @property
    def _is_measured(self) -> bool:
        # Without the longest look: a late import tells nothing of other functions.
        measured = self.seconds() - self._longest[0]
        return measured > _MEASURED_SHARE * self._overhead

    def _hands_over(self, saving: float) -> bool:
        """Return whether the rest is handed over, which would save so many seconds."""
        return saving > self._overhead

    def _seconds_per_function(self, spent: float, at: int) -> float:
        """Return the time of the passes on one function; 0 until it is known.

        One function may take far longer, for an interruption or a late import, and is
        left out; if several in a row do, those that follow are taken to be like them.
        """
        last_at, last = self._last
        self._last = at, spent
        if at == 0:
            return 0.0
        seconds, functions = since = spent - last, at - last_at
        self._longest = max(self._longest, since)
        rates, rate = self._rates, seconds / functions
        rates.append(rate)
        if at == self._longest[1]:
            return 0.0
        mean = (spent - self._longest[0]) / (at - self._longest[1])
        in_a_row = min(rates) if len(rates) == _LOOKS else 0.0
        return max(min(rate, mean), in_a_row)

    def _expected_saving(self, each: float, done: int) -> float:
        """Return what the workers would save on the functions that are left."""
        if not each:
            return 0.0
        gain = self._speedup.saved(each * done, self.nodes, done)
        return gain * (self._functions - done) / done


class WarmUpCriterion(StopCriterion):
    """Decides, at each look, whether the workers are ready for the rest.

    It starts them once they would save more than their start costs; they are ready
    when the first of them has loaded the passes.

    Where the stage was placed in workers they are started before the first function.

    Args:
        functions: How many functions there are.
        stage: The stage.
        state: The run.
        policy: Knows the workers.
    """

    def __init__(
        self,
        functions: int,
        stage: StageInProgress,
        state: RunState,
        policy: PlacementPolicy,
    ) -> None:
        super().__init__(functions, policy, state.store)
        self._executor, self._steps_to_load = policy.executor, stage.command.steps
        self._start, config = (
            stage.placed.place is Placement.REMOTE,
            state.context.config,
        )
        self._start_seconds = config.get(START_TIMEOUT, DEFAULT_START_SECONDS)
        given = config.get(ASKING_WORKERS_SECONDS)
        self._offload_overhead = _OFFLOAD_SECONDS if given is None else given
        self._loading: list[Future[bytes]] = []
        self._has_started_all = False

    def start_others(self) -> None:
        """Start the workers for which there was no core while others started.

        If nothing is left for them they are there for the next stage.
        """
        if not self._has_started_all:
            self._has_started_all = True
            began = time.perf_counter()
            with contextlib.suppress(NoWorkersError, RuntimeUseError):
                self._executor.start(self._start_seconds)
            self.start_seconds += time.perf_counter() - began

    def cancel(self) -> None:
        """Let the workers load nothing any more."""
        for loading in self._loading:
            self._executor.end(loading)

    def _hands_over(self, saving: float) -> bool:
        """Return whether the rest is handed over; start workers if that pays."""
        is_worth_it = self._start or (saving > self._overhead and self._is_measured)
        if is_worth_it and not self.has_started:
            self.has_started = True
            began = time.perf_counter()
            try:
                self._start_workers()
            except Exception:  # noqa: BLE001 -- raised again where the rest is sent
                return True
            finally:
                self.start_seconds += time.perf_counter() - began
        if not any(one.done() for one in self._loading):
            return False
        self.start_others()
        return saving > self._offload_overhead

    def _start_workers(self) -> None:
        with forks_wait():
            # Only where there are workers; it takes as long as a small run.
            from parpass.runner.follow.payload import encode_payload

            # Likewise.
            from parpass.runner.worker.jobs import load_payload

        payload = encode_payload(self._steps_to_load, self._adapter, None)
        message = msgspec.msgpack.encode((self._start_seconds, payload))
        # One core is this process's; a pool starts as many processes as it has jobs.
        for _ in range(max(1, self._speedup.at_once - 1)):
            loading = self._executor.submit(load_payload, message, owner=self._store)
            self._loading.append(loading)


def new_criterion(
    functions: int, stage: StageInProgress, state: RunState, policy: PlacementPolicy
) -> StopCriterion:
    if stage.was_warm:
        return StopCriterion(functions, policy, state.store)
    return WarmUpCriterion(functions, stage, state, policy)


@contextlib.contextmanager
def deciding(state: RunState, criterion: StopCriterion) -> Generator[None]:
    """Notify of the time of a block in which passes run until a criterion is met."""
    with timing(state.observers, Activity.HERE) as here:
        try:
            yield
        except BaseException:
            criterion.cancel()
            raise
        finally:
            here.name = reason_of(criterion)


def start_others(state: RunState, criterion: StopCriterion) -> None:
    """Start the rest of the workers, if some were started while passes ran."""
    if criterion.has_started:
        state.observers.workers_started(criterion.start_seconds)
        with timing(state.observers, Activity.LOADING):
            criterion.start_others()


def reason_of(criterion: StopCriterion) -> PlacementReason:
    has_started = criterion.has_started
    return PlacementReason.STARTING if has_started else PlacementReason.SMALL
