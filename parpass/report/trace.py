"""Traces: the timeline of runs as a file in the trace event format, for Perfetto.

Slices are written as stages end, so that memory is bounded by the largest stage.
However the runs end, the file is whole JSON when the trace is closed.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import time
from collections.abc import Generator, Iterator

from parpass.errors.warning import TraceWarning, warn
from parpass.report.timeline import Category, Recorded

_COMPRESSION = 1  # of gzip; more of it takes longer than the runs can spare

# Names that the format has for colours; Perfetto's page ignores them, and gives each
# name of a slice a colour of its own.
_PASS_COLOURS = (
    "thread_state_running",
    "rail_response",
    "rail_animation",
    "cq_build_passed",
    "thread_state_iowait",
    "rail_load",
    "vsync_highlight_color",
    "startup",
    "good",
    "bad",
    "olive",
    "yellow",
)
_COLOURS = {
    Category.WAITING: "grey",
    Category.STARTING: "white",
    Category.LOST: "terrible",
    Category.LOADING: "light_memory_dump",
    Category.ENCODING: "generic_work",
    Category.DECODING: "generic_work",
}

_HEAD = '{"displayTimeUnit":"ms","traceEvents":[\n'
_TAIL = "\n]}\n"


class TraceFile:
    """A trace file, which is a sink of a `Timeline`; compressed if it ends in `.gz`.

    A file that cannot be written is one warning, and the runs go on.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._origin = time.perf_counter()
        self._named: set[int] = set()  # tracks whose names are written
        self._colours: dict[str, str] = {}
        self._quoted: dict[str, str] = {}
        self._pid = os.getpid()
        self._file: io.BufferedIOBase | None = None
        with self._warning_of_errors():
            if self._path.endswith(".gz"):
                self._file = gzip.open(self._path, "wb", _COMPRESSION)  # noqa: SIM115 -- closed by `close`
            else:
                self._file = open(self._path, "wb")  # noqa: SIM115 -- likewise
        self._write(_HEAD + self._metadata("process_name", name="parpass"))

    def write(self, recorded: Recorded) -> None:
        if self._file is not None:
            self._write("".join(f",\n{line}" for line in self._lines(recorded)))

    def close(self) -> None:
        self._write(_TAIL)
        file, self._file = self._file, None
        if file is not None:
            with self._warning_of_errors():
                file.close()

    def _lines(self, recorded: Recorded) -> Iterator[str]:
        track, origin = recorded.track, self._origin
        number = track.number + 1
        if number not in self._named:
            self._named.add(number)
            yield self._metadata("thread_name", number, name=track.name)
            yield self._metadata("thread_sort_index", number, sort_index=number)
        where = f'"pid":{self._pid},"tid":{number}'
        # Nested ones after those that they are in, as readers of the format ask for.
        for name, category, began, ended, detail in recorded.ordered_slices:
            more = self._name_and_detail(name, detail)
            colour = self._colour(name, category)
            if colour is not None:
                more += f',"cname":"{colour}"'
            yield (
                f'{{"ph":"X",{where},"ts":{(began - origin) * 1e6:.3f},'
                f'"dur":{(ended - began) * 1e6:.3f},"cat":"{category.value}",{more}}}'
            )
        for name, at, detail in recorded.instants:
            when = (at - origin) * 1e6
            more = self._name_and_detail(name, detail)
            yield f'{{"ph":"i","s":"t",{where},"ts":{when:.3f},{more}}}'

    def _colour(self, name: str, category: Category) -> str | None:
        if category is Category.PASS or category is Category.MODULE_PASS:
            number = len(self._colours) % len(_PASS_COLOURS)
            return self._colours.setdefault(name, _PASS_COLOURS[number])
        return _COLOURS.get(category)

    def _name_and_detail(self, name: str, detail: str) -> str:
        quoted = self._quoted.get(name)
        if quoted is None:  # of most names there are many slices
            quoted = self._quoted[name] = json.dumps(name)
        args = f',"args":{{"detail":{json.dumps(detail)}}}' if detail else ""
        return f'"name":{quoted}{args}'

    def _metadata(self, what: str, number: int = 0, **args: str | int) -> str:
        """Return an event that says something of a track, or of the process."""
        of_track = {"tid": number} if number else {}
        event = {"ph": "M", "name": what, "pid": self._pid, **of_track, "args": args}
        return json.dumps(event)

    def _write(self, text: str) -> None:
        if self._file is not None:
            with self._warning_of_errors():
                self._file.write(text.encode())

    @contextlib.contextmanager
    def _warning_of_errors(self) -> Generator[None]:
        """Write no more after an error of the file system, and warn of it."""
        try:
            yield
        except OSError as error:
            file, self._file = self._file, None
            if file is not None:
                with contextlib.suppress(OSError):  # the same, of what was left
                    file.close()
            why = error.strerror or str(error)
            warn(f"cannot write the trace '{self._path}': {why}", TraceWarning)
