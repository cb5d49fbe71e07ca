"""The part of a runner by which its runs are watched: traces, recordings, profiles.

A file of its own, as it grows with what there is to see, and the runner does not.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from parpass.errors import ArgumentError
from parpass.report.progress import PROGRESS_CALLBACK

if TYPE_CHECKING:
    from parpass.report.html.page import Recording
    from parpass.report.profile import RunProfile
    from parpass.report.progress import Progress
    from parpass.report.report import RunReport
    from parpass.report.run_recorder import RunRecorder
    from parpass.report.timeline import Recorded, Tracing
    from parpass.runner.observers import RunObserver
    from parpass.transform import PassContext


class WatchedRuns:
    """Watches the runs of a runner that begin in a block.

    Attributes:
        tracing: What records them; None if nothing does.
        recordings: The recordings for pages.
    """

    def __init__(self) -> None:
        self.tracing: Tracing | None = None
        self.recordings: list[Recording] = []
        self._last: RunRecorder | None = None

    @property
    def last_report(self) -> RunReport | None:
        """The report of the last run that ended, failed ones included; None before."""
        return None if self._last is None else _report_of(self._last)

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
        # The surface loads nothing.
        from parpass.report.run_recorder import RunEnd, RunRecorder

        recorder = RunRecorder(began)
        found: list[RunObserver] = [recorder]
        callback = PROGRESS_CALLBACK.get() if progress is None else progress
        if callback is not None and callback is not False:
            found += _progress_tracker(callback)
        if self.tracing is not None:
            # For what is recorded alone.
            from parpass.report.tracer import Tracer

            found.append(Tracer(began, self.tracing, recorder))
        # The last one, as what it calls may raise.
        found.append(RunEnd(functools.partial(self._keep_last, report, recorder)))
        return tuple(found)

    def _keep_last(
        self, report: Callable[[RunReport], object] | None, recorder: RunRecorder
    ) -> None:
        self._last = recorder
        if report is not None:
            report(_report_of(recorder))

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
        # For traces alone.
        from parpass.report.trace import TraceFile

        file = TraceFile(path)
        try:
            with self.traced_to(file.write):
                yield
        finally:
            file.close()

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
        # For pages alone.
        from parpass.report.html.page import Recording

        # It is loaded with passes, which this module does without.
        from parpass.transform.context import PassContext as Contexts

        recording = Recording()
        self.recordings.append(recording)
        try:
            with (
                (context or Contexts.current()).also_watched_by(recording),
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
        # For profiles alone.
        from parpass.report.profile import ProfileRecorder

        # As above.
        from parpass.transform.context import PassContext as Contexts

        context = context or Contexts.current()
        recorder = ProfileRecorder(context)
        try:
            with contextlib.ExitStack() as stack:
                if memory:
                    # Few ask for it.
                    from parpass.transform.capture.memory_meter import measuring_memory

                    measured = stack.enter_context(measuring_memory(context))
                    recorder.profile.memory = measured
                stack.enter_context(self.traced_to(recorder.add_slices))
                yield recorder.profile
        finally:
            recorder.end()

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
        # For what is recorded alone.
        from parpass.report.timeline import Tracing

        tracing = self.tracing = self.tracing or Tracing()
        tracing.sinks.append(sink)
        try:
            yield
        finally:
            tracing.flush()
            tracing.sinks.remove(sink)
            if not tracing.sinks:  # blocks of several tasks end in any order
                self.tracing = None


def _report_of(recorder: RunRecorder) -> RunReport:
    # Loaded with recorders.
    from parpass.report.run_recorder import report_of

    return report_of(recorder)


def _progress_tracker(
    callback: Callable[[Progress], object] | Literal[True],
) -> Sequence[RunObserver]:
    """Return what tells a callback how far a run is; nothing inside of a pass.

    Raises:
        ArgumentError: It is nothing that can be called.
    """
    # Few ask for it.
    from parpass.report.progress_text import ProgressLines

    # Likewise.
    from parpass.report.progress_tracker import ProgressTracker

    # Likewise.
    from parpass.transform.capture.recorder import inside_function_pass

    callback = ProgressLines() if callback is True else callback
    if not callable(callback):
        raise ArgumentError(
            "expected True, or a function that takes a Progress, for progress, got "
            f"{callback!r}"
        )
    return () if inside_function_pass() else (ProgressTracker(callback),)
