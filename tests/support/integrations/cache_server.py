"""Servers that a layer of a function cache talks to: good ones, and others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CacheServer(ThreadingHTTPServer):
    """A server of objects by path, with `/cache` before them.

    Attributes:
        objects: What was put on it, by path.
        asked: The method of each request that has come.
        paths: What was asked for.
        headers: Those of the last request.
        misbehave: Answers a request otherwise, and returns whether it has done so.
        is_over: Set when the server ends: what hangs waits for it.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.paths: set[str] = set()
        self.headers: dict[str, str] = {}
        self.misbehave: Callable[[Any], bool] = lambda _: False
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}/cache"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a client that goes away is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one piece for an answer, or each waits for an acknowledgement

    @property
    def cache(self) -> CacheServer:
        assert isinstance(self.server, CacheServer)
        return self.server

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        if self._begin():
            found = self.cache.objects.get(self.path)
            self.answer(404 if found is None else 200, found or b"")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self._begin():
            self.cache.objects[self.path] = content
            self.answer(201)

    def _begin(self) -> bool:
        server = self.cache
        server.asked.append(self.command)
        server.paths.add(self.path)
        server.headers = {**self.headers}
        if not self.path.startswith("/cache/"):
            self.answer(400)
            return False
        return not server.misbehave(self)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- as above
        """Write nothing."""


@contextlib.contextmanager
def serving() -> Generator[CacheServer]:
    """Run a server on this machine, in threads."""
    server = CacheServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
