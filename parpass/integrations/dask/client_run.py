"""The client's side of a run: the content sent to workers, and that received from them.

`ClientRun` reads a run's directory on the client; `ClientRuns` has those of an
executor, sends large values ahead of jobs, and the functions that workers request.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from parpass.integrations.dask.dask_connection import DaskConnection
from parpass.integrations.dask.dask_messages import (
    BlobChunk,
    BlobRef,
    StageFunctions,
    StageInfo,
    digest_of,
)
from parpass.integrations.dask.worker_calls import (
    forget_run_on_worker,
    put_blob_on_worker,
    put_functions_on_worker,
)
from parpass.spi import (
    FAULT_PREFIX,
    BatchFile,
    EncodedFunction,
    EncodedFunctions,
    Extent,
    FunctionIndex,
    Job,
    SharedDirectory,
    StatusSlot,
    StorageError,
    WorkerBlobStore,
    function_file_name,
    index_file_name,
    spec_file_name,
)

# Slots are keyed by numbers above any process id.
_numbers = itertools.count(1 << 30)

# Bytes up to which a value is a part of a job. A larger one is sent ahead of it, by
# itself, as a worker keeps only so many bytes of parts.
_MAX_PART_BYTES = 1 << 18

_POLL_SECONDS = 0.005  # between two looks for a function that is not written yet


class RemoteJob(NamedTuple):
    """A job in the form for another machine.

    Attributes:
        message: The job with its functions.
        stage: Description of its stage.
        values: Large values that are sent with it.
        ahead: Larger ones, which are sent ahead of it.
    """

    message: bytes
    stage: StageInfo
    values: Sequence[BlobRef]
    ahead: Sequence[BlobRef]

    @property
    def digests(self) -> list[str]:
        """The digests of all parts."""
        return [self.stage.spec, *(one.digest for one in self.values)]


class ClientRun:
    """A run, by its directory on the client.

    Args:
        path: The directory.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = SharedDirectory(path)
        self._current: _ClientStage | None = None  # of the last job
        self._slots: list[MirroredSlot] = []
        self._free: list[MirroredSlot] = []  # not in use
        self._values = WorkerBlobStore(self._folder, f"{next(_numbers)}-cluster")
        self._digests: dict[Extent, str] = {}

    @property
    def has_ended(self) -> bool:
        """Whether its directory is gone."""
        return not os.path.isdir(self.path)

    def to_remote(self, job: Job) -> RemoteJob:
        """Convert a job to the form for another machine.

        Raises:
            OSError: The run is over.
        """
        stage = self._stage(job.stage, job)
        missing = [at for at in job.functions if at not in job.attached]
        attached = EncodedFunctions({**stage.encoded(missing), **job.attached})
        message = replace(job, folder=b"", attached=attached, spec=None).encoded()
        values, ahead = list[BlobRef](), list[BlobRef]()
        for value in self.values_of(attached.values()):
            is_part = value.ref.length <= _MAX_PART_BYTES
            (values if is_part else ahead).append(value)
        info = StageInfo(self.path, job.stage, len(stage.slots), stage.spec_digest)
        return RemoteJob(message, info, values, ahead)

    def values_of(self, functions: Iterable[EncodedFunction]) -> list[BlobRef]:
        """Return references to the large values of functions.

        Raises:
            OSError: A value is not available.
        """
        refs = {ref: None for one in functions for ref in one.batch.blobs}
        return [self.value(ref) for ref in refs]

    def value(self, ref: Extent) -> BlobRef:
        """Return a reference to a large value that is valid on all machines.

        Raises:
            OSError: The value is not available.
        """
        if ref not in self._digests:
            self._digests[ref] = digest_of(self.content(ref))
        return BlobRef(ref, self._digests[ref])

    def content(self, ref: Extent) -> bytes:
        """Return a large value.

        Raises:
            OSError: The value is not available.
        """
        return bytes(self._values.fetch(ref))

    def part(self, job: RemoteJob, digest: str) -> bytes:
        """Return a part of a job, by its digest.

        Raises:
            OSError: The part is not available.
        """
        if digest == job.stage.spec:
            return self._stage(job.stage.number).spec
        return self.content(next(one.ref for one in job.values if one.digest == digest))

    def store_chunks(self, chunks: Iterable[BlobChunk]) -> None:
        """Write large values made by workers to the run's directory.

        Raises:
            StorageError: There is no room.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        for name, at, content in chunks:
            try:
                fd = os.open(Path(self.path, name), flags, 0o600)
                with open(fd, "wb") as file:
                    file.seek(at)
                    file.write(content)
            except OSError as error:
                raise StorageError(f"{name}: {error.strerror}") from error

    def has_stage(self, number: int) -> bool:
        """Return whether a stage goes on, and has files."""
        return self._folder.has(spec_file_name(number))

    def index_of(self, number: int) -> FunctionIndex:
        """Return the index of a stage's functions.

        Raises:
            OSError: The stage is over, or has no files.
        """
        return FunctionIndex.open(self._folder, index_file_name(number))

    def stage_functions(
        self, number: int, index: FunctionIndex
    ) -> tuple[StageFunctions, list[BlobRef]]:
        """Return all functions of a stage, and their large values.

        Args:
            number: The number of the stage.
            index: Its index, which is filled.

        Raises:
            OSError: The stage is over.
        """
        name = function_file_name(number)
        found = [index[at] for at in range(len(index))]
        content = Path(self.path, name).read_bytes()
        # A file of its own, as another thread reads the one for jobs.
        with contextlib.closing(BatchFile(self._folder, name)) as file:
            return StageFunctions(found, content), self.values_of(map(file.read, found))

    def acquire_slot(self) -> MirroredSlot:
        """Return a status slot for a remote process."""
        if self._free:
            return self._free.pop()
        self._slots.append(MirroredSlot(self._folder))
        return self._slots[-1]

    def release_slot(self, slot: MirroredSlot, *, reuse: bool) -> None:
        """Release the slot of a job that is done, or was cancelled.

        The slot of a cancelled job is not reused: its process is taken to be dead.
        """
        slot.idle()
        if reuse:
            self._free.append(slot)

    def _stage(self, number: int, job: Job | None = None) -> _ClientStage:
        if self._current is None or self._current.number != number:
            self._close_stage()
            self._current = _ClientStage(self._folder, number, job)
        return self._current

    def _close_stage(self) -> None:
        stage, self._current = self._current, None
        if stage is not None:
            stage.close()

    def close(self) -> None:
        """Close all open files."""
        self._close_stage()
        self._values.close()
        for slot in self._slots:
            slot.close()


class _ClientStage:
    def __init__(self, folder: SharedDirectory, number: int, job: Job | None) -> None:
        """Read what the files of a stage say, or a job that has all of it."""
        self.number = number
        if job is not None and job.spec is not None:
            spec = job.spec
            self.slots = FunctionIndex.private(len(job.attached))
        else:
            spec = folder.read(spec_file_name(number))
            if spec is None:
                raise FileNotFoundError(spec_file_name(number))
            self.slots = FunctionIndex.open(folder, index_file_name(number))
        self.spec, self.spec_digest = spec, digest_of(spec)
        self._file = BatchFile(folder, function_file_name(number))

    def encoded(self, functions: Sequence[int]) -> dict[int, EncodedFunction]:
        return {at: self._file.read(self.slots[at]) for at in functions}

    def close(self) -> None:
        self._file.close()


class MirroredSlot(StatusSlot):
    """Local status slot that mirrors the activity of a remote process.

    Attributes:
        number: Stands for a process id.
    """

    def __init__(self, folder: SharedDirectory) -> None:
        self.number = next(_numbers)
        owner = f"{self.number}-{os.urandom(4).hex()}"
        super().__init__(folder, owner)
        self._path = Path(folder.path, f"{FAULT_PREFIX}{owner}")

    def mirror_traceback(self, text: str) -> None:
        """Write the traceback of the process."""
        self._path.write_text(text)


OnUnsent = Callable[[str, ClientRun, int, Exception], None]


class ClientRuns:
    """The runs of an executor; sends their large values and functions to workers.

    Args:
        cluster: The connection.
        on_unsent: Called with a worker, a run, a stage of it and an error, if a worker
            waits for functions that cannot be sent to it.
    """

    def __init__(self, cluster: DaskConnection, on_unsent: OnUnsent) -> None:
        self._cluster, self._name = cluster, cluster.name
        self._on_unsent = on_unsent
        self._runs: dict[str, ClientRun] = {}
        self._pushes: set[tuple[str, str, int]] = set()  # that are not done
        # Apart from dispatch: what is sent here must not delay jobs. One thread, so
        # that a run is closed, and forgotten by workers, when nothing is sent of it.
        self._thread = ThreadPoolExecutor(1, "parpass-push")

    def of(self, path: str) -> ClientRun:
        """Return a run by its directory; workers release those that have ended."""
        if path not in self._runs:
            for ended in [one for one in self._runs.values() if one.has_ended]:
                del self._runs[ended.path]
                self._enqueue(self._release, ended)
            self._runs[path] = ClientRun(path)
        return self._runs[path]

    def send_values(
        self, run: ClientRun, worker: str, values: Iterable[BlobRef]
    ) -> None:
        """Send large values to a worker; the content of those that it lacks.

        Args:
            run: The run.
            worker: The address of the worker.
            values: The values.

        Raises:
            StorageError: There is no room for one there.
            JobLostError: The worker cannot be reached.
            Exception: The cluster is gone.
        """
        send = functools.partial(
            self._cluster.call, put_blob_on_worker, self._name, run.path, at=worker
        )
        for value in values:
            if send(value, None) is False:
                send(value, run.content(value.ref))

    def push_functions(self, worker: str, path: str, number: int) -> None:
        """Enqueue a push of all functions of a stage to a worker, as it requested.

        They are sent when all of them are written.

        Args:
            worker: The address of the worker.
            path: The run.
            number: The number of the stage.
        """
        run, push = self._runs.get(path), (worker, path, number)
        if run is not None and push not in self._pushes:
            self._pushes.add(push)
            self._enqueue(self._push, run, worker, number)

    def close(self) -> None:
        """Close all runs; what is not written yet is not sent."""
        self._thread.shutdown()
        for run in self._runs.values():
            run.close()

    def _enqueue(self, what: Callable[..., object], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed
            self._thread.submit(what, *args)

    def _release(self, run: ClientRun) -> None:
        run.close()
        with contextlib.suppress(Exception):  # the cluster may be gone
            self._cluster.call_all(forget_run_on_worker, self._name, run.path)

    def _push(
        self,
        run: ClientRun,
        worker: str,
        number: int,
        index: FunctionIndex | None = None,
    ) -> None:
        """Send the functions of a stage if all are written; else look again later."""
        failure: Exception | None = None
        try:
            index = run.index_of(number) if index is None else index
            if not index.is_filled and run.has_stage(number):
                time.sleep(_POLL_SECONDS)
                self._enqueue(self._push, run, worker, number, index)
                return
            self._send_functions(run, worker, number, index)
        except Exception as error:  # noqa: BLE001 -- of the cluster, or of storage
            failure = error
        # Before the jobs end that wait: what is requested from then on is sent anew.
        self._pushes.discard((worker, run.path, number))
        if failure is not None and run.has_stage(number):  # else nobody waits
            self._on_unsent(worker, run, number, failure)

    def _send_functions(
        self, run: ClientRun, worker: str, number: int, index: FunctionIndex
    ) -> None:
        functions, values = run.stage_functions(number, index)
        self.send_values(run, worker, values)
        self._cluster.call(
            put_functions_on_worker,
            self._name,
            run.path,
            number,
            functions,
            at=worker,
        )
