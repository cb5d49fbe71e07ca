"""Tables of the command: passes, memory, the speed report, the times of a build.

Numbers stay whole however narrow the terminal is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import click
from rich.console import Console
from rich.table import Column, Table

from parpass.cli.output.failure import command_text
from parpass.cli.output.file_times import FileTimes
from parpass.instrument import PassProfile
from parpass.report.figures import size_text, time_text
from parpass.runner import RunReport
from parpass.transform.capture.pass_memory import PassMemory

_MIN_WIDTH = 8  # characters that names and remarks keep


def print_table(
    title: str,
    headings: Sequence[str | Column],
    rows: Iterable[Sequence[str]],
    *,
    stderr: bool = True,
) -> None:
    """Print a table: names in the first column, then numbers, then remarks.

    Where the terminal is too narrow the names are cut and remarks wrapped; numbers
    are kept, if need be beyond its edge. A string is the heading of numbers.
    """
    cells = [list(row) for row in rows]
    columns = [
        one if isinstance(one, Column) else Column(one, justify="right", no_wrap=True)
        for one in headings
    ]
    for at, column in enumerate(columns):
        if column.justify == "right":
            longest = max((len(row[at]) for row in cells), default=0)
            column.min_width = max(longest, len(str(column.header)))
    console = Console(stderr=stderr, highlight=False)
    rest = sum((column.min_width or _MIN_WIDTH) + 3 for column in columns[1:]) + 4
    console.width = max(console.width, rest + _MIN_WIDTH)
    columns[0].max_width = console.width - rest
    table = Table(*columns, title=title)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def name_column(heading: str) -> Column:
    """Return a column of names, which a narrow terminal cuts."""
    return Column(heading, no_wrap=True, overflow="ellipsis")


def print_timing_table(profiles: Sequence[PassProfile]) -> None:
    whole = sum(profile.seconds for profile in profiles)
    rows = [
        (
            "  " * depth + profile.name,
            f"{profile.seconds * 1e3:.1f} ms",
            f"{profile.self_seconds * 1e3:.1f} ms",
            f"{profile.seconds / whole if whole else 0:.1%}",
        )
        for depth, profile in flat_profiles(profiles)
    ]
    print_table("Time of passes", [name_column("pass"), "total", "self", "share"], rows)


def print_memory_table(memory: PassMemory) -> None:
    rows: list[tuple[str, str, str]] = []
    for name, size in sorted(memory.passes.items(), key=lambda one: -one[1]):
        functions = memory.functions.get(name)
        largest = max(functions, key=functions.__getitem__) if functions else ""
        rows.append((name, size_text(size), largest))
    headings = [name_column("pass"), "at most", Column("on function")]
    print_table("Peak memory of passes", headings, rows)


def flat_profiles(
    profiles: Sequence[PassProfile], depth: int = 0
) -> Iterator[tuple[int, PassProfile]]:
    """Yield the depth of each pass and the pass, outer ones first."""
    for profile in profiles:
        yield depth, profile
        yield from flat_profiles(profile.children, depth + 1)


def print_speed_report(report: RunReport) -> None:
    shown = report.sections()
    shown = shown._replace(advice=list(map(command_text, shown.advice)))
    rows = [
        (what, time_text(seconds), f"{seconds / report.seconds:.1%}", remark)
        for what, seconds, remark in shown.times
    ]
    headings = [name_column("part"), "time", "share", Column("of which")]
    print_table("Where the time went", headings, rows)
    console = Console(stderr=True, highlight=False)
    for text in (shown.headline, *shown.closing):
        console.print(text, markup=False)


def print_file_times(files: FileTimes, in_runs: float) -> None:
    """Print the times of reading and writing to standard error.

    `in_runs` are the seconds of all runs.
    """
    kinds = {"reading": files.read, "writing": files.written}
    known = {name: seconds for name, seconds in kinds.items() if seconds is not None}
    whole = in_runs + sum(known.values())
    told = [
        f"{name} took {time_text(seconds)}, {seconds / whole:.1%} of the total"
        for name, seconds in known.items()
    ]
    if told:
        text = f"Outside the passes: {'; '.join(told)}"
        Console(stderr=True, highlight=False).print(text, markup=False)


_LOWERING, _CODE_GENERATION = "LowerToTIR", "target.CodeGen"


@dataclass
class BuildTimes:
    """The times of a build.

    Attributes:
        left_to_numpy: The reasons why functions are no machine code, by name.
        long_kernels: The characters of texts that are long for LLVM, by name.
    """

    files: FileTimes = field(default_factory=FileTimes)
    reports: list[RunReport] = field(default_factory=list["RunReport"])
    link: float = 0.0
    left_to_numpy: dict[str, str] = field(default_factory=dict[str, str])
    long_kernels: dict[str, int] = field(default_factory=dict[str, int])

    def lines(self) -> Iterator[tuple[str, float, str]]:
        """Yield the parts of the build, each with its seconds and a remark.

        Passes on functions are summed over all cores.
        """
        yield "reading", self.files.read or 0.0, ""
        passes: dict[str, float] = {}
        for report in self.reports:
            for name, seconds in {**report.module_passes, **report.passes}.items():
                passes[name] = passes.get(name, 0.0) + seconds
        lowering = passes.pop(_LOWERING, 0.0)
        llvm = passes.pop(_CODE_GENERATION, 0.0)
        relay, loops = _split_by_ir(passes)
        yield "passes of Relay", sum(relay.values()), _longest_pass(relay)
        yield "lowering", lowering, "operators to loops"
        yield "passes on loops", sum(loops.values()), _longest_pass(loops)
        yield "LLVM", llvm, "including writing its text"
        yield "link", self.link, "including the layout of the graph"
        yield "writing", self.files.written or 0.0, ""


def _split_by_ir(
    passes: Mapping[str, float],
) -> tuple[dict[str, float], dict[str, float]]:
    loops = {n: s for n, s in passes.items() if n.startswith(("tir.", "target."))}
    return {n: s for n, s in passes.items() if n not in loops}, loops


def _longest_pass(passes: Mapping[str, float]) -> str:
    if not passes:
        return ""
    name = max(passes, key=lambda one: passes[one])
    return f"longest {name}, {time_text(passes[name])}"


def print_build_times(times: BuildTimes) -> None:
    lines = [*times.lines()]
    whole = sum(seconds for _, seconds, _ in lines) or 1.0
    rows = [
        (what, time_text(seconds), f"{seconds / whole:.1%}", remark)
        for what, seconds, remark in lines
    ]
    headings = [name_column("part"), "time on all cores", "share", Column("of which")]
    print_table("Where the build time went", headings, rows)
    for name, why in times.left_to_numpy.items():
        click.echo(f"Computed by numpy: '{name}': {why}", err=True)
    for name, size in times.long_kernels.items():
        told = f"its text has {size:,} characters"
        click.echo(f"Slow for LLVM: '{name}': {told}", err=True)
