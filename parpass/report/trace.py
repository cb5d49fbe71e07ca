"""Traces: the timeline of runs as a file in the trace event format, for Perfetto.

Slices are written as stages end, so that memory is bounded by the largest stage.
However the runs end, the file is whole JSON when the trace is closed.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import time
from collections.abc import Generator, Iterator
from typing import IO, Any

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
    """A trace file, which is a sink of `Tracing`; compressed if its path ends in `.gz`.

    A file that cannot be written is one warning, and the runs go on.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._origin = time.perf_counter()
        self._named: set[int] = set()  # tracks whose names are written
        self._colours: dict[str, str] = {}
        self._quoted: dict[str, str] = {}
        self._pid = os.getpid()
        self._is_first = True
        self._file: IO[bytes] | None = None
        with self._warning_of_errors():
            raw: Any = gzip.open if self._path.endswith(".gz") else open
            extra = {"compresslevel": _COMPRESSION} if raw is gzip.open else {}
            self._file = raw(self._path, "wb", **extra)
        self._write(_HEAD)
        self._write_event(
            {"ph": "M", "name": "process_name", "args": {"name": "parpass"}}
        )

    def write(self, recorded: Recorded) -> None:
        if self._file is not None:
            self._write(",\n".join(self._lines(recorded)), joined=True)

    def close(self) -> None:
        self._write(_TAIL)
        file, self._file = self._file, None
        if file is not None:
            with self._warning_of_errors():
                file.close()

    def _lines(self, recorded: Recorded) -> Iterator[str]:
        track, origin = recorded.track, self._origin
        if track.number not in self._named:
            self._named.add(track.number)
            yield from self._names(track.number, track.name)
        where = f'"pid":{self._pid},"tid":{track.number + 1}'
        # Nested ones after those that they are in, as readers of the format ask for.
        for name, category, began, ended, detail in recorded.ordered_slices:
            more = self._name_colour_and_detail(name, category, detail)
            yield (
                f'{{"ph":"X",{where},"ts":{(began - origin) * 1e6:.3f},'
                f'"dur":{(ended - began) * 1e6:.3f},"cat":"{category.value}",{more}}}'
            )
        for event in recorded.instants:
            more = f'"name":{self._quote(event.name)}'
            if event.detail:
                more += f',"args":{{"detail":{json.dumps(event.detail)}}}'
            when = (event.time - origin) * 1e6
            yield f'{{"ph":"i","s":"t",{where},"ts":{when:.3f},{more}}}'

    def _name_colour_and_detail(
        self, name: str, category: Category, detail: str
    ) -> str:
        if category is Category.FUNCTION:  # most of all are
            return f'"name":{self._quote(name)}'
        more = f'"name":{self._quote(name)}'
        colour = _COLOURS.get(category)
        if category is Category.PASS or category is Category.MODULE_PASS:
            number = len(self._colours) % len(_PASS_COLOURS)
            colour = self._colours.setdefault(name, _PASS_COLOURS[number])
        if colour is not None:
            more += f',"cname":"{colour}"'
        if detail:
            more += f',"args":{{"detail":{json.dumps(detail)}}}'
        return more

    def _names(self, number: int, name: str) -> Iterator[str]:
        for what, args in (
            ("thread_name", {"name": name}),
            ("thread_sort_index", {"sort_index": number}),
        ):
            event = {"ph": "M", "name": what, "tid": number + 1, "args": args}
            yield json.dumps({"pid": self._pid, **event})

    def _quote(self, name: str) -> str:
        """Return a name as JSON; of most there are many slices."""
        quoted = self._quoted.get(name)
        if quoted is None:
            quoted = self._quoted[name] = json.dumps(name)
        return quoted

    def _write_event(self, event: dict[str, Any]) -> None:
        self._write(json.dumps({"pid": self._pid, **event}), joined=True)

    def _write(self, text: str, *, joined: bool = False) -> None:
        if self._file is None:
            return
        if joined and not self._is_first:
            text = ",\n" + text
        self._is_first = self._is_first and not joined
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
