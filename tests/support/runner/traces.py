"""Traces as tests read them: slices by track, which must be nested or apart."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

_SLACK = 0.002  # microseconds: the last digit that is written

Event = dict[str, Any]


class ReadTrace:
    """The events of a trace file, which is checked as it is read.

    Attributes:
        tracks: The slices of each track, by its name.
        instants: The names of events, with their tracks.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        events: list[Event] = json.loads(content)["traceEvents"]
        names = {
            one["tid"]: one["args"]["name"]
            for one in events
            if one["name"] == "thread_name"
        }
        assert len(set(names.values())) == len(names)
        self.tracks: dict[str, list[Event]] = {name: [] for name in names.values()}
        self.instants: list[tuple[str, str]] = []
        for one in events:
            if one["ph"] == "X":
                self.tracks[names[one["tid"]]].append(one)
            elif one["ph"] == "i":
                self.instants.append((names[one["tid"]], one["name"]))
        for slices in self.tracks.values():
            _check_nesting(slices)

    @property
    def workers(self) -> list[str]:
        """The names of the workers' tracks."""
        return [name for name in self.tracks if name.startswith("worker")]

    def slices(self, category: str) -> list[Event]:
        """Return the slices of a category, on all tracks."""
        every = [one for slices in self.tracks.values() for one in slices]
        return [one for one in every if one["cat"] == category]

    def calls(self) -> Counter[tuple[str, str]]:
        """Return how often there is a pass on a function."""
        found: Counter[tuple[str, str]] = Counter()
        for slices in self.tracks.values():
            outer = ""
            for one in sorted(slices, key=_by_begin):
                if one["cat"] == "pass":
                    outer = one["name"]
                elif one["cat"] == "function":
                    found[outer, one["name"]] += 1
        return found


def _by_begin(one: Event) -> tuple[float, float, bool]:
    return one["ts"], -one["dur"], one["cat"] == "function"


def _check_nesting(slices: list[Event]) -> None:
    open_ends: list[float] = []
    for one in sorted(slices, key=_by_begin):
        began, ended = one["ts"], one["ts"] + one["dur"]
        assert one["dur"] >= 0, one
        while open_ends and open_ends[-1] <= began + _SLACK:
            open_ends.pop()
        assert not open_ends or ended <= open_ends[-1] + _SLACK, one
        open_ends.append(ended)
