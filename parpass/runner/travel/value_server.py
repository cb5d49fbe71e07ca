"""The socket over which workers ask the coordinator to write down a large value.

It is in the run's folder, which only this user can enter.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from parpass.runner.travel.folder import Folder, Ref, StorageError

_SOCKET = "values"
_LONGEST = 103  # bytes in a socket's path; 107 on Linux, fewer on other systems
_REQUEST = struct.Struct("<qqH")  # offset, length, and bytes of the file's name, behind
_ANSWER = b"\x01"
_NO_ROOM = b"\x02"


def socket_path(folder: Folder) -> str | None:
    """Return where the socket of a run is; None where its path would be too long."""
    path = os.path.join(folder.path, _SOCKET)
    return path if len(os.fsencode(path)) <= _LONGEST else None


class ValueClient:
    """A worker's side."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None

    def ask(self, path: str, ref: Ref) -> None:
        """Have a value written down in its file.

        Raises:
            OSError: That cannot be.
        """
        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX)
            self._connection.connect(path)
        name = ref.file.encode()
        request = _REQUEST.pack(ref.offset, ref.length, len(name))
        self._connection.sendall(request + name)
        answer = self._connection.recv(1)
        if answer == _NO_ROOM:
            raise OSError("no room for a large value")
        if answer != _ANSWER:
            raise ConnectionError("the coordinator does not answer any more")

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


class ValueServer:
    """The coordinator's side: answers each worker in a thread of its own.

    Args:
        path: Where the socket is to be.
        answer: Writes a value down.

    Raises:
        OSError: There can be no socket.
    """

    def __init__(self, path: str, answer: Callable[[Ref], None]) -> None:
        self._answer = answer
        self._path = path
        self._closing = False
        self._connections: list[socket.socket] = []
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.bind(path)
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self._threads = [self._start(self._accept)]

    def close(self) -> None:
        """Close all connections and end the threads."""
        self._closing = True
        with contextlib.suppress(OSError):  # what wakes a thread that accepts on Linux,
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as waking:
            waking.connect(self._path)  # and what does elsewhere
        self._threads[0].join()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _start(self, target: Callable[..., None], *args: Any) -> threading.Thread:
        thread = threading.Thread(
            target=target, args=args, name="parpass-large-values", daemon=True
        )
        thread.start()
        return thread

    def _accept(self) -> None:
        # Closed however this ends, so that no worker waits for what never comes.
        with self._socket, contextlib.suppress(OSError):
            while not self._closing:
                connection, _ = self._socket.accept()
                try:
                    thread = self._start(self._serve, connection)
                except RuntimeError:  # there can be no thread
                    connection.close()  # which tells the worker
                    continue
                self._connections.append(connection)
                self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(ConnectionError):
            while True:
                request = connection.recv(_REQUEST.size, socket.MSG_WAITALL)
                if len(request) < _REQUEST.size:
                    return
                offset, length, named = _REQUEST.unpack(request)
                name = connection.recv(named, socket.MSG_WAITALL).decode()
                try:
                    self._answer(Ref(name, offset, length))
                except StorageError:
                    connection.sendall(_NO_ROOM)
                else:
                    connection.sendall(_ANSWER)
