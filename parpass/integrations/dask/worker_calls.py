"""The functions that an executor calls on workers of a Dask cluster.

They are called by reference: each process there imports this module. `run_on_worker`
runs a job, in a thread of the worker; the others return soon.
"""

from __future__ import annotations

import pickle
import sys
from importlib.metadata import version
from typing import Any

from distributed import get_worker

import parpass
from parpass.integrations.dask.dask_messages import (
    BlobRef,
    JobReply,
    JobRequest,
    StageFunctions,
)
from parpass.integrations.dask.worker_agent import agent_of, close_agent, heartbeat

# States of a worker that ends, as it does when its scheduler is gone.
_CLOSING = ("closing", "closed", "failed")


def run_on_worker(packed: bytes) -> JobReply:
    """Run a job, a pickled `JobRequest`, and report its activity.

    Dask waits for what its threads run, also when it closes the worker, or when the
    scheduler cancels the tasks of a program that was killed.
    """
    call: JobRequest = pickle.loads(packed)
    worker: Any = get_worker()
    key = worker.get_current_task()

    def send(what: tuple[Any, ...]) -> None:
        worker.log_event(call.executor, [worker.address, *what])

    def is_dropped() -> bool:
        task = worker.state.tasks.get(key)
        is_cancelled = task is None or task.state == "cancelled"
        return is_cancelled or worker.status.name in _CLOSING

    return agent_of(call.executor).run(call, send, is_dropped)


def store_parts_on_worker(executor: str, parts: dict[str, bytes]) -> None:
    """Store parts of later jobs."""
    agent_of(executor).store_parts(parts)


def put_blob_on_worker(
    executor: str, run: str, value: BlobRef, content: bytes | None
) -> bool:
    """Store a large value; return False if its content must be sent too."""
    return agent_of(executor).put_blob(run, value, content)


def put_functions_on_worker(
    executor: str, run: str, stage: int, functions: StageFunctions
) -> None:
    """Store all functions of a stage."""
    agent_of(executor).put_functions(run, stage, functions)


def cancel_on_worker(executor: str, job: int) -> None:
    """Cancel a job, whether it has arrived or not."""
    agent_of(executor).end(job)


def traceback_on_worker(executor: str, job: int) -> str:
    """Return a traceback of the process that runs a job; it may take a second."""
    return agent_of(executor).traceback(job)


def forget_run_on_worker(executor: str, run: str) -> None:
    """Release the state of a run."""
    agent_of(executor).forget(run)


def heartbeat_on_worker(executor: str) -> None:
    """Record a sign of life of an executor."""
    heartbeat(executor)


def close_on_worker(executor: str) -> None:
    """Release all state of an executor."""
    close_agent(executor)


def versions_on_worker() -> tuple[str, ...]:
    """Return the versions that must be equal in all processes."""
    return (
        f"parpass {parpass.__version__}",
        f"Python {sys.version_info.major}.{sys.version_info.minor}",
        f"cloudpickle {version('cloudpickle')}",
    )
