"""The agent of an executor on a worker of a Dask cluster.

The agent owns the child processes that run jobs and the directories of runs, and
reports the processes' activity to the executor.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from parpass.integrations.dask.child_process import (
    ChildProcess,
    pack_relocated_job,
    run_relocated_job,
)
from parpass.integrations.dask.dask_messages import (
    BlobRef,
    Done,
    JobReply,
    JobRequest,
    MissingParts,
    PartCache,
    ProcessDied,
    StageFunctions,
    StageInfo,
)
from parpass.integrations.dask.worker_run import Send, WorkerRun
from parpass.spi import Status, encode_call

SILENT_SECONDS = 300.0  # without a heartbeat, after which an executor is taken as dead
_CHECK_SECONDS = 30.0  # between two checks of that
_ENDED = ProcessDied("SIGKILL(-9)", None, "")  # of a job that was cancelled

_agents: dict[str, WorkerAgent] = {}  # by executor
_opening = threading.Lock()


def agent_of(executor: str) -> WorkerAgent:
    """Return this process's agent of an executor, created at the first call."""
    with _opening:
        if executor not in _agents:
            _agents[executor] = agent = WorkerAgent()
            threading.Thread(
                target=_close_when_silent, args=(executor, agent), daemon=True
            ).start()
        return _agents[executor]


def heartbeat(executor: str) -> None:
    """Record a sign of life of an executor."""
    with _opening:
        agent = _agents.get(executor)
    if agent is not None:
        agent.heartbeat()


def close_agent(executor: str) -> None:
    """Close the agent of an executor, if there is one."""
    with _opening:
        agent = _agents.pop(executor, None)
    if agent is not None:
        agent.close()


def _close_when_silent(executor: str, agent: WorkerAgent) -> None:
    """Close the agent of an executor that died, for example by a signal."""
    while not agent.closed.wait(_CHECK_SECONDS):
        if agent.silent_seconds() > SILENT_SECONDS:
            close_agent(executor)


