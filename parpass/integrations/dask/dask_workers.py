"""The workers of a Dask cluster, the choice among them, and jobs' round-trip time.

Each job is bound to one worker that is named to Dask, and is run on no other. So the
death of a worker costs its own jobs only: Dask would run them again on other workers,
and a function that kills its process would end these too.

The round trip of a job overlaps with the previous job, which is on the worker
meanwhile. But with many workers the round trip is mostly queueing at the coordinator
and a scheduler, which handle one job after the other. Jobs that take as long as the
round trips of all of them keep these from being the bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from parpass.spi import Extent

_LEAST_SECONDS = 0.05  # that a job takes where the cluster is as quick as it gets
_MOST_SECONDS = 10.0  # beyond which it may be something else that is slow
_ROUND_TRIPS = 2.0  # per job: on average a round trip includes half of the others'
_WEIGHT = 0.1  # of the last one in what is known
_MOST_PARTS = 10_000  # that a worker is known to have


class RoundTripEstimate:
    """Estimate of a job's round-trip time, from measurements."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def update(self, seconds: float) -> None:
        """Add the measured round trip of a job that had no other job in front of it.

        Args:
            seconds: The time.
        """
        if self._seconds:
            seconds = _WEIGHT * seconds + (1 - _WEIGHT) * self._seconds
        self._seconds = max(0.0, seconds)

    @property
    def least_job_seconds(self) -> float:
        """The time that a job should take at least, in seconds."""
        return min(max(_LEAST_SECONDS, _ROUND_TRIPS * self._seconds), _MOST_SECONDS)


class DaskWorker:
    """A worker of the cluster.

    Attributes:
        address: Its address.
        threads: How many jobs it runs at once.
        jobs: How many jobs it has.
        parts: The digests of parts that it has received; see `add_parts`.
        values: The large values that were sent to it ahead of jobs, by run.
    """

    def __init__(self, address: str, threads: int) -> None:
        self.address = address
        self.threads = threads
        self.jobs = 0
        self.parts: set[str] = set()
        self.values = WeakKeyDictionary[object, set[Extent]]()

    @property
    def has_idle(self) -> bool:
        """Whether a new job would be run at once, as far as this executor knows."""
        return self.jobs < self.threads

    def add_parts(self, digests: Iterable[str]) -> None:
        """Record parts that are sent to it; not all of them for ever.

        What is not known to be there is sent once more.
        """
        if len(self.parts) > _MOST_PARTS:
            self.parts.clear()
        self.parts.update(digests)


class DaskWorkers:
    """The workers of the cluster at present."""

    def __init__(self) -> None:
        self._by_address: dict[str, DaskWorker] = {}

    @property
    def threads(self) -> int:
        """How many jobs they run at once."""
        return sum([worker.threads for worker in self._by_address.values()])

    def join(self, address: str, threads: int) -> DaskWorker:
        """Add a worker, and return it."""
        return self._by_address.setdefault(address, DaskWorker(address, threads))

    def leave(self, address: str) -> int:
        """Remove a worker; return how many jobs it ran at once."""
        worker = self._by_address.pop(address, None)
        return 0 if worker is None else worker.threads

    def best(self) -> DaskWorker | None:
        """Return the worker with the fewest jobs per thread; None if there is none."""
        return min(
            self._by_address.values(),
            key=lambda worker: worker.jobs / worker.threads,
            default=None,
        )
