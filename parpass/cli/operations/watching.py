"""The options that watch runs, carried out."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Generator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from parpass.api import run_pipeline_sync
from parpass.cli.operations.dump_output import function_dump
from parpass.cli.operations.html_report import writing_report
from parpass.cli.operations.pass_globs import (
    checked_pass_globs,
    known_passes,
    split_globs,
)
from parpass.cli.operations.pipeline import RunContexts
from parpass.cli.operations.printed_ir import PrintAroundPasses
from parpass.cli.operations.profile_output import ProfileOutput
from parpass.cli.operations.remark_output import RemarkOutput
from parpass.cli.options.watching import WatchOptions
from parpass.cli.output.progress_display import showing_progress
from parpass.errors.core import did_you_mean
from parpass.instrument import (
    PassInstrument,
    PassStatisticsInstrument,
    PassTimingInstrument,
    PrintChanged,
    WellFormedInstrument,
)
from parpass.runner import Progress, Runner, RunReport
from parpass.transform import Pass, PassContext, adapter_of
from parpass.transform.capture.pass_memory import PassMemory

if TYPE_CHECKING:
    from parpass.report.html.page import Recording


class Watching:
    """Watches the runs of a command.

    Make the context of the runs with `instruments`, run each pipeline by `run` within
    `around`, and call `report` at the end.

    Args:
        options: The options.
        passes: A pipeline with all passes that may run, for their names.
        loaded: The value of `--load`.
    """

    def __init__(
        self, options: WatchOptions, passes: Pass, loaded: Sequence[str] = ()
    ) -> None:
        self.options = options
        self.reports: list[RunReport] = []
        # All functions, if `--filter-print-funcs` selects some.
        self._functions: dict[str, None] = {}
        self._memory = PassMemory()
        self._numbers: ProfileOutput | None = None
        self._progress: Callable[[Progress], object] | None = None
        known = known_passes(passes)
        self._timing = PassTimingInstrument() if options.timing else None
        self._statistics = (
            PassStatisticsInstrument(by_function=True) if options.statistics else None
        )
        self._printed = _printed_ir(options, known)
        self._remarks = (
            RemarkOutput(options.remarks, options.remarks_filter, known)
            if options.remarks is not None
            else None
        )
        found = (
            self._timing,
            self._statistics,
            self._printed,
            _print_changed(options, known),
            function_dump(options, known, loaded),
            None if self._remarks is None else self._remarks.instrument,
            WellFormedInstrument() if options.verify_each else None,
        )
        self.instruments: list[PassInstrument] = [
            one for one in found if one is not None
        ]

    @contextlib.contextmanager
    def around(
        self,
        runner: Runner,
        contexts: RunContexts,
        *,
        pipeline: str,
        jobs: int | None,
        shows_progress: bool = True,
    ) -> Generator[Recording | None]:
        """Record the runs of the block, and write the records, even if it fails.

        `pipeline`, as text, and `jobs` are for the profile. Yields the recording for
        the page of HTML; None if there is no page.
        """
        options = self.options
        self._runner, self._contexts = runner, contexts
        with contextlib.ExitStack() as stack:
            is_quiet = options.quiet or not shows_progress
            self._progress = stack.enter_context(showing_progress(quiet=is_quiet))
            about = options.report, runner, contexts.first, options.trace
            recording = stack.enter_context(writing_report(*about, self._progress))
            if options.trace is not None:
                stack.enter_context(runner.trace(options.trace))
            if options.profile is not None:
                self._numbers = ProfileOutput(
                    options.profile,
                    runner,
                    [contexts.first, *contexts.repetitions],
                    memory=options.profile_memory,
                )
                stack.callback(self._numbers.write, pipeline, jobs)
            yield recording

    def run(self, mod: Any, pipeline: Pass) -> Any:
        """Run a pipeline on a program, and repeat that for a profile.

        Call it within `around`. Returns the first result.
        """
        if self._printed is not None:
            self._printed.add_pipeline(pipeline)
        self._note_functions(mod)

        def once(context: PassContext) -> Any:
            run = functools.partial(
                self._runner.run_sync,
                mod,
                pipeline,
                context=context,
                progress=self._progress,
            )
            if context is not self._contexts.first:
                return run()  # a repetition
            with self._measuring_memory():
                return run(report=self.reports.append)

        numbers = self._numbers
        made = once(self._contexts.first) if numbers is None else numbers.run(once)
        if self.options.compare_serial:
            self._compare(mod, pipeline)
        self._note_functions(made)
        return made

    def _compare(self, mod: Any, pipeline: Pass) -> None:
        """Run serially, and add the time to the last report."""
        began = time.perf_counter()
        run_pipeline_sync(mod, pipeline, workers=0, context=self._contexts.serial)
        seconds = time.perf_counter() - began
        self.reports[-1] = replace(self.reports[-1], serial_seconds=seconds)

    @contextlib.contextmanager
    def _measuring_memory(self) -> Generator[None]:
        if not self.options.peak_memory:
            yield
            return
        from parpass.transform.capture.memory_meter import measuring_memory

        with measuring_memory(self._contexts.first) as measured:
            try:
                yield
            finally:
                self._memory.merge(measured)

    def _note_functions(self, mod: Any) -> None:
        if self.options.filter_print_funcs:
            functions = adapter_of(mod, "parpass").functions(mod)
            self._functions |= dict.fromkeys(functions)

    def report(self) -> None:
        options = self.options
        if self._functions:
            self._report_unmatched()
        if self._timing is not None:
            from parpass.cli.output.numbers import format_of, print_timing

            print_timing(self._timing.profiles, format_of(options.timing))
        if options.peak_memory:
            from parpass.cli.output.numbers import format_of, print_memory

            print_memory(self._memory, format_of(options.peak_memory))
        if options.explain_speed:
            from parpass.cli.output.tables import print_speed_report

            for report in self.reports:
                print_speed_report(report)
        if self._statistics is not None:
            from parpass.cli.output.numbers import format_of, print_statistics

            print_statistics(self._statistics, format_of(options.statistics))
        if self._remarks is not None:
            self._remarks.write()

    def _report_unmatched(self) -> None:
        """Write a note for each glob that matches no function."""
        for one in split_globs(self.options.filter_print_funcs):
            if not any(fnmatchcase(name, one) for name in self._functions):
                near = did_you_mean(one, self._functions)
                click.echo(f"Note: no function matches '{one}'{near}", err=True)


def _printed_ir(options: WatchOptions, known: set[str]) -> PrintAroundPasses | None:
    before = checked_pass_globs(options.print_ir_before, known, "--print-ir-before")
    after = checked_pass_globs(options.print_ir_after, known, "--print-ir-after")
    return PrintAroundPasses(before, after) if before or after else None


def _print_changed(options: WatchOptions, known: set[str]) -> PrintChanged | None:
    given = options.print_ir_after_change
    if not given:
        return None
    globs = checked_pass_globs(given, known, "--print-ir-after-change")
    functions = split_globs(options.filter_print_funcs) or ["*"]
    return PrintChanged(globs, functions, stream=sys.stderr)