class WorkerAgent:
    """An executor's state on a worker: child processes, runs and parts.

    Attributes:
        closed: Set when all of that is released.
    """

    def __init__(self) -> None:
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._busy: dict[int, ChildProcess] = {}  # by job
        self._ended: set[int] = set()  # jobs, before or while they ran
        self._runs: dict[str, WorkerRun] = {}
        self._parts = PartCache()
        self.heartbeat()

    def heartbeat(self) -> None:
        """Record a sign of life of the executor."""
        self._last_heard = time.monotonic()

    def silent_seconds(self) -> float:
        """Return the time since the executor's last sign of life."""
        return time.monotonic() - self._last_heard

    def resources(self) -> tuple[int, list[str]]:
        """Return the number of children, and the directories of runs."""
        with self._lock:
            folders = [run.folder.path for run in self._runs.values()]
            return len(self._idle) + len(self._busy), folders

    def run(
        self, call: JobRequest, send: Send, is_dropped: Callable[[], bool]
    ) -> JobReply:
        """Run a job in a child.

        Args:
            call: The job.
            send: Sends the child's activity to the executor.
            is_dropped: Returns whether the cluster waits for the job no more. If the
                executor did not cancel it, this process ends, or the executor has
                died: the agent is closed.
        """
        self.heartbeat()
        for digest, content in call.parts.items():
            self._parts.put(digest, content)
        stage, run = call.stage, None
        if stage is not None:
            run = self._run_of(stage.run, call.number)
            if run is None:
                return _ENDED
            if not self._begin(run, stage, call):
                return MissingParts()
        began = time.monotonic()
        child = self._take_child(call)
        if child is None:
            return _ENDED
        poller = _ActivityPoller(call, run, child, send)
        message = encode_call(call.run, call.message)
        if run is not None:
            given = pack_relocated_job(run.folder.path, call.message)
            message = encode_call(run_relocated_job, given)

        def look() -> None:
            if is_dropped() and call.number not in self._ended:
                close_agent(call.executor)
            poller.poll()

        answer = child.call(message, look)
        chunks = [] if run is None else run.values.take_new_chunks(child.number)
        with self._lock:
            del self._busy[call.number]
            self._ended.discard(call.number)
            if answer is not None:
                self._idle.append(child)
                return Done(answer, chunks, time.monotonic() - began)
        return ProcessDied(child.cause(), *poller.last())

    def _begin(self, run: WorkerRun, stage: StageInfo, call: JobRequest) -> bool:
        """Begin the stage and store the large values of a job.

        Returns False, without effect, if the worker lacks a part.
        """
        values = [one for one in call.values if not run.values.has(one.ref)]
        digests = [one.digest for one in values]
        if not run.has_begun(stage):
            digests.append(stage.spec)
        parts = {
            digest: call.parts.get(digest) or self._parts.get(digest)
            for digest in digests
        }
        if None in parts.values():
            return False
        if (spec := parts.get(stage.spec)) is not None:
            run.begin(stage, spec)
        for value in values:
            content = parts[value.digest]
            assert content is not None
            run.values.put(value.ref, content)
        return True

    def _run_of(self, name: str, job: int | None = None) -> WorkerRun | None:
        """Return a run's state, created at the first call.

        None after the close, or for a job that was cancelled: its run may be over.
        """
        with self._lock:
            if self.closed.is_set() or job in self._ended:
                return None
            if name not in self._runs:
                self._runs[name] = WorkerRun(name)
            return self._runs[name]

    def _take_child(self, call: JobRequest) -> ChildProcess | None:
        """Return a child to run a job; None if the job was cancelled before."""
        with self._lock:
            if self.closed.is_set() or call.number in self._ended:
                return None
            child = self._idle.pop() if self._idle else ChildProcess(call.environment)
            self._busy[call.number] = child
            return child

    def end(self, job: int) -> None:
        """Cancel a job: kill its child, or prevent its start."""
        with self._lock:
            self._ended.add(job)
            child = self._busy.get(job)
        if child is not None:
            child.kill()

    def traceback(self, job: int) -> str:
        """Return a traceback of the child that runs a job; empty if there is none."""
        with self._lock:
            child, runs = self._busy.get(job), list(self._runs.values())
        if child is None:
            return ""
        return "".join(run.dump_traceback(child.number) for run in runs)

    def store_parts(self, parts: dict[str, bytes]) -> None:
        """Store parts of later jobs."""
        for digest, content in parts.items():
            self._parts.put(digest, content)

    def put_functions(self, run: str, stage: int, functions: StageFunctions) -> None:
        """Store all functions of a stage."""
        if (found := self._found(run)) is not None:
            found.put_functions(stage, functions)

    def put_blob(self, run: str, value: BlobRef, content: bytes | None) -> bool:
        """Store a large value; return False if its content must be sent.

        Raises:
            StorageError: There is no room for it.
        """
        found = self._run_of(run)
        if found is None or found.values.has(value.ref):
            return True
        if content is None:
            content = self._parts.get(value.digest)
        else:
            self._parts.put(value.digest, content)
        if content is None:
            return False
        found.values.put(value.ref, content)
        return True

    def forget(self, run: str) -> None:
        """Release the state of a run."""
        with self._lock:
            found = self._runs.pop(run, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Kill all children, and remove all directories."""
        with self._lock:
            self.closed.set()
            children = [*self._idle, *self._busy.values()]
            runs = list(self._runs.values())
            self._idle.clear()
            self._runs.clear()
        for child in children:
            child.kill()
            with contextlib.suppress(OSError):
                child.cause()
        for run in runs:
            run.close()

    def _found(self, run: str) -> WorkerRun | None:
        with self._lock:
            return self._runs.get(run)


class _ActivityPoller:
    """Polls the activity of a child, and sends it to the executor."""

    def __init__(
        self, call: JobRequest, run: WorkerRun | None, child: ChildProcess, send: Send
    ) -> None:
        self._call, self._run, self._child, self._send = call, run, child, send
        self._seen: Status | None = None
        self._is_sent = False

    def poll(self) -> None:
        """Send the activity, and request functions that the child waits for.

        An activity is sent when it is seen a second time, as a shorter one may be over
        before the message arrives: a message costs as much as a job.
        """
        work = None if self._run is None else self._run.activity_of(self._child.number)
        if self._run is None or work is None:
            return
        if not work.since:
            self._run.request_functions(self._child.number, self._send)
        if work != self._seen:
            self._seen, self._is_sent = work, False
        elif not self._is_sent:
            self._is_sent = True
            self._send(("at", self._call.number, work.leaving().encode()))

    def last(self) -> tuple[Status | None, str]:
        """Return the last activity before the child's death, and its traceback."""
        if self._run is None:
            return None, ""
        number = self._child.number
        work = self._run.activity_of(number)
        return None if work is None else work.leaving(), self._run.traceback(number)
