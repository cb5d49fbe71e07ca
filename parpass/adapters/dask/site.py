"""What a worker of Dask's keeps: the processes that run jobs, and the folders of runs.

A run has a folder on each machine, as it has one where it was started: its specs are
written there, its functions if a pass reads others than its own, and the notes of the
processes that run its jobs. What these note is told to the executor.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from parpass.adapters.dask.child import Child, pack_job_away, run_job_away
from parpass.adapters.dask.jobs_away import (
    Call,
    Done,
    Lost,
    OthersOf,
    SpecWanted,
    StageAway,
    WasAt,
)
from parpass.runner.travel.folder import Folder
from parpass.runner.travel.messages import functions_name, slots_name, spec_name
from parpass.runner.travel.notes import Notes
from parpass.runner.travel.slots import Slots
from parpass.runner.travel.whole import have_all_travel
from parpass.runner.worker.serving import pack_call

Answer = Done | SpecWanted | Lost
Tell = Callable[[Any], None]

_TELL_SECONDS = 0.05  # between two messages of what a process is at
_IDLE_SECONDS = 300.0  # after which who gave jobs is taken to be no more
_LOOK_SECONDS = 30.0  # between two looks whether that is so

_sites: dict[str, Site] = {}  # by executor
_opening = threading.Lock()


def site_of(executor: str) -> Site:
    """Return what this process keeps for an executor."""
    with _opening:
        if executor not in _sites:
            _sites[executor] = Site()
            threading.Thread(
                target=_close_when_idle, args=(executor,), daemon=True
            ).start()
        return _sites[executor]


def _close_when_idle(executor: str) -> None:
    """Close what an executor has left behind that was killed, say."""
    while (site := _sites.get(executor)) is not None:
        if site.idle_seconds() > _IDLE_SECONDS:
            close_site(executor)
            return
        time.sleep(_LOOK_SECONDS)


def close_site(executor: str) -> None:
    """End all that is kept for an executor."""
    with _opening:
        site = _sites.pop(executor, None)
    if site is not None:
        site.close()


class RunAway:
    """A run's folder on this machine."""

    def __init__(self) -> None:
        self.folder = Folder()
        have_all_travel(self.folder)
        self.notes = Notes(self.folder)
        self._number = 0
        self._slots: Slots | None = None
        self.has_asked = False
        self._lock = threading.Lock()

    def begin(self, stage: StageAway) -> bool:
        """Have a stage be known here; return whether it is."""
        with self._lock:
            if self._number >= stage.number:
                return True
            if stage.spec is None:
                return False
            self._discard()
            count = stage.functions
            self._slots = Slots.create(self.folder, slots_name(stage.number), count)
            self.folder.publish(spec_name(stage.number), stage.spec)
            self._number, self.has_asked = stage.number, False
            return True

    def put(self, number: int, others: OthersOf) -> None:
        """Have all functions of a stage be here."""
        with self._lock:
            if number == self._number and self._slots is not None:
                self.folder.publish(functions_name(number), others.content)
                for at, slot in enumerate(others.slots):
                    self._slots[at] = slot

    def was_at(self, process: int) -> WasAt | None:
        """Return what a process is at."""
        for work in self.notes.read():
            if work.process == process:
                age = time.monotonic_ns() - work.since if work.since else None
                return WasAt(work[:5], age)
        return None

    def traceback(self, process: int) -> str:
        """Return where a process was when a signal ended it."""
        found = [one for one in self.notes.read() if one.process == process]
        return "".join(self.notes.traceback(one.owner) for one in found)

    def close(self) -> None:
        """Remove the folder."""
        self.folder.remove()

    def _discard(self) -> None:
        old = self._number
        if old:
            self.folder.discard(spec_name(old), functions_name(old))
            self.folder.discard(slots_name(old), are_mapped=True)


class Site:
    """What a worker of Dask's keeps for one executor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: dict[int, Child] = {}  # by job
        self._ended: set[int] = set()  # jobs, before or while they ran
        self._runs: dict[str, RunAway] = {}
        self._last = time.monotonic()

    def idle_seconds(self) -> float:
        """Return for how long there was nothing to do."""
        with self._lock:
            return 0.0 if self._busy else time.monotonic() - self._last

    def kept(self) -> tuple[int, list[str]]:
        """Return how many children there are, and the folders of runs."""
        with self._lock:
            folders = [run.folder.path for run in self._runs.values()]
            return len(self._idle) + len(self._busy), folders

    def run(self, call: Call, tell: Tell) -> Answer:
        """Run a job in a child; `tell` sends the executor what that is at."""
        run = None if call.stage is None else self._run_of(call.stage.run)
        if run is not None and call.stage is not None and not run.begin(call.stage):
            return SpecWanted()
        child = self._take(call)
        if child is None:
            return Lost("SIGKILL(-9)", None, "")
        watch = _Watch(call, run, child, tell)
        message = pack_call(call.run, call.message)
        if run is not None:
            given = pack_job_away(run.folder.path, call.message)
            message = pack_call(run_job_away, given)
        answer = child.call(message, watch.look)
        with self._lock:
            del self._busy[call.number]
            self._last = time.monotonic()
            self._ended.discard(call.number)
            if answer is not None:
                self._idle.append(child)
                return Done(answer)
        return Lost(child.cause(), *watch.last())

    def _run_of(self, name: str) -> RunAway:
        with self._lock:
            if name not in self._runs:
                self._runs[name] = RunAway()
            return self._runs[name]

    def _take(self, call: Call) -> Child | None:
        """Return a child to run a job; None if it was ended already."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
            self._last = time.monotonic()
        child = child or Child(call.environment)
        with self._lock:
            if call.number in self._ended:
                self._idle.append(child)
                return None
            self._busy[call.number] = child
        return child

    def end(self, job: int) -> None:
        """Kill the child that runs a job, or have the job not begin."""
        with self._lock:
            self._ended.add(job)
            child = self._busy.get(job)
        if child is not None:
            child.kill()

    def put(self, run: str, stage: int, others: OthersOf) -> None:
        """Have all functions of a stage be here."""
        with self._lock:
            found = self._runs.get(run)
        if found is not None:
            found.put(stage, others)

    def forget(self, run: str) -> None:
        """Remove what is kept for a run."""
        with self._lock:
            found = self._runs.pop(run, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Kill all children, and remove all folders."""
        with self._lock:
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


class _Watch:
    """Looks at what a child is at, and tells it."""

    def __init__(
        self, call: Call, run: RunAway | None, child: Child, tell: Tell
    ) -> None:
        self._call, self._run, self._child, self._tell = call, run, child, tell
        self._told: tuple[int, ...] | None = None
        self._next = 0.0

    def look(self) -> None:
        """Tell what it is at, if that is news, and ask for functions it waits for."""
        run, stage = self._run, self._call.stage
        if run is None or stage is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _TELL_SECONDS
        at = run.was_at(self._child.number)
        if at is None:
            return
        if at.age is None and not run.has_asked:
            run.has_asked = True
            self._tell(("others", stage.run, stage.number))
        key = *at.values, int(at.age is None)
        if key != self._told:
            self._told = key
            self._tell(("at", self._call.number, *map(int, at.values), at.age))

    def last(self) -> tuple[WasAt | None, str]:
        """Return what it was at when it died, and where."""
        if self._run is None:
            return None, ""
        number = self._child.number
        return self._run.was_at(number), self._run.traceback(number)
