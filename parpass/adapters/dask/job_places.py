"""The workers of a cluster, as an executor deals its jobs out to them.

Each job is for one worker that is named to Dask, and is run nowhere else. So a worker
that dies costs the jobs that it had: Dask would run them again on the next ones, and a
function that kills would take these along.
"""

from __future__ import annotations


class Place:
    """A worker of Dask's.

    Attributes:
        address: Where it is.
        threads: How many jobs it runs at once.
        jobs: How many it has.
        parts: What it has been sent of calls, by digest.
    """

    def __init__(self, address: str, threads: int) -> None:
        self.address = address
        self.threads = threads
        self.jobs = 0
        self.parts: set[str] = set()

    @property
    def has_idle(self) -> bool:
        """Whether a job would be run at once, as far as this executor knows."""
        return self.jobs < self.threads


class Places:
    """The workers that are there now."""

    def __init__(self) -> None:
        self._by_address: dict[str, Place] = {}

    @property
    def threads(self) -> int:
        """How many jobs they run at once."""
        return sum([place.threads for place in self._by_address.values()])

    def join(self, address: str, threads: int) -> Place:
        """Have a worker be one of them, and return it."""
        return self._by_address.setdefault(address, Place(address, threads))

    def leave(self, address: str) -> int:
        """Have a worker be none of them; return how many jobs it ran at once."""
        place = self._by_address.pop(address, None)
        return 0 if place is None else place.threads

    def best(self) -> Place | None:
        """Return the worker that has the least to do; None if there is none."""
        return min(
            self._by_address.values(),
            key=lambda place: place.jobs / place.threads,
            default=None,
        )
