"""What an executor calls in the workers of Dask's."""

from __future__ import annotations

import asyncio
import pickle
import sys
from importlib.metadata import version
from typing import Any

from distributed import get_worker

import parpass
from parpass.adapters.dask.jobs_away import Answer, Call, OthersOf, ValueAway
from parpass.adapters.dask.site import close_site, hear_of, site_of

# What a worker of Dask's is at that ends, as it does when its scheduler is no more.
_CLOSING = ("closing", "closed", "failed")


def run_there(packed: bytes) -> Answer:
    """Run a job, given as a pickled `Call`, and tell meanwhile what it is at."""
    call: Call = pickle.loads(packed)
    worker: Any = get_worker()

    def tell(what: tuple[Any, ...]) -> None:
        worker.log_event(call.executor, [worker.address, *what])

    def is_closing() -> bool:
        return worker.status.name in _CLOSING

    return site_of(call.executor).run(call, tell, is_closing)


def keep_there(executor: str, parts: dict[str, bytes]) -> None:
    """Bring parts of calls to come."""
    site_of(executor).keep(parts)


def bring_there(
    executor: str, run: str, value: ValueAway, content: bytes | None
) -> bool:
    """Bring a large value; return False if its content is to come, too."""
    return site_of(executor).bring(run, value, content)


def put_there(executor: str, run: str, stage: int, others: OthersOf) -> None:
    """Bring all functions of a stage."""
    site_of(executor).put(run, stage, others)


def end_there(executor: str, job: int) -> None:
    """End a job, if it is here or comes."""
    site_of(executor).end(job)


async def where_there(executor: str, job: int) -> str:
    """Return where the process is that runs a job; no other message waits for that."""
    return await asyncio.to_thread(site_of(executor).where, job)


def forget_there(executor: str, run: str) -> None:
    """Remove what is kept for a run."""
    site_of(executor).forget(run)


def hear_there(executor: str) -> None:
    """Hear that an executor is there, still."""
    hear_of(executor)


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
