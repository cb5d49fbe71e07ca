"""The report of a run as text and as figures: `Runner.last_report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from parpass.lazy_loader import load_module
from parpass.report.advice import recommend
from parpass.report.figures import RunFigures, count_text, ratio, time_text

_MIN_TOLD_SHARE = 0.05  # of the time, that start-up is told of from
_TOLD_COPYING = 0.01  # of the time, that copies are told of from
_OF_START_UP = "imports, starting workers"
_MOST_STAGES = 10  # the longest ones, that are told of one by one


class Line(NamedTuple):
    what: str
    seconds: float
    remark: str = ""


class Sections(NamedTuple):
    """The content of a report, which text, tables and pages show."""

    headline: str = ""
    times: Sequence[Line] = ()
    facts: Sequence[str] = ()
    advice: Sequence[str] = ()
    workers: Sequence[Line] = ()

    @property
    def closing(self) -> list[str]:
        """The lines after the times."""
        best, *others = self.advice
        also = [f"Also: {text}" for text in others]
        return [*self.facts, f"Advice: {best}", *also]


class RunReport(RunFigures, frozen=True, kw_only=True):
    """The times of one run, and recommendations.

    Its attributes are the figures, in seconds: see `RunFigures`. `str(report)` renders
    it as text, and `msgspec.json.encode(report)` as JSON.
    """

    @property
    def advice(self) -> tuple[str, ...]:
        """The recommendations, sorted by the time they would save, most first."""
        return recommend(self)

    def sections(self) -> Sections:
        """Return all that is shown of the report."""
        facts = (self.counts, *self.stage_counts, *self.notes)
        workers = self._worker_lines() if self.in_workers else ()
        return Sections(self.headline, self.lines(), facts, self.advice, workers)

    @property
    def headline(self) -> str:
        """The time, the speed-up and its limits, in one line."""
        text = time_text(self.seconds)
        has_start_up = self.start_up >= _MIN_TOLD_SHARE * self.seconds
        if has_start_up:
            text += f" (start-up {time_text(self.start_up)})"
        if not self.workers:
            return f"{text}, without workers"
        if self.speedup is None or self.warm_speedup is None:
            text += ". Speed-up over a serial run not measured"
        else:
            told = self.warm_speedup if has_start_up else self.speedup
            text += f". Measured speed-up {told:.2f}x"
            text += f" ({self.speedup:.2f}x with start-up)" * has_start_up
        if self.has_recalled:  # what workers could save is not known
            return text
        limits = [f"{self.serial_share:.0%} of the work is serial"]
        if self.limit < self.ceiling:
            limits.append(f"the longest functions take {time_text(self.longest_path)}")
        if self.lacks_cores:
            limits.append(f"the workers had {self.cores:.1f} cores")
        return (
            f"{text}, ideal {self.limit:.1f}x with {self.workers} workers "
            f"({', '.join(limits)})"
        )

    def lines(self) -> list[Line]:
        """Return the time by activity; activities without time are omitted."""
        lines = [
            Line("local start-up", self.beforehand + self.loading, _OF_START_UP),
            *_lines("module pass", self.module_passes),
            *_lines("instrument", self.instruments),
            *_lines("local", self.here),
            Line("in the workers", self.in_workers, self._worker_text()),
            Line("decoding on demand", self.looking),
            Line("other", self.rest),
        ]
        return [line for line in lines if line.seconds > 0]

    def to_html(self, title: str = "A run of parpass") -> str:
        """Return the report as a page: a single HTML file that needs no network.

        `Runner.record` gives a page with the timeline, the functions and the remarks as
        well.
        """
        # It shows reports, so it imports this.
        page = load_module("parpass.report.html.page")
        recording = page.Recording()
        recording.report = self
        return recording.to_html(title)

    def _worker_lines(self) -> list[Line]:
        return [
            Line("busy", self.busy, f"on {self.cores:.1f} cores"),
            Line("starting", self.starting),
            Line("waiting", self.waiting),
            Line("idle at the end", self.idle_at_end),
        ]

    def _worker_text(self) -> str:
        whole = self.workers * self.in_workers
        return ", ".join(
            f"{ratio(seconds, whole, none=0.0):.0%} {what} {remark}".rstrip()
            for what, seconds, remark in self._worker_lines()
        )

    @property
    def counts(self) -> str:
        """The numbers of stages, jobs, functions and bytes, in one line."""
        cached = ""
        if self.cache is not None:
            found = self.cache.recalled
            all_of = found + self.cache.computed
            cached = f"; {found:,} of {count_text(all_of, 'function')} from the cache"
        return (
            f"{count_text(self.stages, 'stage')}, {count_text(self.jobs, 'job')}, "
            f"{count_text(self.functions, 'function')} sent; "
            f"{self.bytes_sent / 1e6:.1f} MB out, {self.bytes_received / 1e6:.1f} MB "
            f"back; encoded in {time_text(self.encoding)}, decoded while workers ran "
            f"in {time_text(self.decoding)}{cached}"
        )

    @property
    def stage_counts(self) -> tuple[str, ...]:
        """The stages in the workers, the longest first, if there are several."""
        stages = self.stages_in_workers
        if len(stages) < 2:  # the counts of the run say it
            return ()
        longest = sorted(stages, key=lambda one: -one.in_workers)
        return tuple(
            f"{one.name}: {one.counts}; {time_text(one.in_workers)}"
            for one in longest[:_MOST_STAGES]
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on copies, and what a cache on disk does not have; mostly none."""
        notes: list[str] = []
        if self.copying >= _TOLD_COPYING * self.seconds:
            notes.append(
                "Copying functions that passes may change took "
                f"{time_text(self.copying)}, summed over processes; to spend less, "
                "set 'mutability' in the adapter"
            )
        if self.cache is not None and self.cache.unwritten:
            count = count_text(self.cache.unwritten, "result")
            notes.append(f"Not on disk: {count}; {self.cache.why_unwritten}")
        return tuple(notes)

    def __str__(self) -> str:
        shown = self.sections()
        width = max([len(line.what) for line in shown.times], default=0)
        lines = [
            f"  {what:<{width}}  {time_text(seconds):>9} "
            f"{ratio(seconds, self.seconds):>4.0%}  {remark}".rstrip()
            for what, seconds, remark in shown.times
        ]
        return "\n".join([shown.headline, *lines, *shown.closing])

    def _repr_html_(self) -> str:
        from parpass.notebook_html import table  # in notebooks alone

        shown = self.sections()
        rows = [
            (what, time_text(spent), f"{ratio(spent, self.seconds):.0%}", remark)
            for what, spent, remark in shown.times
        ]
        return table(shown.headline, rows, shown.closing)

    def _repr_mimebundle_(self, **kinds: Any) -> dict[str, str]:
        del kinds
        from parpass.notebook_html import mime_bundle  # in notebooks alone

        return mime_bundle(str(self), self._repr_html_())


def _lines(kind: str, parts: Mapping[str, float]) -> list[Line]:
    longest = sorted(parts.items(), key=lambda part: -part[1])
    return [Line(f"{kind}: {name}", seconds) for name, seconds in longest]
