"""Workers that load their modules while the command still loads its own.

Only names and sizes of files are known by then. If the program is large and the passes
of its IR are slow, workers pay off whatever the pipeline is.
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

_COMMANDS = "opt", "mlir-opt", "codemod"
_EXECUTORS = "--dask", "--executor"
_CACHES = "--cache", "--cache-from", "--cache-to"
_JOBS = *JOBS, "--workers"  # the last one is of `mlir-opt`
_CODEMOD_MODULES = ("libcst.codemod",)
_ENTRY = "parpass.cli.entry"  # each worker loads it: the program begins with it


def preload_from_argv(arguments: Sequence[str]) -> None:
    """Start the fork server with the modules that a command line is likely to need.

    The line is not parsed yet. After a wrong guess the server stays unused, and ends
    with this process.
    """
    if not arguments or arguments[0] not in _COMMANDS:
        return
    if written_value(arguments, _EXECUTORS):
        return
    jobs = written_value(arguments, _JOBS)
    if not _uses_fork_server(int(jobs) if jobs and jobs.isdecimal() else None):
        return
    if arguments[0] == "codemod":
        is_cached = written_value(arguments, _CACHES) is not None
        modules = () if is_cached else modules_for_codemods(arguments)
    else:
        files = [Path(one) for one in arguments if Path(one).is_file()]
        modules = _modules_for_files(files, None)
    if modules:
        _start_fork_server(modules)


def modules_to_preload(
    inputs: Sequence[Path], ir: str | None, jobs: int | None
) -> Sequence[str]:
    """Return the modules for workers to preload, if the inputs are surely large."""
    modules = _modules_for_files(inputs, ir)
    return modules if modules and can_preload(jobs) else ()


def modules_for_codemods(paths: Sequence[str]) -> Sequence[str]:
    """Return the modules for workers to preload for a codemod; none for few files."""
    return _CODEMOD_MODULES if any(map(os.path.isdir, paths)) else ()


def _uses_fork_server(jobs: int | None) -> bool:
    """Return whether a run with so many jobs may have workers from a fork server."""
    return jobs not in (0, 1) and fork_server.has_fork_server()


def can_preload(jobs: int | None) -> bool:
    """Return whether a run with so many jobs has workers that can preload modules."""
    if not _uses_fork_server(jobs):
        return False
    from parpass.runner.cores import usable_cores

    return jobs is not None or usable_cores() > 1


def _modules_for_files(inputs: Sequence[Path], ir: str | None) -> Sequence[str]:
    """Return the modules for workers to preload; none if the files may be small."""
    if len(inputs) != 1 or not inputs[0].is_file():
        return ()
    [path] = inputs
    try:
        found = ir_with_suffix(path.suffix.lower()) if ir is None else ir_named(ir)
    except EntryPointError:  # it is reported when the program is read
        return ()
    if found is None or found.preload is None:
        return ()
    if path.stat().st_size < found.preload_bytes:
        return ()
    return found.preload(path.read_text(errors="replace"))


@contextlib.contextmanager
def preloaded_workers(modules: Sequence[str], jobs: int | None) -> Generator[Executor]:
    """Start workers that preload modules, and yield their pool."""
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
    os.environ.update(env)  # the server inherits it
    try:
        fork_server.preload_fork_server([*modules, _ENTRY])
    finally:
        for name, value in usual.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
