"""The reports of `parpass opt` on a run, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import click

from parpass.cli.operations.dump_output import function_dump
from parpass.cli.operations.pass_globs import check_pass_glob
from parpass.cli.operations.remark_output import RemarkOutput
from parpass.cli.output.file_times import FileTimes
from parpass.errors.core import did_you_mean
from parpass.instrument import (
    PassInstrument,
    PassStatisticsInstrument,
    PassTimingInstrument,
    PrintChanged,
    WellFormedInstrument,
)
from parpass.runner import RunReport
from parpass.transform import (
    Pass,
    PassInfo,
    Sequential,
    adapter_of,
    registered_passes,
)


@dataclass(frozen=True, kw_only=True)
class InstrumentOptions:
    """The options that ask to be shown something, and the instruments that do it.

    Attributes:
        print_ir_before: Comma-separated names of passes, once for each time that the
            option was given; an empty one means all passes.
        print_ir_after: Likewise.
        print_ir_before_all: Whether to print before all passes.
        print_ir_after_all: Likewise.
        print_ir_after_change: Comma-separated globs of passes whose changes are shown;
            an empty one means all passes.
        filter_print_funcs: Comma-separated globs of functions; changes of others are
            not shown.
        verify_each: Whether to check the module around each pass.
        timing: In which formats to show the time of passes: `text`, `json`, `csv`; an
            empty one means `text`.
        explain_speed: Whether to show where the time of each run went.
        statistics: In which formats to show the counters of passes, likewise.
        remarks: Where to write the remarks of passes; None for nowhere.
        remarks_filter: Comma-separated globs of passes, whose remarks are kept.
        dump_ir: Where to write what passes made of functions; None for nowhere.
        dump_ir_passes: Comma-separated globs of passes that this is of.
        dump_ir_limit: How many bytes are written at most; None for the default.
        loaded: What was given for `--load`.
        files: How long programs were read and written.
    """

    print_ir_before: Sequence[str]
    print_ir_after: Sequence[str]
    print_ir_before_all: bool
    print_ir_after_all: bool
    print_ir_after_change: Sequence[str]
    filter_print_funcs: Sequence[str]
    verify_each: bool
    timing: Sequence[str]
    explain_speed: bool
    statistics: Sequence[str]
    remarks: str | None = None
    remarks_filter: Sequence[str] = ()
    dump_ir: str | None = None
    dump_ir_passes: Sequence[str] = ()
    dump_ir_limit: int | None = None
    loaded: Sequence[str] = ()
    files: FileTimes = field(init=False, default_factory=FileTimes)
    _speed: list[RunReport] = field(init=False, default_factory=list["RunReport"])
    _timing: PassTimingInstrument = field(
        init=False, default_factory=PassTimingInstrument
    )
    _statistics: PassStatisticsInstrument = field(
        init=False,
        default_factory=lambda: PassStatisticsInstrument(by_function=True),
    )

    _remarks: list[RemarkOutput] = field(
        init=False, default_factory=list["RemarkOutput"]
    )

    @classmethod
    def nothing(cls) -> InstrumentOptions:
        """Return what shows nothing."""
        return cls(
            print_ir_before=(),
            print_ir_after=(),
            print_ir_before_all=False,
            print_ir_after_all=False,
            print_ir_after_change=(),
            filter_print_funcs=(),
            verify_each=False,
            timing=(),
            explain_speed=False,
            statistics=(),
        )

    def instruments(self, pipeline: Sequential) -> list[PassInstrument]:
        """Return the instruments for a run of a pipeline.

        Raises:
            click.BadParameter: There is no pass of a name that was given; or functions
                are chosen for nothing.
        """
        if self.filter_print_funcs and not (self.print_ir_after_change or self.dump_ir):
            raise click.BadParameter(
                "functions are chosen for --print-ir-after-change or --dump-ir DIR, of "
                "which none is given",
                param_hint="'--filter-print-funcs'",
            )
        found: list[PassInstrument] = []
        if self.timing:
            found.append(self._timing)
        if self.statistics:
            found.append(self._statistics)
        before = _pass_names(self.print_ir_before, pipeline, "--print-ir-before")
        after = _pass_names(self.print_ir_after, pipeline, "--print-ir-after")
        before = None if self.print_ir_before_all else before
        after = None if self.print_ir_after_all else after
        if before != set() or after != set():
            found.append(_PrintIR(before, after, pipeline))
        if self.print_ir_after_change:
            found.append(self._print_changed(pipeline))
        if (self.dump_ir, self.dump_ir_passes, self.dump_ir_limit) != (None, (), None):
            dump = function_dump(
                self.dump_ir,
                self.dump_ir_passes,
                _globs(self.filter_print_funcs),
                self.dump_ir_limit,
                _known_names(pipeline),
                self.loaded,
            )
            found.append(dump)
        if self.remarks is not None or self.remarks_filter:
            known = _known_names(pipeline)
            output = RemarkOutput(self.remarks, self.remarks_filter, known)
            self._remarks[:] = [output]
            found.append(output.instrument)
        if self.verify_each:
            found.append(WellFormedInstrument())
        return found

    def _print_changed(self, pipeline: Sequential) -> PrintChanged:
        globs = _globs(self.print_ir_after_change)
        known = _known_names(pipeline)
        for one in globs:
            if one != "*":
                check_pass_glob(one, known, "--print-ir-after-change")
        functions = _globs(self.filter_print_funcs) or ["*"]
        return PrintChanged(globs, functions, stream=sys.stderr)

    def note_functions(self, mod: Any) -> None:
        """Write a note for each glob of functions that none of a module matches."""
        if not self.filter_print_funcs:
            return
        known = list(adapter_of(mod, "parpass opt").functions(mod))
        for one in _globs(self.filter_print_funcs):
            if not any(fnmatchcase(name, one) for name in known):
                near = did_you_mean(one, known)
                click.echo(f"Note: no function matches '{one}'{near}", err=True)

    def take(self, report: RunReport | None) -> None:
        """Take in how the time of a run went."""
        if report is not None:
            self._speed.append(report)

    def report(self) -> None:
        """Write what was measured and counted."""
        if self.timing:
            from parpass.cli.output.numbers import format_of, print_timing

            print_timing(self._timing.profiles, format_of(self.timing))
        if self.explain_speed:
            from parpass.cli.output.tables import print_speed_report

            for report in self._speed:
                print_speed_report(report)
        if self.statistics:
            from parpass.cli.output.numbers import format_of, print_statistics

            print_statistics(self._statistics, format_of(self.statistics))

        for output in self._remarks:
            output.write()

    def report_files(self) -> None:
        """Write what reading and writing took, when both are done."""
        if self.explain_speed:
            from parpass.cli.output.tables import print_file_times

            print_file_times(self.files, sum(one.seconds for one in self._speed))


class _PrintIR(PassInstrument):
    """Prints the module around passes under MLIR's headers.

    `before` and `after` are names of passes; None stands for all but Sequentials, which
    have what is in them printed already.
    """

    def __init__(
        self, before: set[str] | None, after: set[str] | None, pipeline: Sequential
    ) -> None:
        self._before = before
        self._after = after
        self._sequentials = [
            one.info for one in _flat(pipeline) if isinstance(one, Sequential)
        ]

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module that the pass is given."""
        if self._is_wanted(info, self._before):
            _print_ir("Before", info, mod)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module that the pass returned."""
        if self._is_wanted(info, self._after):
            _print_ir("After", info, mod)

    def run_after_failed_pass(self, mod: Any, info: PassInfo, error: Exception) -> None:
        """Print the module that the pass failed on."""
        del error
        if self._is_wanted(info, self._after):
            _print_ir("After", info, mod, " Failed")

    def _is_wanted(self, info: PassInfo, names: set[str] | None) -> bool:
        if names is None:
            return info not in self._sequentials
        # Pipelines find `tir.UnrollLoop` by the last part of its name as well.
        return not names.isdisjoint({info.name, info.name.rpartition(".")[2]})


def _print_ir(when: str, info: PassInfo, mod: Any, how: str = "") -> None:
    text = str(mod).rstrip("\n")
    header = f"// -----// IR Dump {when} {info.name}{how} //----- //"
    click.echo(f"{header}\n{text}\n", err=True)


def _globs(given: Iterable[str]) -> list[str]:
    """Return the globs of an option; all names for one without a value."""
    return [one.strip() or "*" for text in given for one in text.split(",")]


def _known_names(pipeline: Sequential) -> set[str]:
    return {one.info.name for one in _flat(pipeline)} | registered_passes().keys()


def _pass_names(
    given: Iterable[str], pipeline: Sequential, option: str
) -> set[str] | None:
    found: set[str] = set()
    known = _known_names(pipeline)
    for names in given:
        if not names:
            return None
        for name in names.split(","):
            if name.strip() not in known:
                raise click.BadParameter(
                    f"no pass named '{name.strip()}'{did_you_mean(name, known)}",
                    param_hint=f"'{option}'",
                )
            found.add(name.strip())
    return found


def _flat(pass_: Pass | None) -> Iterator[Pass]:
    if pass_ is not None:
        yield pass_
    if isinstance(pass_, Sequential):
        for child in pass_.passes:
            yield from _flat(child)
