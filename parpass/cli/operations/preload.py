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

from parpass.cli.options.written import JOBS, written_value
from parpass.entry_points import ir_named, ir_with_suffix
from parpass.errors import EntryPointError
from parpass.runner.follow.environment import worker_env
from parpass.runner.pool import fork_server

if TYPE_CHECKING:
    from parpass.runner import Executor

_COMMANDS = "opt", "mlir-opt"
_EXECUTORS = "--dask", "--executor"
_PROCESSES = *JOBS, "--workers"  # `mlir-opt` has the last one
_ENTRY = "parpass.cli.entry"  # which each worker loads, as the program begins with it


def preload_from_argv(arguments: Sequence[str]) -> None:
    """Start the fork server with the modules that a command line is likely to need.

    The line is not parsed yet. If the guess is wrong, an unused process is started,
    which ends with this one.
    """
    is_for_workers = bool(arguments) and arguments[0] in _COMMANDS
    if not (is_for_workers and fork_server.has_fork_server()):
        return
    if written_value(arguments, _EXECUTORS):
        return
    if written_value(arguments, _PROCESSES) in ("0", "1"):
        return
    files = [Path(one) for one in arguments if Path(one).is_file()]
    if modules := _modules_for_files(files, None):
        _start_fork_server(modules)


def modules_to_preload(
    inputs: Sequence[Path], ir: str | None, jobs: int | None
) -> Sequence[str]:
    """Return what workers load for inputs, if these are sure to be much work."""
    modules = _modules_for_files(inputs, ir)
    return modules if modules and can_preload(jobs) else ()


def can_preload(jobs: int | None) -> bool:
    """Return whether so many jobs are several, whose workers a fork server makes."""
    if jobs in (0, 1) or not fork_server.has_fork_server():
        return False
    from parpass.runner.cores import usable_cores  # with loky, which takes time

    return jobs is not None or usable_cores() > 1


def _modules_for_files(inputs: Sequence[Path], ir: str | None) -> Sequence[str]:
    """Return what workers should load for files, before anything is read of them.

    Nothing where the files may be small, or are no files.
    """
    if len(inputs) != 1 or not inputs[0].is_file():
        return ()
    [path] = inputs
    try:
        found = ir_with_suffix(path.suffix.lower()) if ir is None else ir_named(ir)
    except EntryPointError:  # which is told when the program is read
        return ()
    if found is None or found.preload is None:
        return ()
    if path.stat().st_size < found.preload_characters:
        return ()
    return found.preload(path.read_text(errors="replace"))


@contextlib.contextmanager
def preloaded_workers(modules: Sequence[str], jobs: int | None) -> Generator[Executor]:
    """Give workers that begin with modules, and are started at once."""
    from parpass.runner.cores import clamp_workers, usable_cores
    from parpass.runner.pool.worker_pool import Pool

    _start_fork_server(modules)
    workers = usable_cores() if jobs is None else clamp_workers(jobs)
    executor = Pool(workers, preload=modules)
    executor.start()
    try:
        yield executor
    finally:
        executor.close()


def _start_fork_server(modules: Sequence[str]) -> None:
    env = worker_env()
    usual = {name: os.environ.get(name) for name in env}
    os.environ.update(env)  # which the server has from here
    try:
        fork_server.preload_fork_server([*modules, _ENTRY])
    finally:
        for name, value in usual.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
