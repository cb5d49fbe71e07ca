"""A run's directory on a worker's machine, and the blobs fetched into it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parpass.integrations.dask.dask_messages import (
    BlobChunk,
    StageFunctions,
    StageInfo,
)
from parpass.spi import (
    Extent,
    FileWriter,
    FunctionIndex,
    SharedDirectory,
    Status,
    StatusBoard,
    blob_file_name,
    function_file_name,
    index_file_name,
    spec_file_name,
)

Send = Callable[[tuple[Any, ...]], None]


class WorkerRun:
    """A run's directory on this machine.

    It has the specs, the functions if a pass reads others than its own, and the status
    slots of the processes that run the jobs.

    Args:
        name: The run: the path of its directory on the client.

    Attributes:
        folder: The directory.
        status_board: The status slots of the processes.
        values: The large values of the run.
    """

    def __init__(self, name: str) -> None:
        self.folder = SharedDirectory()
        if not os.path.isdir(name):  # else this is the client's machine
            self.folder.mark_other_machine()
        self.status_board = StatusBoard(self.folder)
        self.values = ReceivedBlobs(self.folder)
        self._name = name
        self._number = 0
        self._slots: FunctionIndex | None = None
        self._waiting: set[int] = set()  # processes that have requested functions
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
            self._number = stage.number
            self._waiting.clear()

    def request_functions(self, process: int, send: Send) -> None:
        """Request all functions of the stage from the client, once for a process.

        If they cannot be sent, the jobs that wait for them are ended, and so are their
        processes: a later one requests them again.

        Args:
            process: The process that waits for them.
            send: Sends an event to the executor.
        """
        with self._lock:
            number, is_first = self._number, process not in self._waiting
            self._waiting.add(process)
        if is_first:
            send(("functions", self._name, number))

    def put_functions(self, number: int, functions: StageFunctions) -> None:
        """Store all functions of a stage."""
        with self._lock:
            if number == self._number and self._slots is not None:
                self.folder.publish(function_file_name(number), functions.content)
                for at, slot in enumerate(functions.slots):
                    self._slots[at] = slot

    def activity_of(self, process: int) -> Status | None:
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


class ReceivedBlobs:
    """The large values of a run on this machine, received from the client or made here.

    Args:
        folder: The run's directory on this machine.
    """

    def __init__(self, folder: SharedDirectory) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._present: set[Extent] = set()
        self._writers: dict[str, FileWriter] = {}
        self._sent: dict[str, int] = {}  # bytes, by file of a process here

    def has(self, ref: Extent) -> bool:
        """Return whether a value is present: received, or made on this machine."""
        is_ours = ref.file not in self._writers and self._folder.has(ref.file)
        return is_ours or ref in self._present

    def put(self, ref: Extent, content: bytes) -> None:
        """Store a value.

        Raises:
            StorageError: There is no room for it.
        """
        with self._lock:
            if self.has(ref):
                return
            if ref.file not in self._writers:
                self._writers[ref.file] = self._folder.open_writer(ref.file)
            self._writers[ref.file].write(ref, content)
            self._present.add(ref)

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
        """Close all open files."""
        with self._lock:
            for writer in self._writers.values():
                writer.close()
