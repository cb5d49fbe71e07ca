"""The criterion for handing functions over to workers, while a stage runs here.

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
from parpass.runner.executor import NoWorkersError
from parpass.runner.ipc.module_store import FunctionHandle
from parpass.runner.observers import Activity, timing
from parpass.runner.placement import Placement, PlacementReason

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


class Look(msgspec.Struct, frozen=True):
    """The decision of a criterion.

    Attributes:
        count: How many functions this process goes on with, before the next look; 0 if
            it hands over the rest.
        is_small: Whether the rest is small work, so that a serial run of it is best.
    """

    count: int
    is_small: bool = False


class HandoverCriterion:
    """Decides, at each look, whether workers would be faster with the rest.

    Workers that are not there are started once they would save more than their start
    costs, or before the first function where the stage was placed in workers. They get
    the rest when the first of them has loaded the passes.

    Args:
        functions: How many functions there are.
        stage: The stage.
        state: The run; its policy knows the workers.

    Attributes:
        nodes: The nodes of the functions so far, about.
        has_started: Whether it started workers.
    """

    def __init__(
        self,
        functions: int,
        stage: StageInProgress,
        state: RunState,
    ) -> None:
        self._stage, self._state = stage, state
        self._policy = policy = state.policy
        self._store, self._adapter = state.store, state.store.adapter
        self._overhead = policy.dispatch_overhead(functions)
        self._speedup = policy.speedup()
        # Of the last looks, seconds for each function since the look before.
        self._rates: deque[float] = deque(maxlen=_LOOKS)
        self._loading: list[Future[bytes]] = []  # passes, in the first workers
        self.has_started = self._has_started_all = False
        self._starting = 0.0  # seconds that this process was at starting them
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

    @property
    def reason(self) -> PlacementReason:
        """The reason why functions ran here."""
        is_start = self.has_started
        return PlacementReason.STARTING if is_start else PlacementReason.SMALL

    @contextlib.contextmanager
    def deciding(self) -> Generator[None]:
        """Notify of the time of a block in which passes run until this is met."""
        with timing(self._state.observers, Activity.HERE) as here:
            try:
                yield
            except BaseException:
                self.cancel()
                raise
            finally:
                here.name = self.reason

    def cancel(self) -> None:
        """Let the workers load nothing any more."""
        for loading in self._loading:
            self._policy.executor.end(loading)

    def start_others(self) -> None:
        """Start the rest of the workers, if some were started while passes ran.

        If nothing is left for them they are there for the next stage.
        """
        if self.has_started:
            observers = self._state.observers
            observers.workers_started(self._starting)
            with timing(observers, Activity.LOADING):
                self._start_all()

    @property
    def _is_measured(self) -> bool:
        # Without the longest look: a late import tells nothing of other functions.
        measured = self.seconds() - self._longest[0]
        return measured > _MEASURED_SHARE * self._overhead

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

    def _hands_over(self, saving: float) -> bool:
        """Return whether the rest is handed over, which would save so many seconds.

        Workers are started if that pays.
        """
        if self._stage.was_warm:
            return saving > self._overhead
        is_placed = self._stage.placed.place is Placement.REMOTE
        is_worth_it = is_placed or (saving > self._overhead and self._is_measured)
        if is_worth_it and not self.has_started:
            self.has_started = True
            began = time.perf_counter()
            try:
                self._start_workers()
            except Exception:  # noqa: BLE001 -- raised again where the rest is sent
                return True
            finally:
                self._starting += time.perf_counter() - began
        if not any(one.done() for one in self._loading):
            return False
        self._start_all()
        return saving > self._policy.offload_overhead

    def _start_workers(self) -> None:
        with forks_wait():
            # Only where there are workers; it takes as long as a small run.
            from parpass.runner.follow.payload import encode_payload

            # Likewise.
            from parpass.runner.worker.jobs import load_payload

        payload = encode_payload(self._stage.command.steps, self._adapter, None)
        message = msgspec.msgpack.encode((self._policy.start_seconds, payload))
        submit = self._policy.executor.submit
        # One core is this process's; a pool starts as many processes as it has jobs.
        for _ in range(max(1, self._speedup.at_once - 1)):
            self._loading.append(submit(load_payload, message, owner=self._store))

    def _start_all(self) -> None:
        """Start the workers for which there was no core while others started."""
        if not self._has_started_all:
            self._has_started_all = True
            began = time.perf_counter()
            with contextlib.suppress(NoWorkersError, RuntimeUseError):
                self._policy.executor.start(self._policy.start_seconds)
            self._starting += time.perf_counter() - began
