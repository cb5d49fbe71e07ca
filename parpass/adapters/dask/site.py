"""What a worker of Dask's keeps for an executor: processes that run jobs, and runs.

What the processes note is told to the executor.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from parpass.adapters.dask.child import Child, pack_job_away, run_job_away
from parpass.adapters.dask.jobs_away import (
    Answer,
    Call,
    Done,
    Lost,
    OthersOf,
    PartsWanted,
    StageAway,
    ValueAway,
    WasAt,
)
from parpass.adapters.dask.kept_parts import KeptParts
from parpass.adapters.dask.run_away import RunAway, Tell
from parpass.runner.travel.notes import Work
from parpass.runner.worker.serving import pack_call

SILENT_SECONDS = 300.0  # after which an executor of which nothing is heard is no more
_LOOK_SECONDS = 30.0  # between two looks whether that is so
_ENDED = Lost("SIGKILL(-9)", None, "")  # of a job for which nobody waits

_sites: dict[str, Site] = {}  # by executor
_opening = threading.Lock()


def site_of(executor: str) -> Site:
    """Return what this process keeps for an executor."""
    with _opening:
        if executor not in _sites:
            _sites[executor] = site = Site()
            threading.Thread(
                target=_close_when_silent, args=(executor, site), daemon=True
            ).start()
        return _sites[executor]


def hear_of(executor: str) -> None:
    """Take down that an executor is there, still."""
    with _opening:
        site = _sites.get(executor)
    if site is not None:
        site.hear()


def close_site(executor: str) -> None:
    """End all that is kept for an executor."""
    with _opening:
        site = _sites.pop(executor, None)
    if site is not None:
        site.close()


def _close_when_silent(executor: str, site: Site) -> None:
    """Close what an executor has left behind that was killed, say."""
    while not site.closed.wait(_LOOK_SECONDS):
        if site.silent_seconds() > SILENT_SECONDS:
            close_site(executor)


class Site:
    """What a worker of Dask's keeps for one executor.

    Attributes:
        closed: Whether all of that is gone.
    """

    def __init__(self) -> None:
        self.closed = threading.Event()
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: dict[int, Child] = {}  # by job
        self._ended: set[int] = set()  # jobs, before or while they ran
        self._runs: dict[str, RunAway] = {}
        self._parts = KeptParts()
        self.hear()

    def hear(self) -> None:
        """Take down that the executor is there."""
        self._heard = time.monotonic()

    def silent_seconds(self) -> float:
        """Return for how long nothing was heard of the executor."""
        return time.monotonic() - self._heard

    def kept(self) -> tuple[int, list[str]]:
        """Return how many children there are, and the folders of runs."""
        with self._lock:
            folders = [run.folder.path for run in self._runs.values()]
            return len(self._idle) + len(self._busy), folders

    def run(self, call: Call, tell: Tell, is_closing: Callable[[], bool]) -> Answer:
        """Run a job in a child.

        Args:
            call: The job.
            tell: Sends the executor what the child is at.
            is_closing: Tells whether this process ends: then the child is killed, as
                Dask waits for what it runs.
        """
        self.hear()
        for digest, content in call.parts.items():
            self._parts.put(digest, content)
        stage, run = call.stage, None
        if stage is not None:
            run = self._run_of(stage.run, tell)
            if run is None:
                return _ENDED
            if not self._begin(run, stage, call):
                return PartsWanted()
        began = time.monotonic()
        child = self._take(call)
        if child is None:
            return _ENDED
        watch = _Watch(call, run, child, tell)
        message = pack_call(call.run, call.message)
        if run is not None:
            given = pack_job_away(run.folder.path, call.message)
            message = pack_call(run_job_away, given)

        def look() -> None:
            if is_closing():
                child.kill()
            watch.look()

        answer = child.call(message, look)
        pieces = [] if run is None else run.values.made_by(child.number)
        with self._lock:
            del self._busy[call.number]
            self._ended.discard(call.number)
            if answer is not None:
                self._idle.append(child)
                return Done(answer, pieces, time.monotonic() - began)
        return Lost(child.cause(), *watch.last())

    def _begin(self, run: RunAway, stage: StageAway, call: Call) -> bool:
        """Have a stage begin, and large values be there; return whether they can."""
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
            run.values.put(value.ref, parts[value.digest])
        return True

    def _run_of(self, name: str, tell: Tell) -> RunAway | None:
        """Return what is kept for a run; None if nothing is any more."""
        with self._lock:
            if self.closed.is_set():
                return None
            if name not in self._runs:
                self._runs[name] = RunAway(name, tell)
            return self._runs[name]

    def _take(self, call: Call) -> Child | None:
        """Return a child to run a job; None if that was ended already."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or Child(call.environment)
        with self._lock:
            if not self.closed.is_set():  # which takes less time than a child to begin
                if call.number not in self._ended:
                    self._busy[call.number] = child
                    return child
                self._idle.append(child)
                return None
        child.kill()
        child.cause()
        return None

    def end(self, job: int) -> None:
        """Kill the child that runs a job, or have the job not begin."""
        with self._lock:
            self._ended.add(job)
            child = self._busy.get(job)
        if child is not None:
            child.kill()

    def where(self, job: int) -> str:
        """Return where the child is that runs a job; nothing if there is none."""
        with self._lock:
            child, runs = self._busy.get(job), list(self._runs.values())
        if child is None:
            return ""
        return "".join(run.where(child.number) for run in runs)

    def keep(self, parts: dict[str, bytes]) -> None:
        """Keep parts of calls to come."""
        for digest, content in parts.items():
            self._parts.put(digest, content)

    def put(self, run: str, stage: int, others: OthersOf) -> None:
        """Have all functions of a stage be here."""
        if (found := self._found(run)) is not None:
            found.put(stage, others)

    def bring(self, run: str, value: ValueAway, content: bytes | None) -> bool:
        """Have a large value be here; return False if its content is to be sent.

        One without a digest cannot be had.
        """
        if content is not None:
            self._parts.put(value.digest, content)
        elif value.digest:
            content = self._parts.get(value.digest)
            if content is None:
                return False
        if (found := self._found(run)) is not None:
            found.values.put(value.ref, content)
        return True

    def forget(self, run: str) -> None:
        """Remove what is kept for a run."""
        with self._lock:
            found = self._runs.pop(run, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Kill all children, and remove all folders."""
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

    def _found(self, run: str) -> RunAway | None:
        with self._lock:
            return self._runs.get(run)


class _Watch:
    """Looks at what a child is at, and tells it."""

    def __init__(
        self, call: Call, run: RunAway | None, child: Child, tell: Tell
    ) -> None:
        self._call, self._run, self._child, self._tell = call, run, child, tell
        self._seen: Work | None = None
        self._has_told = False

    def look(self) -> None:
        """Tell what it is at, and ask for functions it waits for.

        What it was not at when this looked last may be over before anybody hears of it:
        a message costs as much as a job.
        """
        work = None if self._run is None else self._run.work_of(self._child.number)
        if self._run is None or work is None:
            return
        if not work.since:
            self._run.ask_for_others()
        if work != self._seen:
            self._seen, self._has_told = work, False
        elif not self._has_told:
            self._has_told = True
            at = WasAt.of(work)
            self._tell(("at", self._call.number, *at.values, at.age))

    def last(self) -> tuple[WasAt | None, str]:
        """Return what it was at when it died, and where."""
        if self._run is None:
            return None, ""
        number = self._child.number
        work = self._run.work_of(number)
        at = None if work is None else WasAt.of(work)
        return at, self._run.traceback(number)
