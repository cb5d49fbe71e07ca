"""The recording of runs, and its page: what was recorded, as rows of a document."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

from parpass.notebook_html import mime_bundle, page
from parpass.report.figures import time_text
from parpass.report.html.chart import Slices, chart, chart_script
from parpass.report.html.document import (
    Document,
    FunctionRow,
    PassRow,
    RemarkRow,
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
    Category.PACKING,
    Category.UNPACKING,
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
    drawn, why_not = _timeline(recording)
    return Document(
        title=title,
        headline="" if shown is None else shown.headline,
        failure=recording.failure,
        facts=[] if shown is None else shown.facts,
        advice=[] if shown is None else [str(one) for one in shown.advice],
        times=[] if shown is None else [TimeRow(*one) for one in shown.times],
        workers=[] if report is None else _worker_rows(report),
        passes=_pass_rows(recording, by_pass),
        functions=[
            FunctionRow(name, recording.seconds.get(name, 0.0), len(own), remarks)
            for name, own in zip(names, versions, strict=True)
            for remarks in [by_function[name]]
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
        timeline=drawn,
        without_timeline=why_not,
        charts=chart_script() if drawn else "",
    )


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
    report = recording.report
    seconds: dict[str, float] = {}
    if report is not None:
        seconds = {**report.module_passes, **report.passes}
    for name in [*recording.changed, *remarks]:
        seconds.setdefault(name, 0.0)
    return [
        PassRow(
            name,
            took,
            recording.calls.get(name),
            recording.changed.get(name, 0),
            remarks[name],
        )
        for name, took in seconds.items()
    ]


def _timeline(recording: RecordedRuns) -> tuple[object | None, str]:
    """Return the chart of the timeline; or None, and why there is none."""
    tracks = list(recording.tracks)
    if not tracks:
        return None, "No timeline was recorded: see Runner.record, or --report."
    count = sum(map(len, recording.tracks.values()))
    wanted = _DRAWN
    if count > _MAX_SLICES:
        wanted = (_DRAWN - {Category.FUNCTION}) | {Category.PASS}
    slices = Slices([], [], [], [], [])
    origin = min(one.began for own in recording.tracks.values() for one in own)
    for number, own in enumerate(recording.tracks.values()):
        pass_name = ""
        for one in own:
            if one.category is Category.PASS:
                pass_name = one.name
            if one.category not in wanted:
                continue
            is_function = one.category is Category.FUNCTION
            slices.track.append(number)
            slices.start.append(one.began - origin)
            slices.stop.append(one.ended - origin)
            slices.name.append(pass_name if is_function else one.name)
            slices.function.append(one.name if is_function else "")
    with contextlib.suppress(ModuleNotFoundError):
        return chart(tracks, slices), ""
    took = time_text(max(slices.stop, default=0.0))
    return None, (
        f"{len(slices.name):,} slices of {took} were recorded; to have them drawn, "
        "install Bokeh: pip install 'parpass[report]'"
    )
