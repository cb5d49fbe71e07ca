"""Which values of a network may lie in one memory: TVM's GraphPlanMemory.

Calls are made one after the other. A value is needed from the call that computes it to
the last one that reads it, and its memory may be another value's before and after. The
memory that fits best is taken: the smallest that is large enough, else the largest,
which grows. Source: TVM 0.8, `src/relay/backend/graph_plan_memory.cc`.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

_MATCH_RANGE = 16  # memory so many times smaller or larger is not taken


class Step(NamedTuple):
    """A call: the numbers of the values that it reads, and of those that it writes."""

    reads: Sequence[int]
    writes: Sequence[int]


def planned(
    steps: Sequence[Step], sizes: Sequence[int], kept: Collection[int]
) -> list[int]:
    """Return the number of the memory of each value.

    Args:
        steps: The calls, in the order in which they are made.
        sizes: How many bytes each value has.
        kept: Values that are needed after the last call. What no call writes, inputs
            and constants, is kept anyway, and shares its memory with nothing.
    """
    free, found = _Free(), dict[int, int]()
    written = {value for step in steps for value in step.writes}
    for value in range(len(sizes)):
        if value not in written:
            found[value] = free.new(sizes[value])
    readers = Counter(value for step in steps for value in step.reads)
    readers.update(kept)
    for reads, writes in steps:
        for value in writes:
            found[value] = free.take(sizes[value])
        for value in reads:
            readers[value] -= 1
        for value in {*reads, *writes} & written:
            if not readers[value]:
                free.give_back(found[value])
    return [found[value] for value in range(len(sizes))]


class _Free:
    """Memory, by numbers, and what of it is free, sorted by size."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._free: list[tuple[int, int]] = []

    def new(self, size: int) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def take(self, size: int) -> int:
        """Return memory for so many bytes: free one that fits best, else new one."""
        at = bisect.bisect_left(self._free, (size, -1))
        if at < len(self._free) and self._free[at][0] <= size * _MATCH_RANGE:
            return self._free.pop(at)[1]
        if at and self._free[at - 1][0] * _MATCH_RANGE >= size:
            number = self._free.pop(at - 1)[1]
            self._sizes[number] = size
            return number
        return self.new(size)

    def give_back(self, number: int) -> None:
        bisect.insort(self._free, (self._sizes[number], number))
