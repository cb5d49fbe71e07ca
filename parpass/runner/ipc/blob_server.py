"""The socket by which workers make the coordinator write a large value to its file.

It is in the shared directory of the run, which only its user can enter.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from parpass.runner.ipc.shared_dir import Extent, SharedDirectory, StorageError

_SOCKET = "values"  # the file name of the socket
_MAX_PATH_BYTES = 103  # bytes of a socket's path; 107 on Linux, fewer on other systems
# Offset, length, and the bytes of the name of the file, which follows.
_REQUEST = struct.Struct("<qqH")
_ANSWER = b"\x01"  # the value is in the file
_NO_ROOM = b"\x02"  # there is no space for it


def socket_path(folder: SharedDirectory) -> str | None:
    """Return the path of the socket of a run; None if it would be too long."""
    path = os.path.join(folder.path, _SOCKET)
    return path if len(os.fsencode(path)) <= _MAX_PATH_BYTES else None


class BlobClient:
    """The side of a worker; owns a connection, made on the first request."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None

    def request(self, path: str, extent: Extent) -> None:
        """Block until the coordinator has written a value to its extent.

        Raises:
            OSError: There is no room for it, or no coordinator.
        """
        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX)
            self._connection.connect(path)
        name = extent.file.encode()
        request = _REQUEST.pack(extent.offset, extent.length, len(name))
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


class BlobServer:
    """The side of the coordinator; owns the socket and one thread for each worker.

    Args:
        path: The path of the socket.
        write: Writes the value of an extent to its file.

    Raises:
        OSError: The socket cannot be created.
    """

    def __init__(self, path: str, write: Callable[[Extent], None]) -> None:
        self._write = write
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
        with contextlib.suppress(OSError):  # this wakes `accept` on Linux,
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as waking:
            waking.connect(self._path)  # and this on other systems
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
        # Closed however this ends, so that no worker waits for an answer forever.
        with self._socket, contextlib.suppress(OSError):
            while not self._closing:
                connection, _ = self._socket.accept()
                try:
                    thread = self._start(self._serve, connection)
                except RuntimeError:  # no thread can be started
                    connection.close()  # so the worker does not wait
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
                    self._write(Extent(name, offset, length))
                except StorageError:
                    connection.sendall(_NO_ROOM)
                else:
                    connection.sendall(_ANSWER)
