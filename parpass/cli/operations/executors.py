"""The executor of a command's jobs: its own workers, a cluster, or a named executor."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import click

from parpass.cli.operations.preload import preloaded_workers
from parpass.cli.options.shared import CacheOptions
from parpass.cli.output.failure import InputError, command_text
from parpass.entry_points import open_cache_layer, open_executor
from parpass.errors import ArgumentError, EntryPointError, RuntimeUseError
from parpass.object_store import default_folder
from parpass.runner import (
    FunctionCache,
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
    """Open a runner for a command, and close it with its executor.

    `executor` is a URL whose scheme is an entry point, `dask` the address of a
    scheduler. With `preload`, workers start at once and preload these modules.
    """
    option = "'--executor'"
    if dask is not None:
        executor, option = f"dask://{dask}", "'--dask'"
    with contextlib.ExitStack() as stack:
        where: Any = None
        if executor is not None:
            try:
                opened = open_executor(executor)
                # Its log repeats at length what errors say.
                logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
                where = stack.enter_context(opened)
            except (ArgumentError, EntryPointError, RuntimeUseError) as error:
                raise click.BadParameter(
                    command_text(error), param_hint=option
                ) from None
        elif preload:
            where = stack.enter_context(preloaded_workers(preload, jobs))
        workers = jobs if where is None else None
        yield stack.enter_context(
            open_runner(workers=workers, executor=where, cache=cache)
        )


def function_cache(given: CacheOptions) -> FunctionCache | None:
    """Return the cache of the options; `--cache=` is that of `parpass cache`."""
    if not given.is_cached:
        return None
    for one in given.cache_from:
        if not one or Path(one).is_file():
            raise click.BadParameter(
                f"expected the folder of a cache or a URL, got '{one}'",
                param_hint="'--cache-from'",
            )
    option = "'--cache-to'"
    try:
        servers = [open_cache_layer(one, is_writable=True) for one in given.cache_to]
        option = "'--cache-from'"
        folder = given.cache
        if folder is not None:
            folder = folder or str(default_folder())
        below = [*given.cache_from, *servers]
        return FunctionCache(folder, lower=below, verify=given.verify_cache or 0.0)
    except (ArgumentError, EntryPointError) as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    except OSError as error:
        raise InputError(f"no folder for the cache: {error}") from None
