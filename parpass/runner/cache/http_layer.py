"""A layer of a function cache that is on a server: GET and PUT of an object by key.

So the simple HTTP caches of compilers speak (ccache's, Bazel's), and each server that
has files and takes uploads. The name of an object is a digest of its key, so that it is
none that a server could take for something else.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from parpass.errors import ArgumentError, SlowerRunWarning
from parpass.errors.warning import warn
from parpass.object_store import digest_of_object
from parpass.object_table import Patience

_MAGIC = b"parpass object 1\n"
_DIGEST_BYTES = 16
_MOST_BYTES = 1 << 28  # of one object
_PIECE_BYTES = 1 << 20
_REST_SECONDS = 60.0  # for which a server that failed is not asked
_THREAD = "parpass cache layer"
_WAKING_SECONDS = 0.5  # that threads are given to end, once their sockets are closed
_FEW = 4  # objects that are not worth another connection
_STORED = 200, 201, 202, 204
_ABSENT = 404, 410


class HttpLayer:
    """The results that a server has.

    An object is at the URL, with `/` and 64 hexadecimal digits, a digest of its key.
    An answer is checked by a digest, which is with it: that detects damage, and not
    malice. Though no code is loaded from the server, all that may write to it can
    change what a compiler makes; with `http`, all machines between can, too.

    A server that fails, or is too slow, is not asked for a minute, with one warning.
    Redirections are not followed, and proxies not used.

    Args:
        url: The address, of `http` or `https`. A user and a password in it are sent as
            such, and shown nowhere.
        headers: Headers of each request, such as `{"Authorization": "Bearer ..."}`.
        is_writable: Whether results are put there, too.
        timeout: The seconds for which a server may be silent.
        most_seconds: The seconds that one run may wait in all; then what has not come
            is computed.
        connections: The number of requests at once, at most.

    Attributes:
        is_writable: Whether results are put there, too.

    Raises:
        ArgumentError: The URL is none, or an argument is out of its range.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        is_writable: bool = False,
        timeout: float = 5.0,
        most_seconds: float = 10.0,
        connections: int = 8,
    ) -> None:
        self._address = _address(url, headers or {})
        if min(timeout, most_seconds, connections) <= 0:
            raise ArgumentError(
                "expected timeout, most_seconds and connections above 0, got "
                f"{timeout}, {most_seconds} and {connections}"
            )
        self.is_writable = is_writable
        self._timeout, self._most_seconds = timeout, most_seconds
        self._connections = connections
        self._patience = Patience(most_seconds)
        self._rests: dict[str, float] = {}  # until when, by method
        self._has_warned = False

    def __repr__(self) -> str:
        """Return the address, without secrets."""
        return f"HttpLayer('{self._address.shown}')"

    def renew_patience(self) -> None:
        """Begin anew, as for another run; what was said is not said again."""
        self._patience = Patience(self._most_seconds)

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of the objects that are there, by key; no damaged ones."""
        found: dict[str, bytes] = {}
        damaged = 0
        for key, answer in self._exchange("GET", dict.fromkeys(keys, b"")).items():
            data = _unsealed(key, answer)
            if data is None:
                damaged += 1
            else:
                found[key] = data
        if damaged:
            self._say(
                f"{damaged:,} objects are not what was stored under their keys; they "
                "are made again"
            )
        return found

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects; the server limits their number."""
        if self.is_writable:
            self._exchange("PUT", {k: _sealed(k, one) for k, one in objects.items()})

    def _exchange(self, method: str, objects: Mapping[str, bytes]) -> dict[str, bytes]:
        """Make requests; return the answers that have come, with what was there."""
        if not objects or time.monotonic() < self._rests.get(method, 0.0):
            return {}
        with self._patience.spent() as seconds:
            batch = _Batch(self._address, method, objects, self._timeout, seconds)
            batch.run(min(self._connections, -(-len(objects) // _FEW)))
        if batch.problem:
            self._rests[method] = time.monotonic() + _REST_SECONDS
            what = "taken from" if method == "GET" else "put on"
            self._say(
                f"{batch.problem}; so nothing is {what} it for {_REST_SECONDS:.0f} "
                "seconds, and what is missing is computed"
            )
        return batch.answers

    def _say(self, what: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warn(
                f"'{self._address.shown}', a layer of a cache: {what}", SlowerRunWarning
            )


class _Address(NamedTuple):
    """The destination of requests.

    Attributes:
        shown: The URL without a user and a password.
        is_encrypted: Whether it is of `https`.
        host: The name of the server.
        port: Its port; None for that of the scheme.
        path: The beginning of each path.
        headers: The headers of each request.
    """

    shown: str
    is_encrypted: bool
    host: str
    port: int | None
    path: str
    headers: Mapping[str, str]

    def connection(self, timeout: float) -> http.client.HTTPConnection:
        """Return a connection that is not opened yet."""
        kind = http.client.HTTPConnection
        if self.is_encrypted:
            kind = http.client.HTTPSConnection
        return kind(self.host, self.port, timeout=timeout)


def _address(url: str, headers: Mapping[str, str]) -> _Address:
    """Return the parts of a URL.

    Raises:
        ArgumentError: It is none of `http` or `https`, or has more than a path.
    """
    problem = ""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        parts, port, problem = SplitResult("", "", "", "", ""), None, f" ({error})"
    host = parts.hostname
    is_known = parts.scheme in ("http", "https")
    if not (is_known and host and url.isascii()) or parts.query or parts.fragment:
        without_secrets = url.rpartition("@")[2]
        raise ArgumentError(
            "expected a URL such as https://cache.example/parpass, got "
            f"'{without_secrets}'{problem}"
        )
    sent = dict(headers)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        sent["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    place = parts.netloc.rpartition("@")[2]
    path = parts.path.rstrip("/")
    shown = f"{parts.scheme}://{place}{path}"
    return _Address(shown, parts.scheme == "https", host, port, path, sent)


class _Batch:
    """Requests of one kind, over some connections at once.

    Args:
        address: Where they go.
        method: GET or PUT.
        objects: What is sent, by key.
        timeout: The seconds for which a server may be silent.
        seconds: The seconds that all may take.

    Attributes:
        answers: What came, by key.
        problem: The reason for which some have no answer; empty if all have one.
    """

    def __init__(
        self,
        address: _Address,
        method: str,
        objects: Mapping[str, bytes],
        timeout: float,
        seconds: float,
    ) -> None:
        self._address, self._method = address, method
        self._timeout, self._seconds = timeout, seconds
        self._todo = deque(objects.items())
        self._count = len(objects)
        self._done = 0
        self._open: list[http.client.HTTPConnection] = []
        self._has_ended = False
        self._lock = threading.Lock()
        self.answers: dict[str, bytes] = {}
        self.problem = ""

    def run(self, connections: int) -> None:
        """Make the requests; return when all are answered, one failed, or it is time.

        A thread that cannot be woken, since it looks up the name of the server, say, is
        left to itself.
        """
        deadline = time.monotonic() + self._seconds
        count = connections if self._seconds > 0 else 0
        threads = [
            threading.Thread(target=self._work, name=_THREAD, daemon=True)
            for _ in range(count)
        ]
        try:
            for one in threads:
                one.start()
            for one in threads:
                one.join(max(0.0, deadline - time.monotonic()))
        finally:
            with self._lock:
                self._has_ended = True
                if self._done < self._count and not self.problem:
                    self.problem = (
                        f"it gave {self._done:,} of {self._count:,} answers in "
                        f"{self._seconds:.1f} seconds"
                    )
            for connection in self._open:
                _wake(connection)
            deadline = time.monotonic() + _WAKING_SECONDS
            for one in threads:
                if one.ident is not None:
                    one.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        connection = self._address.connection(min(self._timeout, self._seconds))
        self._open.append(connection)
        try:
            while not self._has_ended:
                try:
                    key, body = self._todo.popleft()
                except IndexError:
                    return
                self._answer(key, self._asked(connection, key, body))
        except Exception as error:  # noqa: BLE001 -- of sockets, HTTP, TLS, host names
            self._end(str(error) or type(error).__name__)
        finally:
            connection.close()

    def _answer(self, key: str, data: bytes | None) -> None:
        with self._lock:
            if not self._has_ended:
                self._done += 1
                if data is not None:
                    self.answers[key] = data

    def _end(self, why: str) -> None:
        with self._lock:
            if not self._has_ended:
                self._has_ended = True
                self.problem = why
        for connection in [*self._open]:
            _wake(connection)

    def _asked(
        self, connection: http.client.HTTPConnection, key: str, body: bytes
    ) -> bytes | None:
        """Return what the server answers; None if it does not have that.

        Raises:
            OSError, http.client.HTTPException: It does not answer, or not as it should.
        """
        was_used = connection.sock is not None
        try:
            return self._once(connection, key, body)
        except (ConnectionError, http.client.RemoteDisconnected):
            # It may have closed a connection that nobody had used for a while.
            if not was_used or self._has_ended:
                raise
        connection.close()
        return self._once(connection, key, body)

    def _once(
        self, connection: http.client.HTTPConnection, key: str, body: bytes
    ) -> bytes | None:
        path = f"{self._address.path}/{_name(key)}"
        sends = self._method == "PUT"
        headers = dict(self._address.headers)
        if sends:
            headers.setdefault("Content-Type", "application/octet-stream")
        connection.request(self._method, path, body if sends else None, headers)
        response = connection.getresponse()
        data = _read(response)
        if response.status in (_STORED if sends else (200,)):
            return data
        if response.status in _ABSENT and not sends:
            return None
        raise OSError(f"it answered {response.status} {response.reason[:80]}")


def _wake(connection: http.client.HTTPConnection) -> None:
    """End the wait of a thread for a server."""
    opened = connection.sock
    if opened is not None:
        with contextlib.suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := response.read(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise OSError(f"it sent more than {_MOST_BYTES:,} bytes")
    if response.length:  # of which it has sent fewer
        raise OSError("its answer is not whole")
    return b"".join(pieces)


def _name(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=32).hexdigest()


def _sealed(key: str, data: bytes) -> bytes:
    """Return an object as it is on a server."""
    return _MAGIC + digest_of_object(key.encode(), data) + data


def _unsealed(key: str, sealed: bytes) -> bytes | None:
    """Return the object; None if it is not the one that was stored under this key."""
    begin = len(_MAGIC) + _DIGEST_BYTES
    data = sealed[begin:]
    expected = _MAGIC + digest_of_object(key.encode(), data)
    return data if sealed[:begin] == expected else None
