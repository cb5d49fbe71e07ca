"""Entry points of a worker process, called by executors: start, run a job.

The state of a run, and of its current stage, is cached from one job to the next; jobs
of several runs may alternate. This module must never import trio or loky.

A worker ends when its parent has ended, and removes the directories of its runs. A
worker in C code that holds the GIL does not notice that its parent has ended, so the
other workers kill it. They identify it by a lock that it holds on a file: a process ID
may have been reused.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import math
import os
import signal
import threading
import time
from collections.abc import Generator

import msgspec

from parpass.errors import InternalError
from parpass.resource_limits import exit_after
from parpass.runner.follow.payload import StagePayload
from parpass.runner.ipc.blobs import WorkerBlobStore
from parpass.runner.ipc.function_file import spec_file_name
from parpass.runner.ipc.messages import Job
from parpass.runner.ipc.shared_dir import SharedDirectory, remove_all_stale
from parpass.runner.ipc.status_board import (
    FAULT_PREFIX,
    StatusSlot,
    disable_fault_dumps,
    owner_pid,
)
from parpass.runner.open_files import is_locked
from parpass.runner.worker.stage_runner import StageRunner

_POLL_SECONDS = 0.4  # between two checks of the parent process
_GRACE_SECONDS = (
    0.8  # for other workers to notice, and remove directories of their runs
)

_runs: dict[str, _WorkerRun] = {}  # by directory
_fault_dump_owner: _WorkerRun | None = None  # the run that fault dumps are written for
_job_lock = threading.Lock()  # held while a job runs
_is_own_process = False  # False in a thread that acts as a worker


def _end_with_parent(parent: int) -> None:
    """End this process soon after its parent has ended; runs in a thread.

    Before, it removes the directories of runs, also those that no worker has had a job
    of, and kills workers that did not end: a coordinator that was killed has done
    neither.
    """
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
        _release_ended()
    left = [run.folder for run in list(_runs.values())]
    others = [other for folder in left for other in _live_workers(folder)]
    for folder in left:
        folder.remove()
    with contextlib.suppress(OSError):
        remove_all_stale()
    time.sleep(_GRACE_SECONDS)
    for process, file in others:
        if is_locked(file):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
    os._exit(1)


def _live_workers(folder: SharedDirectory) -> list[tuple[int, int]]:
    """Return the other processes with a status slot, and the file that each locks."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):  # another worker has removed the directory
        for name in folder.names(FAULT_PREFIX):
            process = owner_pid(name.removeprefix(FAULT_PREFIX))
            if process != os.getpid():
                found.append((process, folder.open_reader(name)))
    return found


def begin_worker(coordinator: int) -> None:
    """Initialise this process as a worker, which ends with its coordinator.

    An executor calls it once in each of its processes, before the first job.

    Args:
        coordinator: The process ID of the parent.
    """
    global _is_own_process
    _is_own_process = True
    gc.freeze()  # modules are never garbage; traversing them takes a pass
    name = "parpass-end-with-parent"
    args = (coordinator,)
    threading.Thread(target=_end_with_parent, args=args, name=name, daemon=True).start()


def run_job(packed_job: bytes) -> bytes:
    """Run an encoded `Job`; return the encoded `JobResult`."""
    context = contextvars.copy_context()  # what bodies and imports set ends with it
    with _running_job():
        job = Job.decoded(packed_job)
        run = _run_in(os.fsdecode(job.folder))
        with run.occupying_slot(job):
            return context.run(run.run_job, job)


def load_payload(message: bytes) -> bytes:
    """Import the modules of a payload ahead of its stage; return no bytes.

    The message has a limit of seconds, after which the worker exits, and a payload. An
    error of loading is raised by the stage, not here.
    """
    seconds, payload = msgspec.msgpack.decode(message)
    follows, context = _is_own_process, contextvars.copy_context()
    with _running_job(), exit_after(seconds if follows else math.inf):
        context.run(StagePayload, payload, follows=follows).close()
    return b""


@contextlib.contextmanager
def _running_job() -> Generator[None]:
    """Hold the lock, and pause garbage collection; no effect in a thread as worker."""
    if not (_is_own_process and gc.isenabled()):
        yield
        return
    # Most objects here live until the job ends or are freed by their count; looking
    # for cycles among them takes a quarter of the time and finds none.
    gc.disable()
    try:
        with _job_lock:
            yield
    finally:
        gc.enable()


def _release_ended() -> None:
    """Release the passes and modules of stages that are over, unless a job runs."""
    if not _job_lock.acquire(blocking=False):
        return
    try:
        ended = len(_runs)
        _close_ended_runs()
        ended -= len(_runs)
        if ended + sum([run.release_ended_stage() for run in _runs.values()]):
            gc.collect()  # classes pickled by value refer to themselves
    finally:
        _job_lock.release()


def _run_in(folder: str) -> _WorkerRun:
    if folder not in _runs:
        _close_ended_runs()
        _runs[folder] = _WorkerRun(folder)
    return _runs[folder]


def _close_ended_runs() -> None:
    for path in [path for path in _runs if not os.path.isdir(path)]:
        _runs.pop(path).close()


class _WorkerRun:
    """The state of a run in this worker: directory, blobs, status slot and stage."""

    def __init__(self, path: str) -> None:
        # A process that died may have had the same ID.
        owner = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.folder = SharedDirectory(path)
        self._values = WorkerBlobStore(self.folder, owner)
        self._slot = StatusSlot(self.folder, owner)
        self._stage: StageRunner | None = None

    def run_job(self, job: Job) -> bytes:
        if self._stage is None or self._stage.number != job.stage:
            self._end_stage()
            self._stage = self._begin_stage(job)
        return self._stage.run_job(job)

    def _begin_stage(self, job: Job) -> StageRunner:
        spec = job.spec
        if spec is None:
            spec = self.folder.read(spec_file_name(job.stage))
        if spec is None:
            raise InternalError("a job came before the spec of its stage")
        return StageRunner(
            job.stage,
            spec,
            self.folder,
            self._values,
            self._slot,
            is_own_process=_is_own_process,
        )

    def release_ended_stage(self) -> bool:
        """Close the stage if its payload is not published; return whether it was.

        One that came with its job is begun again, should another job come.
        """
        stage = self._stage
        if stage is None or self.folder.has(spec_file_name(stage.number)):
            return False
        self._end_stage()
        return True

    @contextlib.contextmanager
    def occupying_slot(self, job: Job) -> Generator[None]:
        """Report a job in the status slot, and its crash in the file of fault dumps."""
        global _fault_dump_owner
        if _is_own_process and _fault_dump_owner is not self:
            self._slot.enable_fault_dumps()
            _fault_dump_owner = self
        self._slot.begin(job.stage, job.functions[0])
        try:
            yield
        except Exception:
            self._slot.idle()
            raise
        self._slot.idle()

    def close(self) -> None:
        global _fault_dump_owner
        if _fault_dump_owner is self:
            disable_fault_dumps()
            _fault_dump_owner = None
        self._end_stage()
        self._slot.close()
        self._values.close()

    def _end_stage(self) -> None:
        if self._stage is not None:
            self._stage.close()
            self._stage = None
