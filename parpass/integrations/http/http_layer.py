"""A layer of a function cache that is on a server: GET and PUT of an object by key.

So the simple HTTP caches of compilers speak (ccache's, Bazel's), and each server that
has files and takes uploads. The name of an object is a digest of its key, so that it is
none that a server could take for something else.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3

from parpass.errors import ArgumentError, SlowerRunWarning
from parpass.spi import warn

_MAGIC = b"parpass object 1\n"
_DIGEST_BYTES = 16
_MOST_BYTES = 1 << 28  # of all answers to one question
_PIECE_BYTES = 1 << 16
_REST_SECONDS = 60.0  # for which a server that failed is not asked
_THREAD = "parpass cache layer"
_ENDING_SECONDS = 0.5  # that threads are given to end, once their time is over
_FEW = 4  # objects that are not worth another connection
_SHOWN = 200  # characters of what a server says
_STORED = 200, 201, 202, 204
_ABSENT = 404, 410


class HttpLayer:
    """A cache layer whose results are on a server.

    The address of an object is the URL, `/`, and 64 hexadecimal digits, a digest of its
    key. Each answer comes with a digest, which detects damage but not malice. No code
    is loaded from the server, but everyone with write access can change what a
    compiler produces; with `http`, so can every machine in between.

    If the server fails or is too slow, it is skipped for a minute, with one warning.
    Redirects are not followed, and proxies are not used.

    Args:
        url: The address, of `http` or `https`. A user and a password in it are sent,
            and shown nowhere.
        headers: Headers of each request, such as `{"Authorization": "Bearer ..."}`.
        is_writable: Whether to store results as well.
        timeout: The seconds for which the server may be silent.
        most_seconds: The total seconds that one run may wait; results that have not
            arrived by then are computed.
        connections: The maximum number of requests at once.

    Attributes:
        is_writable: Whether results are stored as well.

    Raises:
        ArgumentError: The URL is invalid, or an argument is out of range.
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
        if min(timeout, most_seconds, connections) <= 0:
            raise ArgumentError(
                "expected timeout, most_seconds and connections above 0, got "
                f"{timeout}, {most_seconds} and {connections}"
            )
        self._shown, secrets = _without_secrets(url)
        self._client = urllib3.PoolManager(
            maxsize=connections,
            block=True,
            retries=False,
            headers={**secrets, **(headers or {})},
        )
        self.is_writable = is_writable
        self._timeout, self._most_seconds = timeout, most_seconds
        self._connections = connections
        self._seconds_left = most_seconds
        self._rests: dict[str, float] = {}  # until when, by method
        self._has_warned = False

    def __repr__(self) -> str:
        """Return the address, without secrets."""
        return f"HttpLayer('{self._shown}')"

    def renew_patience(self) -> None:
        """Restart the limits, as for another run; warnings are not repeated."""
        self._seconds_left = self._most_seconds

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the objects that the server has, by key, without damaged ones."""
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
        """Store objects; the server limits how many."""
        if self.is_writable:
            self._exchange("PUT", {k: _sealed(k, one) for k, one in objects.items()})

    def _exchange(self, method: str, objects: Mapping[str, bytes]) -> dict[str, bytes]:
        """Make requests; return the answers that have come, with what was there."""
        if not objects or time.monotonic() < self._rests.get(method, 0.0):
            return {}
        began = time.monotonic()
        batch = _Batch(
            self._client,
            self._shown,
            method,
            objects,
            self._timeout,
            self._seconds_left,
        )
        batch.run(min(self._connections, -(-len(objects) // _FEW)))
        spent = time.monotonic() - began
        self._seconds_left = max(0.0, self._seconds_left - spent)
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
            warn(f"'{self._shown}', a layer of a cache: {what}", SlowerRunWarning)


def _without_secrets(url: str) -> tuple[str, Mapping[str, str]]:
    """Return a URL without user and password, and the headers that send them.

    Raises:
        ArgumentError: It is none of `http` or `https`, or has more than a path.
    """
    problem = ""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        parts, problem = SplitResult("", "", "", "", ""), f" ({error})"
    is_known = parts.scheme in ("http", "https") and parts.hostname and url.isascii()
    if not (is_known and url.isprintable()) or parts.query or parts.fragment:
        without_secrets = url.rpartition("@")[2]
        raise ArgumentError(
            "expected a URL such as https://cache.example/parpass, got "
            f"'{_printable(without_secrets)}'{problem}"
        )
    secrets: dict[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        made = urllib3.make_headers(basic_auth=pair)
        secrets = {"Authorization": made["authorization"]}
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}", secrets


class _OverdueError(Exception):
    """The requests have taken as long as they may."""


class _Batch:
    """Requests of one kind, over some connections at once.

    Args:
        client: Makes them.
        url: What the address of each begins with.
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
        client: urllib3.PoolManager,
        url: str,
        method: str,
        objects: Mapping[str, bytes],
        timeout: float,
        seconds: float,
    ) -> None:
        self._client, self._url, self._method = client, url, method
        self._timeout, self._seconds = timeout, seconds
        self._deadline = time.monotonic() + seconds
        self._todo = deque(objects.items())
        self._count = len(objects)
        self._done = 0
        self._nbytes = 0  # of all answers, as far as they have come
        self._has_ended = False
        self._lock = threading.Lock()
        self.answers: dict[str, bytes] = {}
        self.problem = ""

    def run(self, connections: int) -> None:
        """Make the requests; return when all are answered, one failed, or it is time.

        A thread that does not end in time, since it looks up the name of the server,
        say, is left to itself.
        """
        count = connections if self._seconds > 0 else 0
        threads = [
            threading.Thread(target=self._work, name=_THREAD, daemon=True)
            for _ in range(count)
        ]
        try:
            for one in threads:
                one.start()
            for one in threads:
                one.join(max(0.0, self._deadline - time.monotonic()))
        finally:
            with self._lock:
                self._has_ended = True
                if self._done < self._count and not self.problem:
                    self.problem = (
                        f"it gave {self._done:,} of {self._count:,} answers in "
                        f"{self._seconds:.1f} seconds"
                    )
            deadline = time.monotonic() + _ENDING_SECONDS
            for one in threads:
                if one.ident is not None:
                    one.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        try:
            while not self._has_ended:
                try:
                    key, body = self._todo.popleft()
                except IndexError:
                    return
                self._answer(key, self._asked(key, body))
        except _OverdueError:
            pass  # `run` says so, whichever thread sees it first
        except Exception as error:  # noqa: BLE001 -- of sockets, HTTP, TLS, host names
            with self._lock:
                if not self._has_ended:
                    self._has_ended = True
                    self.problem = _problem(error)

    def _answer(self, key: str, data: bytes | None) -> None:
        with self._lock:
            if not self._has_ended:
                self._done += 1
                if data is not None:
                    self.answers[key] = data

    def _asked(self, key: str, body: bytes) -> bytes | None:
        """Return what the server answers; None if it does not have that.

        Raises:
            OSError, urllib3.exceptions.HTTPError: It does not answer as it should.
        """
        try:
            return self._once(key, body)
        except urllib3.exceptions.ProtocolError:
            # It may have closed a connection that nobody had used for a while.
            if self._has_ended:
                raise
        return self._once(key, body)

    def _once(self, key: str, body: bytes) -> bytes | None:
        sends = self._method == "PUT"
        headers = dict(self._client.headers)
        if sends:
            headers.setdefault("Content-Type", "application/octet-stream")
        left = max(0.01, min(self._timeout, self._deadline - time.monotonic()))
        response = self._client.request(
            self._method,
            f"{self._url}/{_name(key)}",
            body=body if sends else None,
            headers=headers,
            retries=False,
            timeout=left,
            preload_content=False,
            decode_content=False,
        )
        try:
            data = self._read(response)
        finally:
            if not response.closed:
                response.close()
            response.release_conn()
        if response.status in (_STORED if sends else (200,)):
            return data
        if response.status in _ABSENT and not sends:
            return None
        raise OSError(f"it answered {response.status} {response.reason or ''}")

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        pieces: list[bytes] = []
        while piece := response.read1(_PIECE_BYTES):
            pieces.append(piece)
            with self._lock:
                self._nbytes += len(piece)
            if self._nbytes > _MOST_BYTES:
                raise OSError(f"its answers have more than {_MOST_BYTES:,} bytes")
            if self._has_ended or time.monotonic() > self._deadline:
                raise _OverdueError
        return b"".join(pieces)


def _problem(error: BaseException) -> str:
    """Return what went wrong, without the client's own words around it."""
    reason = error
    while (inner := next(iter(reason.args[-1:]), None)) is not None:
        if not isinstance(inner, BaseException):
            break
        reason = inner
    return _printable(str(reason) or type(reason).__name__)


def _printable(text: str) -> str:
    """Return what a server said with all that could steer a terminal escaped."""
    shown = text[:_SHOWN]
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode()
        for one in shown
    )


def _name(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=32).hexdigest()


def _digest(key: bytes, data: bytes) -> bytes:
    told = hashlib.blake2b(len(key).to_bytes(8, "little"), digest_size=_DIGEST_BYTES)
    told.update(key)
    told.update(data)
    return told.digest()


def _sealed(key: str, data: bytes) -> bytes:
    """Return an object as it is on a server."""
    return _MAGIC + _digest(key.encode(), data) + data


def _unsealed(key: str, sealed: bytes) -> bytes | None:
    """Return the object; None if it is not the one that was stored under this key."""
    begin = len(_MAGIC) + _DIGEST_BYTES
    data = sealed[begin:]
    expected = _MAGIC + _digest(key.encode(), data)
    return data if sealed[:begin] == expected else None
