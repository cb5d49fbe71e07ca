"""Clusters of processes on this machine.

Dask is imported by who makes one: no other test is to have it in its process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support.other_processes import until

_WAIT_SECONDS = 60


def dask_config(values: Mapping[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """Return Dask's context manager that sets options while a block runs.

    `distributed` is loaded before: its section, if it came in the block, would go at
    the end of that.
    """
    import_module("distributed")
    return import_module("dask").config.set(values)


def cluster_of(workers: int, **settings: Any) -> Any:
    """Return a cluster of processes on this machine."""
    made: Any = import_module("distributed").LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", **settings
    )
    return made


def client_of(cluster: Any) -> Any:
    """Return a client of a cluster, or of the scheduler at an address."""
    return import_module("distributed").Client(cluster)


def executor_of(client: Any) -> Any:
    """Return an executor on a cluster."""
    return import_module("parpass.integrations.dask").DaskExecutor(client)


@contextlib.contextmanager
def scheduler_in(
    folder: Path, *more: str
) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """Give a process of `dask scheduler`, and its address, which it tells in a file."""
    told = folder / "scheduler.json"
    arguments = ["--host=127.0.0.1", "--port=0", "--no-dashboard", *more]
    with dask("scheduler", *arguments, f"--scheduler-file={told}", cwd=folder) as one:
        until(lambda: told.exists() and told.read_text().endswith("}"))
        yield one, json.loads(told.read_text())["address"]


@contextlib.contextmanager
def dask(
    what: str,
    *arguments: str,
    cwd: Path,
    inside: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """Give a process of a command of Dask's; it and what it started end with this.

    Args:
        what: The command, as `worker`.
        arguments: Its arguments.
        cwd: Where it runs.
        inside: The command in which it runs.
        env: Its environment, but for that of this process.
    """
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
    process = subprocess.Popen(
        [*inside, *command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_WAIT_SECONDS)


def kept(executor: str) -> tuple[int, list[str]]:
    """Return how many children a worker has for an executor, and folders of runs."""
    agent: Any = import_module("parpass.integrations.dask.worker_agent").agent_of(
        executor
    )
    return agent.resources()
