"""A run's directory on a worker's machine, and the blobs fetched into it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parpass.integrations.cluster.cluster_messages import (
    BlobChunk,
    StageFunctions,
    StageInfo,
)
from parpass.spi import (
    Activity,
    BlobServer,
    Extent,
    FileWriter,
    FunctionIndex,
    SharedDirectory,
    StatusBoard,
    StorageError,
    blob_file_name,
    function_file_name,
    index_file_name,
    mark_fetch_all,
    socket_path,
    spec_file_name,
)

Send = Callable[[tuple[Any, ...]], None]


class WorkerRun:
    """A run's directory on this machine.

    It has the specs, the functions if a pass reads others than its own, and the status
    slots of the processes that run the jobs.

    Args:
        name: The run: the path of its directory on the client.
        send: Sends an event to the executor.

    Attributes:
        folder: The directory.
        status_board: The status slots of the processes.
        values: The large values of the run.
    """

    def __init__(self, name: str, send: Send) -> None:
        self.folder = SharedDirectory()
        # If the client's directory exists here, this is the client's machine.
        mark_fetch_all(self.folder, other_machine=not os.path.isdir(name))
        self.status_board = StatusBoard(self.folder)
        self.values = FetchedBlobs(self.folder, lambda ref: send(("value", name, ref)))
        self._name, self._send = name, send
        self._number = 0
        self._slots: FunctionIndex | None = None
        self._is_requested = False
        self._lock = threading.Lock()

    def has_begun(self, stage: StageInfo) -> bool:
        """Return whether this stage, or a later one, has begun on this machine."""
        with self._lock:
            return self._number >= stage.number

    def begin(self, stage: StageInfo, spec: bytes) -> None:
        """Write the spec of a stage, and discard the stage before it."""
        with self._lock:
            if self._number >= stage.number:
                return
            self._discard()
            count = stage.functions
            self._slots = FunctionIndex.create(
                self.folder, index_file_name(stage.number), count
            )
            self.folder.publish(spec_file_name(stage.number), spec)
            self._number, self._is_requested = stage.number, False

    def request_functions(self) -> None:
        """Request all functions of the stage from the client, once."""
        with self._lock:
            is_requested, self._is_requested = self._is_requested, True
        if not is_requested:
            self._send(("functions", self._name, self._number))

    def put_functions(self, number: int, functions: StageFunctions) -> None:
        """Store all functions of a stage."""
        with self._lock:
            if number == self._number and self._slots is not None:
                self.folder.publish(function_file_name(number), functions.content)
                for at, slot in enumerate(functions.slots):
                    self._slots[at] = slot

    def activity_of(self, process: int) -> Activity | None:
        """Return a process's current activity, or its last one if it died."""
        found = (work for work in self.status_board.read() if work.process == process)
        return next(found, None)

    def traceback(self, process: int) -> str:
        """Return the traceback that a process wrote when a signal ended it."""
        found = [one for one in self.status_board.read() if one.process == process]
        return "".join(self.status_board.traceback(one.owner) for one in found)

    def dump_traceback(self, process: int) -> str:
        """Request a traceback from a running process, and return it."""
        found = [one for one in self.status_board.read() if one.process == process]
        return "".join(self.status_board.dump_tracebacks(found).values())

    def close(self) -> None:
        """Remove the directory."""
        self.values.close()
        self.folder.remove()

    def _discard(self) -> None:
        old = self._number
        if old:
            self.folder.discard(spec_file_name(old), function_file_name(old))
            self.folder.discard(index_file_name(old), are_mapped=True)


class FetchedBlobs:
    """The large values of a run, fetched from the client.

    A process on this machine requests one over a socket in the directory, by the
    protocol of the coordinator's server, and waits until it has arrived.

    Args:
        folder: The run's directory on this machine.
        request: Requests a value from the executor.
    """

    def __init__(
        self, folder: SharedDirectory, request: Callable[[Extent], None]
    ) -> None:
        self._folder, self._request = folder, request
        self._lock = threading.Lock()
        self._present: set[Extent] = set()
        self._awaited: dict[Extent, threading.Event] = {}
        self._refused: set[Extent] = set()
        self._writers: dict[str, FileWriter] = {}
        self._sent: dict[str, int] = {}  # bytes, by file of a process here
        path = socket_path(folder)
        self._server = None if path is None else BlobServer(path, self._await)

    def has(self, ref: Extent) -> bool:
        """Return whether a value is present: fetched, or made on this machine."""
        is_ours = ref.file not in self._writers and self._folder.has(ref.file)
        return is_ours or ref in self._present

    def put(self, ref: Extent, content: bytes | None) -> None:
        """Store a value; None marks it as unavailable."""
        with self._lock:
            try:
                if content is None:
                    raise StorageError("it is not there any more")
                if ref not in self._present:
                    if ref.file not in self._writers:
                        self._writers[ref.file] = self._folder.open_writer(ref.file)
                    self._writers[ref.file].write(ref, content)
                self._present.add(ref)
            except StorageError:
                self._refused.add(ref)
            awaited = self._awaited.pop(ref, None)
        if awaited is not None:
            awaited.set()

    def take_new_chunks(self, process: int) -> list[BlobChunk]:
        """Return the values that a local process has made since the last call."""
        chunks: list[BlobChunk] = []
        for name in self._folder.names(blob_file_name(f"{process}-")):
            with Path(self._folder.path, name).open("rb") as file:
                at = file.seek(self._sent.get(name, 0))
                content = file.read()
            if content:
                chunks.append(BlobChunk(name, at, content))
                self._sent[name] = at + len(content)
        return chunks

    def close(self) -> None:
        """Release all waiting processes."""
        with self._lock:
            self._refused.update(self._awaited)
            for awaited in self._awaited.values():
                awaited.set()
            self._awaited.clear()
            for writer in self._writers.values():
                writer.close()
        if self._server is not None:
            self._server.close()

    def _await(self, ref: Extent) -> None:
        with self._lock:
            if self.has(ref):
                return
            is_first = ref not in self._awaited
            awaited = self._awaited.setdefault(ref, threading.Event())
        if is_first:
            self._request(ref)
        awaited.wait()
        if ref in self._refused:
            raise StorageError(f"{ref.file}: a large value that cannot be had")
