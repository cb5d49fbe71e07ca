"""The timeline of runs: what the coordinator and each worker did when, by track.

It is a plain structure, which says nothing of a format: a trace file is written from
it, and whatever else draws it. All times are seconds by `time.perf_counter()` of this
process. On Linux and macOS that clock is one for all processes of a machine; times of
other machines were moved onto it before they come here.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple


class Category(enum.StrEnum):
    """The kind of a slice."""

    RUN = "run"
    STAGE = "stage"  # in the workers
    LOCAL = "in this process"
    MODULE_PASS = "module pass"
    INSTRUMENT = "instrument"
    PASS = "pass"  # on consecutive functions
    FUNCTION = "function"  # in a pass
    JOB = "job"
    ENCODING = "encoding"
    DECODING = "decoding"
    LOADING = "loading"  # a stage: its passes, and what they import
    STARTING = "starting"  # a worker
    WAITING = "waiting"
    LOST = "lost"  # work of a worker that died, or was ended


class Slice(NamedTuple):
    """An interval of a track; slices of one track are nested, or apart."""

    name: str
    category: Category
    began: float
    ended: float
    detail: str = ""


# Of slices that begin and end together the outer one comes first.
_DEPTH = {Category.PASS: 1, Category.FUNCTION: 2}


def _begin_and_length(one: Slice) -> tuple[float, float, int]:
    return one.began, -one.ended, _DEPTH.get(one.category, 0)


class Instant(NamedTuple):
    name: str
    time: float
    detail: str = ""


class Track:
    """The activities of one thread of control: the coordinator's, or a worker's.

    Attributes:
        number: Its number in the timeline, from 0.
        until: The end of its latest slice.
        slices: Its slices since they were last taken, in no order.
        instants: Its events, likewise.
    """

    def __init__(self, number: int, name: str, lock: threading.Lock) -> None:
        self.number, self.name = number, name
        self.until = 0.0
        self.slices: list[Slice] = []
        self.instants: list[Instant] = []
        self._lock = lock

    def add(
        self,
        name: str,
        category: Category,
        began: float,
        ended: float,
        detail: str = "",
    ) -> None:
        self.extend([Slice(name, category, began, ended, detail)])

    def extend(self, slices: Iterable[Slice]) -> None:
        with self._lock:
            self.slices += slices
            self.until = max(self.until, self.slices[-1].ended if self.slices else 0.0)

    def mark(self, name: str, at: float, detail: str = "") -> None:
        with self._lock:
            self.instants.append(Instant(name, at, detail))


class Recorded(NamedTuple):
    """The slices and events of a track since they were last taken."""

    track: Track
    slices: list[Slice]
    instants: list[Instant]

    @property
    def ordered_slices(self) -> list[Slice]:
        """The slices by their beginning, outer ones first."""
        return sorted(self.slices, key=_begin_and_length)


def function_calls(slices: Iterable[Slice]) -> Iterator[tuple[str, Slice]]:
    """Yield the calls of passes on functions, each with the name of the pass.

    `slices` are those of one track, by their beginning, outer ones first.
    """
    pass_name = ""
    for one in slices:
        if one.category is Category.PASS:
            pass_name = one.name
        elif one.category is Category.FUNCTION:
            yield pass_name, one


class Timeline:
    """Records runs by track, and gives what it recorded to sinks as stages end.

    Several runs, in several threads, may record at once.

    Attributes:
        sinks: Called with what each track recorded since the last time.
        workers: How many workers have a track.
    """

    def __init__(self) -> None:
        self.sinks: list[Callable[[Recorded], object]] = []
        self.workers = 0
        self._tracks: dict[Hashable, Track] = {}
        self._places: set[int] = set()  # of coordinators
        self._lock = threading.Lock()
        self._calling_sinks = threading.Lock()

    def track(self, key: Hashable, name: str) -> Track:
        """Return the track of a key; a new one gets the name."""
        with self._lock:
            if key not in self._tracks:
                self._tracks[key] = Track(len(self._tracks), name, self._lock)
            return self._tracks[key]

    def has_track(self, key: Hashable) -> bool:
        return key in self._tracks

    @property
    def has_several_runs(self) -> bool:
        return len(self._places) > 1

    def begin_run(self) -> int:
        """Return a place for a coordinator that no run has at the moment, from 0."""
        with self._lock:
            free = set(range(len(self._places) + 1)) - self._places
            self._places.add(min(free))
            return min(free)

    def end_run(self, place: int) -> None:
        """Take back the place of a run, and give what is left of it to the sinks."""
        with self._lock:
            self._places.discard(place)
        self.flush()

    def flush(self) -> None:
        with self._calling_sinks:
            for recorded in self._take():
                for sink in self.sinks:
                    sink(recorded)

    def _take(self) -> list[Recorded]:
        """Return what tracks have recorded, and keep it no longer."""
        taken: list[Recorded] = []
        with self._lock:
            for track in self._tracks.values():
                if track.slices or track.instants:
                    taken.append(Recorded(track, track.slices, track.instants))
                    track.slices, track.instants = [], []
        return taken
