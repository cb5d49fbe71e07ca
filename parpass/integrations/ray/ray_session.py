"""The parts of `ray://...`, and the connection of this process to its cluster."""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Self
from urllib.parse import SplitResult, parse_qsl, urlsplit

import ray

from parpass.errors import RuntimeUseError
from parpass.integrations.ray.guest import as_guest

_PORT = 10001  # of Ray's server for clients
_REACH_SECONDS = 5.0
_FORMS = (
    "expected ray://HOST:10001, the cluster at whose head Ray's client server is, "
    "ray://auto, the one that this machine is part of, or ray://local, one that is "
    "started here; each with ?cpus=N for N processors of each machine"
)
_HINT = (
    "something listens there: is it Ray's client server (--ray-client-server-port), "
    "and is RAY_AUTH_MODE here what it is there?"
)


class RayUrl(NamedTuple):
    """The parts of a URL.

    Attributes:
        url: The whole.
        host: The name or address of the head; `auto` and `local` are no hosts.
        port: The port of its client server.
        cpus: How many processors are taken on each node; None for all.
    """

    url: str
    host: str
    port: int
    cpus: int | None

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the parts.

        Raises:
            RuntimeUseError: It has no such form.
        """
        try:
            return cls(url, *cls._parts(urlsplit(url)))
        except ValueError as error:
            raise RuntimeUseError(f"{_FORMS}; got '{url}': {error}") from None

    @staticmethod
    def _parts(found: SplitResult) -> tuple[str, int, int | None]:
        given = dict(parse_qsl(found.query, keep_blank_values=True))
        cpus = given.pop("cpus", None)
        if given:
            raise ValueError(f"no option '{next(iter(given))}'")
        if found.path.strip("/") or found.username or found.fragment:
            raise ValueError("it has more than a host and a port")
        if cpus is not None and (not cpus.isdecimal() or int(cpus) < 1):
            raise ValueError(f"expected a number of processors, got '{cpus}'")
        host = found.hostname or "auto"
        return host, found.port or _PORT, None if cpus is None else int(cpus)


@contextlib.contextmanager
def open_session(url: RayUrl) -> Generator[None]:
    """Connect this process, unless it is connected already and the URL is `ray://auto`.

    What this opened is closed afterwards.

    Raises:
        RuntimeUseError: There is no such cluster, it has other versions, or this
            process is connected to another cluster.
    """
    is_connected: bool = ray.is_initialized()
    if is_connected and url.host == "auto":
        yield
        return
    if is_connected:
        raise RuntimeUseError(
            f"this process is connected to a Ray cluster, and cannot be to '{url.url}' "
            "too; use executor='ray://auto', or call ray.shutdown before"
        )
    try:
        with as_guest():
            _connect(url)
    except Exception as error:
        raise RuntimeUseError(
            f"no Ray cluster answers at '{url.url}': {error}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _connect(url: RayUrl) -> None:
    init: Any = functools.partial(ray.init, configure_logging=False)
    if url.host == "auto":
        init("auto", log_to_driver=False)
    elif url.host == "local":
        init("local", num_cpus=url.cpus, include_dashboard=False, log_to_driver=False)
    else:
        # Ray itself tries for half a minute.
        socket.create_connection((url.host, url.port), _REACH_SECONDS).close()
        host = f"[{url.host}]" if ":" in url.host else url.host
        try:
            _try_twice(functools.partial(init, f"ray://{host}:{url.port}"))
        except ConnectionError as error:
            raise ConnectionError(f"{error}; {_HINT}") from error


def _try_twice(connect: Callable[[], object]) -> None:
    """Connect, if need be once more.

    Ray's server starts a process for each client, and fails if it looks at that too
    early, as it does on a busy machine.
    """
    try:
        connect()
    except ConnectionError as error:
        if "Initialization failure" not in str(error):
            raise
        connect()
