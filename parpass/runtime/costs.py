"""What passes have cost so far in this process, to tell what they will cost.

A forecast decides only where and in which portions work is done, never what it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parpass.transform import Pass

_MOST = 10_000  # passes remembered, so that a service that makes new ones cannot leak
_WEIGHT = 0.5  # of what was measured last, if that is more than what was known

# Seconds that handing functions to the workers costs beside their passes: packing and
# unpacking on both sides, jobs, what is kept of each. Measured for Relay by `bench`.
# What the coordinator does of it, it does for one function after the other.
_COORDINATOR_FOR_NODE = 1.5e-6
_COORDINATOR_FOR_FUNCTION = 1.7e-4
_WORKER_FOR_NODE = 1.5e-6
_WORKER_FOR_FUNCTION = 8e-5
_MARGIN = 1.4  # cores are slower when all are busy, and when passes alternate

_Key = tuple[str, str, str]


class Costs:
    """Remembers how many seconds passes take for a unit of a function's size."""

    def __init__(self) -> None:
        self._known: dict[_Key, float] = {}

    def of(self, steps: Iterable[Pass]) -> float | None:
        """Return the seconds of all steps together for one unit, None if not known."""
        total = 0.0
        for step in steps:
            known = self._known.get(_key(step))
            if known is None:
                return None
            total += known
        return total

    def learn(
        self, steps: Sequence[Pass], seconds: Sequence[float], size: float
    ) -> None:
        """Take down how long each step took on so many units.

        A first run, or an unlucky moment, takes longer than there is to do, and nothing
        takes less; so what takes less than was known is believed at once.
        """
        if size <= 0:
            return
        for step, spent in zip(steps, seconds, strict=False):
            key = _key(step)
            pace = spent / size
            before = self._known.pop(key, pace)
            self._known[key] = min(pace, before + _WEIGHT * (pace - before))
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def forget(self, steps: Iterable[Pass]) -> None:
        """Forget what these steps cost."""
        for step in steps:
            self._known.pop(_key(step), None)


class Gain(NamedTuple):
    """What the workers would save, so many of them."""

    workers: int

    def seconds(self, work: float, nodes: float, functions: float) -> float:
        """Return what is saved on work of so many seconds; less than 0 is lost."""
        one = _COORDINATOR_FOR_NODE * nodes + _COORDINATOR_FOR_FUNCTION * functions
        all_ = _WORKER_FOR_NODE * nodes + _WORKER_FOR_FUNCTION * functions
        return work - max(one, (_MARGIN * work + one + all_) / self.workers)


def _key(step: Pass) -> _Key:
    kind = type(step)
    return kind.__module__, kind.__qualname__, step.info.name


BY_NODE = Costs()  # of passes run in this process
BY_BYTE = Costs()  # of passes run in workers, where functions are known by their bytes
