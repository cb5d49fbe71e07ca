"""What passes have cost so far in this process, to tell what they will cost.

A forecast decides only where and in which portions work is done, never what it gives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parpass.transform import Pass

_MOST = 10_000  # passes remembered, so that a service that makes new ones cannot leak
_WEIGHT = 0.5  # of what was measured last, if that is more than what was known

# Seconds that handing functions to the workers costs beside their passes: packing and
# unpacking on both sides, jobs, what is kept of each. Measured for Relay by `bench`.
# What the coordinator does of it, it does for one function after the other.
_COORDINATOR_FOR_NODE = 1e-6
_COORDINATOR_FOR_FUNCTION = 4e-5
_WORKER_FOR_NODE = 1.5e-6
_WORKER_FOR_FUNCTION = 8e-5
_MARGIN = 1.1  # cores are slower when all are busy, and when passes alternate

BYTES_OF_NODE = 20  # that is packed, about
_MOST_DRAG = 8.0
_FADES = 0.98  # of what was learnt, each time that work stays here because of it

_Key = tuple[str, str, str]


class Costs:
    """Remembers how many seconds passes take for a node, in this process.

    What they took in workers, which are in each other's way, counts only where nothing
    else is known.
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

    def of_here(self, steps: Sequence[Pass]) -> float | None:
        """Return the same, None if workers alone told some of it."""
        if any(_key(step) in self._in_workers for step in steps):
            return None
        return self.of(steps)

    def learn(
        self, steps: Sequence[Pass], seconds: Sequence[float], size: float
    ) -> None:
        """Take down how long each step took on so many nodes.

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
            self._in_workers.discard(key)
        # Other threads may do the same just now; what is lost of it is of no matter.
        with contextlib.suppress(KeyError, RuntimeError, StopIteration):
            while len(self._known) > _MOST:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._in_workers.discard(oldest)

    def learn_what_is_new(
        self, steps: Sequence[Pass], seconds: Sequence[float], size: float
    ) -> None:
        """Do the same for those steps of which nothing is known."""
        for step, spent in zip(steps, seconds, strict=True):
            is_told = size > 0 and spent > 0  # else it was not come to
            if is_told and _key(step) not in self._known:
                self.learn([step], [spent], size)
                self._in_workers.add(_key(step))

    def forget(self, steps: Iterable[Pass]) -> None:
        """Forget what these steps cost."""
        for step in steps:
            self._known.pop(_key(step), None)
            self._in_workers.discard(_key(step))


class Gain(NamedTuple):
    """What the workers would save, so many of them on so many cores.

    This process needs a core, too, while it packs and unpacks: what it does is work on
    the same cores.
    """

    workers: int
    cores: int

    def expected(self, work: float, nodes: float, functions: float) -> float:
        """Return how long work of so many seconds is expected to take there."""
        one = _COORDINATOR_FOR_NODE * nodes + _COORDINATOR_FOR_FUNCTION * functions
        all_ = _WORKER_FOR_NODE * nodes + _WORKER_FOR_FUNCTION * functions
        at_once = min(self.workers, self.cores)
        return max(one, (_MARGIN * work + one + all_) / at_once)

    def seconds(self, work: float, nodes: float, functions: float) -> float:
        """Return what is saved on work of so many seconds; less than 0 is lost."""
        return work - DELIVERED.drag * self.expected(work, nodes, functions)


class Delivered:
    """How long the workers take for what they were expected to take a second for.

    The number of cores is what the system says, and two of a virtual machine may be
    worth little more than one; or other programs keep them busy. So what comes true of
    what was expected is remembered, and what was lost keeps work here. As this may
    pass, it is forgotten little by little by those who stay here for it.

    Attributes:
        drag: That: 1 where they keep to it. It is never less, lest luck be counted on.
    """

    def __init__(self) -> None:
        self.drag = 1.0

    def learn(self, expected: float, spent: float) -> None:
        """Take down how long something took, and what was expected."""
        if expected > 0:
            found = min(max(spent / expected, 1.0), _MOST_DRAG)
            self.drag += _WEIGHT * (found - self.drag)

    def forget_a_little(self) -> None:
        """Have another try come nearer."""
        self.drag = max(1.0, self.drag * _FADES)


def _key(step: Pass) -> _Key:
    kind = type(step)
    return kind.__module__, kind.__qualname__, step.info.name


COSTS = Costs()
DELIVERED = Delivered()
