"""The recording of runs, and its page: what was recorded, as rows of a document."""

from __future__ import annotations

import base64
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from parpass.errors import ParpassError
from parpass.instrument import PassInstrument
from parpass.notebook_html import mime_bundle, page
from parpass.remark import Remark
from parpass.report.figures import count_text
from parpass.report.html.document import (
    Chain,
    Document,
    FunctionRow,
    PassRow,
    RemarkRow,
    TimelineChart,
    Version,
)
from parpass.report.progress import INTERVAL_SECONDS, Progress, ProgressCallback
from parpass.report.report import RunReport, Sections
from parpass.report.timeline import Category, Recorded, Slice, function_calls
from parpass.transform import ModuleAdapter, PassInfo, adapter_of
from parpass.transform.capture.change import FunctionChange, inflated
from parpass.transform.capture.structural_diff import FunctionDiffs

MAX_TEXT_BYTES = 100_000_000  # of all versions, deflated: to about a tenth
# Slices of functions that a chart can have, and still follow the mouse.
MAX_SLICES = 50_000
# Of what is nested only the innermost is drawn.
_DRAWN = {
    Category.MODULE_PASS,
    Category.INSTRUMENT,
    Category.ENCODING,
    Category.DECODING,
    Category.LOADING,
    Category.STARTING,
    Category.LOST,
    Category.FUNCTION,
}

# Versions of a function: the pass, None for the first one, and the text, deflated; None
# where the pass removed the function.
_Kept = list[tuple[str | None, bytes | None]]


