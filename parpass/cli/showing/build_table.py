"""Where the time of `parpass build` went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import click
from rich.table import Column

from parpass.cli.showing.file_times import FileTimes
from parpass.cli.showing.narrow import names, print_table
from parpass.runner import RunReport
from parpass.runner.report.figures import time_text

_LOWERING, _CODE_GENERATION = "LowerTE", "target.CodeGen"


@dataclass
class BuildTimes:
    """What a build took.

    Attributes:
        files: Reading the network, and writing the library.
        reports: Of the runs: of Relay, and from its kernels to machine code.
        link: Seconds of putting the library together.
        left_to_numpy: Why functions are no machine code, by name.
        long_kernels: Characters of texts that are long for LLVM, by name.
    """

    files: FileTimes = field(default_factory=FileTimes)
    reports: list[RunReport] = field(default_factory=list["RunReport"])
    link: float = 0.0
    left_to_numpy: dict[str, str] = field(default_factory=dict[str, str])
    long_kernels: dict[str, int] = field(default_factory=dict[str, int])

    def lines(self) -> Iterator[tuple[str, float, str]]:
        """Yield what took time, the seconds, and a remark.

        Passes on functions are summed over all cores.
        """
        yield "reading", self.files.read or 0.0, ""
        passes: dict[str, float] = {}
        for report in self.reports:
            for name, seconds in {**report.module_passes, **report.passes}.items():
                passes[name] = passes.get(name, 0.0) + seconds
        lowering = passes.pop(_LOWERING, 0.0)
        llvm = passes.pop(_CODE_GENERATION, 0.0)
        relay, loops = _split(passes)
        yield "passes of Relay", sum(relay.values()), _longest(relay)
        yield "lowering", lowering, "operators become loops"
        yield "passes on loops", sum(loops.values()), _longest(loops)
        yield "LLVM", llvm, "with its text written"
        yield "link", self.link, "with the graph laid out"
        yield "writing", self.files.written or 0.0, ""


def _split(
    passes: Mapping[str, float],
) -> tuple[dict[str, float], dict[str, float]]:
    loops = {n: s for n, s in passes.items() if n.startswith(("tir.", "target."))}
    return {n: s for n, s in passes.items() if n not in loops}, loops


def _longest(passes: Mapping[str, float]) -> str:
    if not passes:
        return ""
    name = max(passes, key=lambda one: passes[one])
    return f"longest {name}, {time_text(passes[name])}"


def print_build_times(times: BuildTimes) -> None:
    """Print what a build took to standard error."""
    lines = [*times.lines()]
    whole = sum(seconds for _, seconds, _ in lines) or 1.0
    rows = [
        (what, time_text(seconds), f"{seconds / whole:.1%}", remark)
        for what, seconds, remark in lines
    ]
    headings = [names("part"), "time on all cores", "share", Column("of which")]
    print_table("What the build took", headings, rows)
    for name, why in times.left_to_numpy.items():
        click.echo(f"Left to numpy: '{name}': {why}", err=True)
    for name, size in times.long_kernels.items():
        told = f"its text has {size:,} characters"
        click.echo(f"Long for LLVM: '{name}': {told}", err=True)
