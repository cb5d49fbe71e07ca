"""The part of a runner by which its runs are watched: traces, recordings, profiles.

A file of its own, as it grows with what there is to see, and the runner does not. It
imports what is needed when it is needed, as it is loaded with the surface.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from parpass.fork_safety import forks_wait
from parpass.report.progress import PROGRESS_CALLBACK

if TYPE_CHECKING:
    from parpass.report.html.page import Recording
    from parpass.report.profile import RunProfile
    from parpass.report.progress import Progress
    from parpass.report.report import RunReport
    from parpass.report.run_recorder import RunRecorder
    from parpass.report.timeline import Recorded, Timeline
    from parpass.runner.observers import RunObserver
    from parpass.transform import PassContext


class WatchedRuns:
    """Watches the runs of a runner that begin in a block.

    Attributes:
        timeline: What they are recorded on; None if they are not.
        recordings: The recordings for pages.
    """

    _keeps_last_report = True

    def __init__(self) -> None:
        self.timeline: Timeline | None = None
        self.recordings: list[Recording] = []
        self._last: RunRecorder | None = None

    @property
    def last_report(self) -> RunReport | None:
        """The report of the last run that ended, failed ones included; None before."""
        return None if self._last is None else self._last.report()

    def observers(
        self,
        began: float,
        report: Callable[[RunReport], object] | None,
        progress: Callable[[Progress], object] | bool | None,
    ) -> tuple[RunObserver, ...]:
        """Return the observers of a run that begins.

        Args:
            began: Its start, by `time.perf_counter()`.
            report: Called with its report at its end; see `run_pipeline`.
            progress: Called with how far it is, likewise.
        """
        found: list[RunObserver] = []
        callback = PROGRESS_CALLBACK.get() if progress is None else progress
        if callback is not None and callback is not False:
            from parpass.report.progress_tracker import progress_observers

            found += progress_observers(callback)
        if not self._keeps_last_report and report is None and self.timeline is None:
            return tuple(found)
        ended = functools.partial(self._keep_last, report)
        # The last one, as `report` may raise.
        if self.timeline is None:
            with forks_wait():  # it loads what stages are made of
                from parpass.report.run_recorder import RunRecorder

            return (*found, RunRecorder(began, ended))
        from parpass.report.tracer import Tracer

        return (*found, Tracer(began, self.timeline, ended))

    def _keep_last(
        self, report: Callable[[RunReport], object] | None, run: RunRecorder
    ) -> None:
        self._last = run
        if report is not None:
            report(run.report())

    @contextlib.contextmanager
    def trace(self, path: str | os.PathLike[str]) -> Generator[None]:
        """Record the runs that begin in the block, for Perfetto or Chrome.

        The coordinator and each worker have a track. Tracks show the passes on each
        function, encoding, waiting and decoding, module passes and instrument hooks,
        and events such as the death of a worker. A run that fails or is cancelled is
        recorded up to its end.

        Args:
            path: The file, in the trace event format; compressed if it ends in `.gz`.
                Each call overwrites it.

        Warns:
            TraceWarning: The file cannot be written; the runs are not affected.
        """
        from parpass.report.trace import TraceFile

        with (
            contextlib.closing(TraceFile(path)) as file,
            self.traced_to(file.write),
        ):
            yield

    @contextlib.contextmanager
    def record(self, context: PassContext | None = None) -> Generator[Recording]:
        """Record the runs that begin in the block, for an HTML page.

        The recording contains what a trace contains. For runs under one context it also
        contains the remarks of each pass and its changes to each function. See
        `Recording.write`. Printing functions takes longer than most passes do; workers
        do it, and it adds no barrier.

        Args:
            context: The context; by default the current one.

        Yields:
            The recording. It is complete when the block ends.
        """
        from parpass.report.html.page import Recording

        recording = Recording()
        self.recordings.append(recording)
        try:
            with (
                _or_current(context).also_watched_by(recording),
                self.traced_to(recording.add_slices),
            ):
                yield recording
        except BaseException as error:
            recording.fail(error)
            raise
        finally:
            self.recordings.remove(recording)
            recording.report = self.last_report

    @contextlib.contextmanager
    def profile(
        self, context: PassContext | None = None, *, memory: bool = False
    ) -> Generator[RunProfile]:
        """Measure the runs that begin in the block, by pass and by function.

        Args:
            context: The context of the runs, whose statistics are taken; by default the
                one that is current here.
            memory: Whether to measure the memory of passes under this context, too. It
                is measured by `tracemalloc`, which runs in this process during the
                block, and in workers during their jobs; passes take longer then.

        Yields:
            The times and statistics, added up, and the largest memory. They are whole
            when the block is left.
        """
        from parpass.report.profile import profiling

        with (
            profiling(_or_current(context), memory=memory) as profile,
            self.traced_to(profile.add_slices),
        ):
            yield profile

    def add_module(self, made: Any) -> None:
        """Give the module that a run returned to what records it."""
        for one in self.recordings:
            one.add_module(made)

    @contextlib.contextmanager
    def traced_to(self, sink: Callable[[Recorded], object]) -> Generator[None]:
        """Give what runs of the block record to a callback, besides other ones.

        Args:
            sink: Called as stages end, with what a track recorded since the last time:
                `track.name`, `slices` and `instants`, whose times are those of
                `time.perf_counter`.
        """
        from parpass.report.timeline import Timeline

        timeline = self.timeline = self.timeline or Timeline()
        timeline.sinks.append(sink)
        try:
            yield
        finally:
            timeline.flush()
            timeline.sinks.remove(sink)
            if not timeline.sinks:  # blocks of several tasks end in any order
                self.timeline = None


def _or_current(context: PassContext | None) -> PassContext:
    from parpass.transform.context import PassContext

    return context or PassContext.current()