class Recording(PassInstrument):
    """The recording of some runs, and its page; `Runner.record` makes one.

    Texts are made and deflated where the passes run, and kept so.

    Attributes:
        report: The report of the last run; None if none has ended.
        failure: The error that ended the recording, as text; None if none did.
        remarks: The remarks, in serial order.
        changed: How many functions each pass changed.
        tracks: The slices of each track, by its name.
        draws_functions: Whether slices of functions are among them; not if they were
            too many.
        seconds: The time of each pass on each function, by function and pass.
        calls: How often each pass ran on a function.
        sources: The source texts of the modules, by name.
        chains: How compiled functions came from the source; a build adds them.
        command: The command that made it; empty if a program did.
        trace: The trace file of the runs, compressed; empty if there is none.
        left_out: How many versions were not kept, as there was too much text.
    """

    observes_ir = False

    def __init__(self) -> None:
        self.report: RunReport | None = None
        self.failure: str | None = None
        self.remarks: list[Remark] = []
        self.changed: Counter[str] = Counter()
        self.tracks: defaultdict[str, list[Slice]] = defaultdict(list)
        self.draws_functions = True
        self.seconds: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self.calls: Counter[str] = Counter()
        self.sources: dict[str, str] = {}
        self.chains: Sequence[Chain] = ()
        self.command = ""
        self.trace = b""
        self.left_out = 0
        self._versions: dict[str, _Kept] = {}
        self._bytes = 0
        self._diffs = FunctionDiffs()
        self._module: tuple[Any, ModuleAdapter] | None = None

    def on_remark(self, info: PassInfo, remark: Remark) -> None:
        del info
        self.remarks.append(remark)

    def on_function_changed(self, info: PassInfo, change: FunctionChange) -> None:
        """Record the function before, if it was not changed yet, and after."""
        self.changed[info.name] += 1
        versions = self._versions.setdefault(change.function, [])
        before, after = change.deflated
        if not versions and before is not None:
            self._keep(versions, None, before)
        self._keep(versions, info.name, after)

    def _keep(self, versions: _Kept, after: str | None, text: bytes | None) -> None:
        self._bytes += len(text or b"")
        if self._bytes > MAX_TEXT_BYTES:
            self.left_out += 1
        else:
            versions.append((after, text))

    def add_slices(self, recorded: Recorded) -> None:
        """Record what a track did; a sink of a `Timeline`."""
        slices = recorded.ordered_slices
        for pass_name, call in function_calls(slices):
            took = self.seconds[call.name]
            took[pass_name] = took.get(pass_name, 0.0) + call.ended - call.began
            self.calls[pass_name] += 1
        if not self.draws_functions:
            slices = _without_functions(slices)
        tracks = self.tracks
        tracks[recorded.track.name] += slices
        if self.draws_functions and sum(map(len, tracks.values())) > MAX_SLICES:
            self.draws_functions = False
            for name, own in tracks.items():
                tracks[name] = _without_functions(own)

    def add_module(self, mod: Any) -> None:
        """Record the module that a run returned, whose functions are shown as well."""
        try:
            self._module = mod, adapter_of(mod, "Recording")
        except ParpassError:  # an expression, say, which was lifted to a module
            self._module = None
        sources: Mapping[str, str] | None = getattr(mod, "sources", None)
        self.sources |= sources or {}

    def fail(self, error: BaseException) -> None:
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        is_failure = isinstance(error, Exception)
        what = "The run failed" if is_failure else "The run was cancelled"
        self.failure = f"{what}: {type(error).__name__}: {error}{notes}"

    def functions(self) -> list[str]:
        """Return the names of all functions: those of the module, then others."""
        known: dict[str, None] = {}
        if self._module is not None:
            mod, adapter = self._module
            known = dict.fromkeys(adapter.functions(mod))
        return list(known | dict.fromkeys([*self._versions, *self.seconds]))

    def versions(self, function: str) -> Iterator[Version]:
        """Yield the versions of a function that were kept, the first one first.

        Of one that no pass changed it is the one that is in the module.
        """
        kept = self._versions.get(function, [])
        before: str | None = None
        for after, deflated in kept:
            text = inflated(deflated) or ""
            diff = "" if before is None else self._diffs.diff(function, before, text)
            yield Version(after, text, diff)
            before = text
        if kept or self._module is None:
            return
        mod, adapter = self._module
        value = adapter.functions(mod).get(function)
        if value is not None:
            yield Version(None, adapter.function_text(function, value, mod), "")

    def to_html(
        self,
        title: str = "A run of parpass",
        progress: ProgressCallback | None = None,
    ) -> str:
        """Return the recording as a page: one file, which needs no network.

        `progress` is called with how many functions are done, as in a run.
        """
        return document_of(self, title, progress).to_html()

    def write(self, path: str | Path, title: str = "A run of parpass") -> None:
        """Write the recording as a page.

        Raises:
            OSError: It cannot be written.
        """
        Path(path).write_text(self.to_html(title), encoding="utf-8")

    def _repr_html_(self) -> str:
        return page(self.to_html())

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, str]:
        del kinds
        text = self.failure or (str(self.report) if self.report else "no run")
        return mime_bundle(text, self._repr_html_())


def _without_functions(slices: Sequence[Slice]) -> list[Slice]:
    return [one for one in slices if one.category is not Category.FUNCTION]


def document_of(
    recording: Recording, title: str, progress: ProgressCallback | None = None
) -> Document:
    report = recording.report
    shown = Sections() if report is None else report.sections()
    by_function = Counter(one.function for one in recording.remarks)
    by_pass = Counter(one.pass_name for one in recording.remarks)
    names = recording.functions()
    versions = _versions(recording, names, progress)
    passes = _pass_rows(recording, by_pass)
    index = {one.name: at for at, one in enumerate(passes)}
    return Document(
        title=title,
        headline=shown.headline,
        failure=recording.failure,
        facts=[*shown.facts, *_left_out(recording)],
        advice=[str(one) for one in shown.advice],
        times=shown.times,
        workers=shown.workers,
        passes=passes,
        functions=[
            FunctionRow(
                name,
                sum(took.values()),
                len(own),
                by_function[name],
                [(index[one], round(seconds, 6)) for one, seconds in took.items()],
            )
            for name, own in zip(names, versions, strict=True)
            for took in [recording.seconds.get(name, {})]
        ],
        versions=versions,
        remarks=[_remark_row(one) for one in recording.remarks],
        sources={
            one.span.source_name: recording.sources[one.span.source_name]
            for one in recording.remarks
            if one.span is not None and one.span.source_name in recording.sources
        },
        chains=recording.chains,
        timeline=_timeline(recording, names),
        command=recording.command,
        trace=base64.b64encode(recording.trace).decode(),
    )


