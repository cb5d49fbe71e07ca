"""The recording of runs, and its page: what was recorded, as rows of a document."""

from __future__ import annotations

import base64
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

from parpass.notebook_html import mime_bundle, page
from parpass.report.figures import count_text
from parpass.report.html.document import (
    Document,
    FunctionRow,
    PassRow,
    RemarkRow,
    TimelineChart,
    TimeRow,
)
from parpass.report.html.recording import RecordedRuns
from parpass.report.report import RunReport
from parpass.report.timeline import Category

# Slices of functions that a chart can have, and still follow the mouse.
_MAX_SLICES = 50_000
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


class Recording(RecordedRuns):
    """The recording of some runs, and its page; `Runner.record` makes one."""

    def to_html(self, title: str = "A run of parpass") -> str:
        """Return the recording as a page: one file, which needs no network."""
        return document_of(self, title).to_html()

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


def document_of(recording: RecordedRuns, title: str) -> Document:
    report = recording.report
    shown = None if report is None else report.sections()
    by_function = Counter(one.function for one in recording.remarks)
    by_pass = Counter(one.pass_name for one in recording.remarks)
    names = recording.functions()
    versions = [list(recording.versions(name)) for name in names]
    passes = _pass_rows(recording, by_pass)
    index = {one.name: at for at, one in enumerate(passes)}
    return Document(
        title=title,
        headline="" if shown is None else shown.headline,
        failure=recording.failure,
        facts=[*([] if shown is None else shown.facts), *_left_out(recording)],
        advice=[] if shown is None else [str(one) for one in shown.advice],
        times=[] if shown is None else [TimeRow(*one) for one in shown.times],
        workers=[] if report is None else _worker_rows(report),
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
        remarks=[
            RemarkRow(
                one.kind.value,
                one.pass_name,
                one.function,
                one.text,
                None if one.span is None else str(one.span),
                None if one.span is None else one.span.source_name,
                None if one.span is None else one.span.line,
            )
            for one in recording.remarks
        ],
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


def _left_out(recording: RecordedRuns) -> list[str]:
    if not recording.left_out:
        return []
    count = count_text(recording.left_out, "version")
    return [f"{count} of functions left out: too much text"]


def _worker_rows(report: RunReport) -> list[TimeRow]:
    if not report.in_workers:
        return []
    cores = f"on {report.cores:.1f} cores"
    return [
        TimeRow("busy", report.busy, cores),
        TimeRow("starting", report.starting, ""),
        TimeRow("waiting for functions", report.waiting, ""),
        TimeRow("idle at the end of stages", report.idle_at_end, ""),
    ]


def _pass_rows(recording: RecordedRuns, remarks: Counter[str]) -> list[PassRow]:
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


def _timeline(recording: RecordedRuns, functions: list[str]) -> TimelineChart | None:
    tracks = list(recording.tracks)
    if not tracks:
        return None
    count = sum(map(len, recording.tracks.values()))
    wanted = _DRAWN
    if count > _MAX_SLICES:
        wanted = (_DRAWN - {Category.FUNCTION}) | {Category.PASS}
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
