"""What an executor calls in the workers of Dask's."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

from distributed import get_worker

import parpass
from parpass.adapters.dask.jobs_away import Call, OthersOf
from parpass.adapters.dask.site import Answer, close_site, site_of


def run_there(call: Call) -> Answer:
    """Run a job, and tell meanwhile what it is at."""
    worker: Any = get_worker()

    def tell(what: tuple[Any, ...]) -> None:
        place = (worker.address,) if what[0] == "others" else ()
        worker.log_event(call.executor, [*what, *place])

    return site_of(call.executor).run(call, tell)


def end_there(executor: str, job: int) -> None:
    """End a job, if it is here or comes."""
    site_of(executor).end(job)


def put_there(executor: str, run: str, stage: int, others: OthersOf) -> None:
    """Bring all functions of a stage."""
    site_of(executor).put(run, stage, others)


def forget_there(executor: str, run: str) -> None:
    """Remove what is kept for a run."""
    site_of(executor).forget(run)


def close_there(executor: str) -> None:
    """End all that is kept for an executor."""
    close_site(executor)


def versions_there() -> tuple[str, ...]:
    """Return what has to be the same in all processes."""
    return (
        f"parpass {parpass.__version__}",
        f"Python {sys.version_info.major}.{sys.version_info.minor}",
        f"cloudpickle {version('cloudpickle')}",
    )
