"""The cost model: seconds that passes take, by the node, as measured in this process.

It decides only where work is done and in which portions, never what comes of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parpass.transform import Pass

_MAX_PASSES = 10_000  # remembered, so that a service that makes new ones cannot leak
_SMOOTHING = 0.5  # of what was measured last, if that is more than what was known

# Seconds that handing functions to the workers costs beside their passes: encoding and
# decoding on both sides, jobs, what is kept of each. Measured for Relay by `bench`.
# What the coordinator does of it, it does for one function after the other.
_COORDINATOR_SECONDS_PER_NODE = 1e-6
_COORDINATOR_SECONDS_PER_FUNCTION = 4e-5
_WORKER_SECONDS_PER_NODE = 1.5e-6
_WORKER_SECONDS_PER_FUNCTION = 8e-5
_CONTENTION = 1.1  # cores are slower when all are busy, and when passes alternate

# Seconds to publish a stage, send jobs and receive results, and a margin.
WARM_OVERHEAD_SECONDS = 0.025
BYTES_PER_NODE = 20  # that is encoded, about
_MAX_SLOWDOWN = 8.0
_DECAY = 0.98  # of what was learnt, each time that work stays here because of it

_Key = tuple[str, str, str]


class CostModel:
    """The seconds that passes take for a node, by class and name of the pass.

    Measurements in workers, which slow each other down, count only for passes without
    one in this process.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, float] = {}
        self._in_workers: set[_Key] = set()  # known only from there

    def of(self, steps: Iterable[Pass]) -> float | None:
        """Return the seconds of all steps together for a node, None if not known."""
        total = 0.0
        for step in steps:
            known = self._known.get(_key(step))
            if known is None:
                return None
            total += known
        return total

    def local_pace(self, steps: Sequence[Pass]) -> float | None:
        """Return `of(steps)` as measured in this process; None if it was not."""
        if any(_key(step) in self._in_workers for step in steps):
            return None
        return self.of(steps)

    def update(
        self, steps: Sequence[Pass], seconds: Sequence[float], size: float
    ) -> None:
        """Add the measured seconds of each pass on `size` nodes.

        A first run, or an unlucky moment, takes longer than the work does, and nothing
        takes less; so a lower measurement counts at once, and a higher one by half.
        """
        if size <= 0:
            return
        for step, spent in zip(steps, seconds, strict=False):
            key = _key(step)
            pace = spent / size
            before = self._known.pop(key, pace)
            self._known[key] = min(pace, before + _SMOOTHING * (pace - before))
            self._in_workers.discard(key)
        # Threads may add at once; a measurement that is lost does not matter.
        with contextlib.suppress(KeyError, RuntimeError, StopIteration):
            while len(self._known) > _MAX_PASSES:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._in_workers.discard(oldest)

    def update_missing(
        self, steps: Sequence[Pass], seconds: Sequence[float], size: float
    ) -> None:
        """Add measurements made in workers, for passes without any."""
        for step, spent in zip(steps, seconds, strict=True):
            is_told = size > 0 and spent > 0  # else it was not come to
            if is_told and _key(step) not in self._known:
                self.update([step], [spent], size)
                self._in_workers.add(_key(step))


class SpeedupModel(NamedTuple):
    """The seconds that work takes in a number of workers on a number of cores.

    The coordinator encodes and decodes on the same cores.
    """

    workers: int
    cores: int

    @property
    def at_once(self) -> int:
        """How many workers make progress at once."""
        return min(self.workers, self.cores)

    def expected(self, work: float, nodes: float, functions: float) -> float:
        """Return the expected seconds in workers for `work` seconds here."""
        one = (
            _COORDINATOR_SECONDS_PER_NODE * nodes
            + _COORDINATOR_SECONDS_PER_FUNCTION * functions
        )
        all_ = (
            _WORKER_SECONDS_PER_NODE * nodes + _WORKER_SECONDS_PER_FUNCTION * functions
        )
        return max(one, (_CONTENTION * work + one + all_) / self.at_once)

    def saved(self, work: float, nodes: float, functions: float) -> float:
        """Return the seconds that workers save on `work` seconds; less than 0: lose."""
        return work - SLOWDOWN.slowdown * self.expected(work, nodes, functions)


class SlowdownEstimate:
    """The ratio of measured to expected seconds in workers.

    Two cores of a virtual machine may be worth little more than one, and other programs
    may keep them busy. While workers are slower than expected, work stays in this
    process; each stage that does so lets the ratio decay, as the cause may pass.

    Attributes:
        slowdown: The ratio, from 1 (as expected) to 8.
    """

    def __init__(self) -> None:
        self.slowdown = 1.0

    def update(self, expected: float, spent: float) -> None:
        """Add a measurement: the expected and the measured seconds."""
        if expected > 0:
            found = min(max(spent / expected, 1.0), _MAX_SLOWDOWN)
            self.slowdown += _SMOOTHING * (found - self.slowdown)

    def decay(self) -> None:
        """Move the ratio towards 1."""
        self.slowdown = max(1.0, self.slowdown * _DECAY)


class StartupAmortizer:
    """Accumulates the time that workers would have saved; the ski-rental rule.

    Starting them is not worth it for one small module; for the hundredth it is. When
    as much has been lost as the start costs, they are started.

    Attributes:
        missed_saving: Seconds that the workers would have saved, had they been started.
    """

    def __init__(self) -> None:
        self.missed_saving = 0.0

    def add_missed_saving(self, seconds: float) -> None:
        """Add what the workers would have saved on a stage, less the overhead."""
        self.missed_saving += max(0.0, seconds - WARM_OVERHEAD_SECONDS)


def _key(step: Pass) -> _Key:
    kind = type(step)
    return kind.__module__, kind.__qualname__, step.info.name


COST_MODEL = CostModel()
SLOWDOWN = SlowdownEstimate()
