"""The executor of a command's jobs: its own workers, a cluster, or a named executor."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.operations.preload import preloaded_workers
from parpass.cli.output.failure import InputError, command_text
from parpass.entry_points import open_executor
from parpass.errors import ArgumentError, EntryPointError, RuntimeUseError
from parpass.object_store import default_folder
from parpass.runner import (
    FunctionCache,
    HttpLayer,
    Runner,
    open_runner,
)


@contextlib.contextmanager
def opening_runner(
    jobs: int | None,
    executor: str | None,
    *,
    dask: str | None = None,
    preload: Sequence[str] = (),
    cache: FunctionCache | None = None,
) -> Generator[Runner]:
    """Open a runner for a command, and close it, with what was started for it.

    Args:
        jobs: What `-j` gives.
        executor: What `--executor` gives, a URL whose scheme is an entry point.
        dask: What `--dask` gives, the address of a scheduler.
        preload: Modules for workers to begin with, which are started at once.
        cache: The results of earlier runs.

    Raises:
        click.BadParameter: There is no such executor, or it cannot be opened.
    """
    option = "'--executor'"
    if dask is not None:
        executor, option = f"dask://{dask}", "'--dask'"
    with contextlib.ExitStack() as stack:
        given: Any = None
        if executor is not None:
            try:
                opened = open_executor(executor)
                # Their logs repeat at length what errors say; Ray sets the level of its
                # own when it is loaded.
                for name in ("distributed.client", "ray"):
                    logging.getLogger(name).setLevel(logging.CRITICAL)
                given = stack.enter_context(opened)
            except (ArgumentError, EntryPointError, RuntimeUseError) as error:
                raise click.BadParameter(
                    command_text(error), param_hint=option
                ) from None
        elif preload:
            given = stack.enter_context(preloaded_workers(preload, jobs))
        workers = jobs if given is None else None
        yield stack.enter_context(
            open_runner(workers=workers, executor=given, cache=cache)
        )


def function_cache(
    folder: str | None,
    lower: Sequence[str],
    writable: Sequence[str],
    verify: float | None,
) -> FunctionCache | None:
    """Return the cache that `--cache` and the like name; None for none.

    Args:
        folder: What `--cache` gives; empty for the folder of `parpass cache`.
        lower: What each `--cache-from` gives.
        writable: What each `--cache-to` gives.
        verify: What `--verify-cache` gives.

    Raises:
        click.BadParameter: One is no folder and no URL.
        InputError: The user has no folder for a cache.
    """
    if folder is None and not lower and not writable:
        return None
    for one in lower:
        if not one or Path(one).is_file():
            raise click.BadParameter(
                f"expected the folder of a cache or a URL, got '{one}'",
                param_hint="'--cache-from'",
            )
    option = "'--cache-to'"
    try:
        servers = [HttpLayer(one, is_writable=True) for one in writable]
        option = "'--cache-from'"
        if folder is not None:
            folder = folder or str(default_folder())
        below = [*lower, *servers]
        return FunctionCache(folder, lower=below, verify=verify or 0.0)
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    except OSError as error:
        raise InputError(f"there is no folder for a cache: {error}") from None
