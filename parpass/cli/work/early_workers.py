"""Workers that load what they need while the command still loads what it needs itself.

Nothing is known yet but the names and sizes of files. A program that is long and of an
IR whose passes are slow is for workers, whatever is done with it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parpass.adapters.xdsl.worker_modules import (
    IR_NAME,
    MUCH_TEXT,
    SUFFIX,
    worker_modules,
)
from parpass.runner.executor import environment_of_workers
from parpass.runner.pool import fork_server

if TYPE_CHECKING:
    from parpass.runner import Executor

_COMMAND = "opt"
_ENTRY = "parpass.cli.entry"  # which each worker loads, as the program begins with it


def load_ahead(arguments: Sequence[str]) -> None:
    """Have the fork server begin to load what a command line is likely to need.

    The line is not parsed yet. Where this is mistaken there is a process for nothing,
    which ends with this one.
    """
    if arguments[:1] != [_COMMAND] or not fork_server.has_fork_server():
        return
    if "--dask" in arguments or "-j0" in arguments:
        return
    files = [Path(one) for one in arguments if Path(one).is_file()]
    if modules := _loaded_ahead(files, None):
        _load(modules)


def needed_early(
    inputs: Sequence[Path], ir: str | None, jobs: int | None
) -> Sequence[str]:
    """Return what workers load for inputs, if these are sure to be much work."""
    modules = _loaded_ahead(inputs, ir)
    if not modules or jobs in (0, 1) or not fork_server.has_fork_server():
        return ()
    from parpass.runner.placing.cores import usable_cores  # with loky, which takes time

    return modules if jobs or usable_cores() > 1 else ()


def _loaded_ahead(inputs: Sequence[Path], ir: str | None) -> Sequence[str]:
    """Return what workers should load for files, before anything is read of them.

    Nothing where the files may be small, or are no files.
    """
    if len(inputs) != 1 or not inputs[0].is_file():
        return ()
    [path] = inputs
    if ir != IR_NAME and (ir is not None or path.suffix.lower() != SUFFIX):
        return ()
    if path.stat().st_size < MUCH_TEXT:
        return ()
    return worker_modules(path.read_text(errors="replace"))


@contextlib.contextmanager
def early_workers(modules: Sequence[str], jobs: int | None) -> Generator[Executor]:
    """Give workers that begin with modules, and are started at once."""
    from parpass.runner.driving.runs import sensible_workers  # with all of the runner
    from parpass.runner.placing.cores import usable_cores
    from parpass.runner.pool.loky_executor import LokyExecutor

    _load(modules)
    workers = usable_cores() if jobs is None else sensible_workers(jobs)
    executor = LokyExecutor(workers, preload=modules)
    executor.start()
    try:
        yield executor
    finally:
        executor.close()


def _load(modules: Sequence[str]) -> None:
    env = environment_of_workers()
    usual = {name: os.environ.get(name) for name in env}
    os.environ.update(env)  # which the server has from here
    try:
        fork_server.load_ahead([*modules, _ENTRY])
    finally:
        for name, value in usual.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
