"""Workers of a cluster, for a command."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator
from importlib import import_module
from typing import Any

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
    # It says of a connection that is lost, and given up, what it was at: all of it.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        _check_certificates(address, distributed.Security())
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


def _check_certificates(address: str, security: Any) -> None:
    """Check that there is what an encrypted connection needs.

    Raises:
        InputError: It is not configured.
    """
    encryption = security.get_connection_args("client")["ssl_context"]
    if address.startswith("tls:") and encryption is None:
        raise InputError(
            f"--dask {address} needs certificates: set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, and with it ...__CLIENT__CERT and "
            "...__CLIENT__KEY, or distributed.comm.tls in Dask's configuration"
        )
