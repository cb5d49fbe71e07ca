"""Messages between the executor and the workers of a Dask cluster.

Specs and large values are parts: each is sent once, and referred to by its digest.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from parpass.spi import Extent, IndexEntry, Status

_MOST = 1 << 28  # bytes that a worker keeps


def digest_of(content: bytes | memoryview) -> str:
    """Return the digest by which a part is identified."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class PartCache:
    """The parts that a worker has received; the oldest ones are dropped first.

    Args:
        most: The capacity in bytes.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._parts: dict[str, bytes] = {}  # what was used last is last
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, digest: str, content: bytes) -> None:
        """Store a part."""
        with self._lock:
            self._drop(digest)
            self._parts[digest] = content
            self._bytes += len(content)
            while self._bytes > self._most:
                self._drop(next(iter(self._parts)))

    def get(self, digest: str) -> bytes | None:
        """Return a part; None if it is missing or dropped."""
        with self._lock:
            found = self._parts.pop(digest, None)
            if found is not None:
                self._parts[digest] = found
            return found

    def _drop(self, digest: str) -> None:
        self._bytes -= len(self._parts.pop(digest, b""))


class StageInfo(NamedTuple):
    """Description of a stage for another machine.

    Attributes:
        run: A name unique to the run.
        number: The number of the stage in the run.
        functions: The number of functions.
        spec: The digest of the spec that its jobs share.
    """

    run: str
    number: int
    functions: int
    spec: str


class BlobRef(NamedTuple):
    """A large value of a run: its extent in the workers' files, and its digest."""

    ref: Extent
    digest: str


class JobRequest(NamedTuple):
    """A job as it is sent to a worker.

    Attributes:
        executor: The name of its executor.
        number: The number of the job, unique in the executor.
        run: The function to be called.
        message: Its argument.
        stage: The stage of the job; None for one that belongs to no stage.
        values: Large values of its functions that must be present before it begins.
        parts: The content of spec and values, by digest, except for parts that the
            worker is assumed to have.
        environment: Environment variables of processes that run jobs.
    """

    executor: str
    number: int
    run: Callable[[bytes], bytes]
    message: bytes
    stage: StageInfo | None
    values: Sequence[BlobRef]
    parts: Mapping[str, bytes]
    environment: Mapping[str, str]


class BlobChunk(NamedTuple):
    """New content of a file of large values, and its offset."""

    file: str
    offset: int
    content: bytes


class Done(NamedTuple):
    """Result of a job that was run.

    Attributes:
        answer: The encoded result, for `decode_result`.
        chunks: Large values that it made.
        seconds: The time on the worker, without the round trip.
    """

    answer: bytes
    chunks: Sequence[BlobChunk]
    seconds: float


class MissingParts(NamedTuple):
    """The worker lacks a part; the job is to be sent again with all of its parts."""


class ProcessDied(NamedTuple):
    """The process that ran a job died.

    Attributes:
        cause: How it ended.
        activity: Its last activity, as `Status.leaving` returns it.
        traceback: Its place, as `faulthandler` wrote.
        host_died: Whether Dask's worker died, and the process with it.
    """

    cause: str
    activity: Status | None
    traceback: str
    host_died: bool = False


JobReply = Done | MissingParts | ProcessDied


class StageFunctions(NamedTuple):
    """All functions of a stage, for passes that read other functions."""

    slots: Sequence[IndexEntry]
    content: bytes
