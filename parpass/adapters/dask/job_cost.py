"""What a job costs besides its work, and so how long jobs are to be.

The way of a job there and back is hidden by the next one, which waits at the worker.
But where workers are many the way is mostly waiting for the coordinator and the
scheduler, which take one job after the other. Jobs that take as long as the way of all
of them took keep these from being the limit.
"""

from __future__ import annotations

_LEAST_SECONDS = 0.05  # of a job, where Dask is as quick as it gets
_MOST_SECONDS = 10.0  # beyond which it may be something else that is slow
_WAYS = 2.0  # in a job: on average the way has half of the others' in it
_WEIGHT = 0.1  # of the last one in what is known


class JobCost:
    """The way of jobs there and back, as it is measured."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def learn(self, seconds: float) -> None:
        """Take down what the way of a job took that no other job was in front of."""
        if self._seconds:
            seconds = _WEIGHT * seconds + (1 - _WEIGHT) * self._seconds
        self._seconds = max(0.0, seconds)

    @property
    def least_job_seconds(self) -> float:
        """How long a job should take at least."""
        return min(max(_LEAST_SECONDS, _WAYS * self._seconds), _MOST_SECONDS)
