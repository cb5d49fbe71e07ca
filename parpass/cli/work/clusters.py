"""Workers of a cluster, for a command."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from importlib import import_module

from parpass.cli.showing.failure import InputError
from parpass.errors import RuntimeUseError
from parpass.runner import Executor


@contextlib.contextmanager
def on_cluster(address: str) -> Generator[Executor]:
    """Give what runs jobs on the Dask cluster whose scheduler is there.

    Raises:
        InputError: Dask is not installed, or there is no such cluster.
    """
    try:
        distributed = import_module("distributed")
        from parpass.adapters.dask import DaskExecutor  # which needs it
    except ModuleNotFoundError as error:
        raise InputError(
            f"--dask needs {error.name}: install 'parpass[dask]'"
        ) from None
    try:
        client = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at '{address}': {error}") from None
    with client:
        try:
            executor = DaskExecutor(client)
        except RuntimeUseError as error:
            raise InputError(str(error)) from None
        with executor:
            yield executor
