"""Executor of jobs on the workers of a Dask cluster, which may be on other machines."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import Any

from dask import config
from dask.utils import parse_timedelta
from distributed import Client, Security

from parpass.errors import RuntimeUseError
from parpass.integrations.cluster.cluster_executor import ClusterExecutor
from parpass.integrations.dask.dask_connection import DaskConnection

_CONNECT_SECONDS = 10.0


@contextlib.contextmanager
def open_executor(url: str) -> Generator[DaskExecutor]:
    """Give an executor on the cluster whose scheduler is at `dask://HOST:PORT`.

    An address with a protocol of Dask's follows in whole, as in `dask://tls://HOST:PORT`.
    Its client is closed with it.

    Raises:
        RuntimeUseError: There is no scheduler, or it has no workers.
    """
    address = url.partition("://")[2]
    if "://" not in address:
        address = f"tcp://{address}"
    _check_certificates(address)
    try:
        client: Any = Client(address, timeout=_patience(), set_as_default=False)
    except ValueError as error:
        raise RuntimeUseError(
            f"expected the address of a Dask scheduler, such as dask://host:8786, got "
            f"'{url}': {error}"
        ) from error
    except OSError as error:
        raise RuntimeUseError(
            f"no Dask scheduler answers at '{address}': {error}"
        ) from error
    with client, DaskExecutor(client) as executor:
        yield executor


def _patience() -> float:
    """Return for how many seconds to try: at most what Dask is configured for."""
    settings: Any = config
    to_seconds: Any = parse_timedelta
    configured = to_seconds(settings.get("distributed.comm.timeouts.connect"))
    return min(float(configured), _CONNECT_SECONDS)


def _check_certificates(address: str) -> None:
    """Check that there is what an encrypted connection needs.

    Raises:
        RuntimeUseError: It is not configured.
    """
    security: Any = Security()
    encryption = security.get_connection_args("client")["ssl_context"]
    if address.startswith("tls:") and encryption is None:
        raise RuntimeUseError(
            f"{address} needs certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
            "and with it ...__CLIENT__CERT and ...__CLIENT__KEY, or "
            "distributed.comm.tls in Dask's configuration"
        )


class DaskExecutor(ClusterExecutor):
    """Runs jobs on the workers of a Dask cluster; see `parpass.spi.Executor`.

    Args:
        client: A `distributed.Client`; it is not closed. This executor has a connection
            of its own to the same scheduler.

    Raises:
        RuntimeUseError: There are no workers, they have another Python or parpass, or
            the client is not connected.
    """

    def __init__(self, client: Any) -> None:
        super().__init__(functools.partial(DaskConnection, client))