def _versions(
    recording: Recording, functions: Sequence[str], progress: ProgressCallback | None
) -> list[list[Version]]:
    """Return the versions of functions; comparing them takes most of the time."""
    began = told = time.monotonic()
    found: list[list[Version]] = []
    for done, name in enumerate(functions, 1):
        found.append([*recording.versions(name)])
        now = time.monotonic()
        if progress is not None and now - told >= INTERVAL_SECONDS:
            told, count = now, len(functions)
            eta = (now - began) * (count - done) / done
            about = ("writing the report",), done, count, now - began, eta
            progress(Progress(0, *about, (), (), None, False))
    return found


def _remark_row(remark: Remark) -> RemarkRow:
    said = remark.kind.value, remark.pass_name, remark.function, remark.text
    span = remark.span
    if span is None:
        return RemarkRow(*said)
    return RemarkRow(*said, str(span), span.source_name, span.line)


def _left_out(recording: Recording) -> list[str]:
    if not recording.left_out:
        return []
    count = count_text(recording.left_out, "version")
    return [f"{count} of functions left out: too much text"]


def _pass_rows(recording: Recording, remarks: Counter[str]) -> list[PassRow]:
    """Return a row for each pass, in the order in which they first ran."""
    report = recording.report
    began: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for one in chain.from_iterable(recording.tracks.values()):
        if one.category in (Category.PASS, Category.MODULE_PASS):
            began[one.name] = min(one.began, began.get(one.name, one.began))
        if one.category is Category.MODULE_PASS:
            seconds[one.name] = seconds.get(one.name, 0.0) + one.ended - one.began
    functions: Counter[str] = Counter()
    for took in recording.seconds.values():
        functions.update(took.keys())
        for name, spent in took.items():
            seconds[name] = seconds.get(name, 0.0) + spent
    if report is not None:  # of the last run; it knows what passes in passes took
        seconds |= {
            **report.module_passes,
            **{k: v for k, v in report.passes.items() if k not in functions},
        }
    names = [*sorted(began, key=began.__getitem__), *seconds, *recording.changed]
    return [
        PassRow(
            name,
            seconds.get(name, 0.0),
            recording.calls.get(name),
            functions.get(name),
            recording.changed.get(name, 0),
            remarks[name],
        )
        for name in dict.fromkeys([*names, *remarks])
    ]


def _timeline(recording: Recording, functions: list[str]) -> TimelineChart | None:
    tracks = list(recording.tracks)
    if not tracks:
        return None
    wanted = _DRAWN if recording.draws_functions else _DRAWN | {Category.PASS}
    place = {name: at for at, name in enumerate(functions)}
    names: dict[str, int] = {}
    made = TimelineChart(tracks, [], [], [], [], [], [])
    origin = min(one.began for own in recording.tracks.values() for one in own)
    for number, own in enumerate(recording.tracks.values()):
        pass_name = ""
        for one in own:
            if one.category is Category.PASS:
                pass_name = one.name
            if one.category not in wanted:
                continue
            is_function = one.category is Category.FUNCTION
            name = pass_name if is_function else one.name
            made.track.append(number)
            made.start.append(round(1e6 * (one.began - origin)))
            made.stop.append(round(1e6 * (one.ended - origin)))
            made.name.append(names.setdefault(name, len(names)))
            made.function.append(place.get(one.name, -1) if is_function else -1)
    made.names.extend(names)
    return made
