"""The report of a run as text and as figures: `Runner.last_report`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from parpass.fork_safety import fork_lock
from parpass.runner.report.advice import recommend
from parpass.runner.report.figures import RunFigures, ratio, time_text

_MIN_TOLD_SHARE = 0.05  # of the time, that start-up is told of from
_OF_START_UP = "imports, starting workers"


class Line(NamedTuple):
    """A line of the report: an activity, its seconds, and a remark."""

    what: str
    seconds: float
    remark: str = ""


class RunReport(RunFigures, frozen=True, kw_only=True):
    """The times of one run, and recommendations.

    Its attributes are the figures, in seconds: see `RunFigures`. `str(report)` renders
    it as text, `msgspec.json.encode(report)` as JSON.
    """

    @property
    def advice(self) -> tuple[str, ...]:
        """The recommendations, by the time they would save, the largest first."""
        return recommend(self)

    @property
    def headline(self) -> str:
        """The time, the speedup and its limits, in a line."""
        text = time_text(self.seconds)
        is_told = self.start_up >= _MIN_TOLD_SHARE * self.seconds
        if is_told:
            text += f", {time_text(self.start_up)} of it start-up"
        if self.speedup is not None and self.warm_speedup is not None:
            about = self.warm_speedup if is_told else self.speedup
            text += (
                f": about {about:.1f} x serial"
                + " with a core of its own" * self.lacks_cores
            )
            text += f", {self.speedup:.1f} x with the start-up" * is_told
        if not self.workers:
            return f"{text}, without workers"
        if self.has_recalled:  # what workers could save is not known
            return text
        return (
            f"{text}; at most {self.limit:.1f} x with {self.workers} workers"
            f", as {self.serial_share:.0%} of the work is serial"
            + (f" and the longest functions take {time_text(self.longest_path)}")
            * (self.limit < self.ceiling)
            + f"; the workers had {self.cores:.1f} cores" * self.lacks_cores
        )

    def lines(self) -> list[Line]:
        """Return the time by activity; activities without time are left out."""
        lines = [
            Line("start-up, here", self.beforehand + self.loading, _OF_START_UP),
            *_lines("module pass", self.module_passes),
            *_lines("instrument", self.instruments),
            *_lines("here", self.here),
            Line("in the workers", self.in_workers, self._worker_text()),
            Line("unpacking to look", self.looking),
            Line("the rest", self.rest),
        ]
        return [line for line in lines if line.seconds > 0]

    def to_html(self, title: str = "A run of parpass") -> str:
        """Return the report as a page: one file of HTML, which needs no network.

        `Runner.record` gives one with the timeline, the functions and the remarks.
        """
        with fork_lock:
            # It shows reports, so it imports this.
            page = importlib.import_module("parpass.runner.report.html.page")
        recording = page.Recording()
        recording.report = self
        return recording.to_html(title)

    def _worker_text(self) -> str:
        whole = self.workers * self.in_workers
        parts = {
            f"busy on {self.cores:.1f} cores": self.busy,
            "starting": self.starting,
            "waiting": self.waiting,
            "idle at the end": self.idle_at_end,
        }
        return ", ".join(
            f"{ratio(part, whole, none=0.0):.0%} {name}" for name, part in parts.items()
        )

    @property
    def counts(self) -> str:
        """The numbers of stages, jobs, functions and bytes, in a line."""
        cached = ""
        if self.cache is not None:
            found, all_of = (
                self.cache.recalled,
                self.cache.recalled + self.cache.computed,
            )
            cached = f"; {found:,} of {_number(all_of, 'function')} from the cache"
        return (
            f"{_number(self.stages, 'stage')}, {_number(self.jobs, 'job')}, "
            f"{_number(self.functions, 'function')} sent; "
            f"{self.bytes_sent / 1e6:.1f} MB over, {self.bytes_received / 1e6:.1f} MB "
            f"back; packed in {time_text(self.packing)}, unpacked beside the workers "
            f"in {time_text(self.unpacking)}{cached}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what a cache on disk does not have; none of most runs."""
        if self.cache is None or not self.cache.unwritten:
            return ()
        count = _number(self.cache.unwritten, "result")
        return (f"Not on disk: {count}; {self.cache.why_unwritten}",)

    def __str__(self) -> str:
        width = max([len(line.what) for line in self.lines()], default=0)
        lines = [
            f"  {what:<{width}}  {time_text(seconds):>9} "
            f"{ratio(seconds, self.seconds):>4.0%}  {remark}".rstrip()
            for what, seconds, remark in self.lines()
        ]
        best, *others = self.advice
        also = [f"Also: {text}" for text in others]
        told = [self.headline, *lines, self.counts, *self.notes]
        return "\n".join([*told, f"What would help most: {best}", *also])

    def _repr_html_(self) -> str:
        """Return the times as a table for a notebook."""
        with fork_lock:
            from parpass.notebook_html import table  # in notebooks alone

        rows = [
            (what, time_text(spent), f"{ratio(spent, self.seconds):.0%}", remark)
            for what, spent, remark in self.lines()
        ]
        best, *others = self.advice
        return table(
            self.headline,
            rows,
            [self.counts, *self.notes, f"What would help most: {best}", *others],
        )

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, str]:
        """Return text and table for a notebook."""
        del kinds
        with fork_lock:
            from parpass.notebook_html import mime_bundle  # in notebooks alone

        return mime_bundle(str(self), self._repr_html_())


def _lines(kind: str, parts: Mapping[str, float]) -> list[Line]:
    longest = sorted(parts.items(), key=lambda part: -part[1])
    return [Line(f"{kind}: {name}", seconds) for name, seconds in longest]


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
