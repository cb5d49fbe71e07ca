"""What `parpass build` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from parpass.cli.files.writing import write_text
from parpass.cli.showing.build_table import BuildTimes, print_build_times
from parpass.cli.showing.failure import InputError, PassFailure
from parpass.cli.showing.kernel_progress import showing_progress
from parpass.cli.showing.speed_table import print_speed_report
from parpass.cli.showing.watching import Watching
from parpass.cli.work.pipeline import make_context
from parpass.errors import TargetError
from parpass.ir.module import IRModule
from parpass.relay.backend.executor_factory import GraphExecutorFactoryModule
from parpass.relay.backend.lowering import left_to_numpy
from parpass.relay.backend.network_library import Run
from parpass.relay.build_module import network_runs
from parpass.runner import Runner, RunReport, open_runner
from parpass.runner.report.figures import time_text
from parpass.target.code_gen import long_kernels
from parpass.target.target import Target
from parpass.transform import PassContext, Sequential

_LONG = 1.0  # seconds


def run(
    read: Callable[[], Any],
    *,
    level: int,
    config: Sequence[str],
    target: str,
    jobs: int | None,
    cache: bool,
    output: str,
    header: str | None,
    quiet: bool,
    explain_speed: bool,
    traceback: bool,
) -> None:
    """Do what the options of `parpass build` say.

    Raises:
        click.ClickException: Something of it failed.
    """
    try:
        machine = Target(target).resolved()
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="'--target'") from None
    context = make_context(Sequential([]), level, config, Watching.nothing(), {})
    times = BuildTimes()
    with times.files.reading():
        mod = read()
    if not isinstance(mod, IRModule) or "main" not in mod:
        raise InputError("expected a Relay program with a function 'main' to build")

    def tell(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    with open_runner(workers=jobs) as runner, context, machine:
        try:
            executor = "graph" if header is None else "aot"
            runs = network_runs(mod, machine, executor=executor, cache=cache)
            waiting = nullcontext if quiet else showing_progress
            lib = _driven(runs, runner, context, times, tell, waiting)
            times.long_kernels = long_kernels(context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- of a pass
            raise PassFailure(error, with_traceback=traceback) from None
    with times.files.writing():
        _write(lib, output)
        if header is not None:
            write_text(lib.c_header(), header)
    _tell_of_numpy(lib, tell)
    if explain_speed:
        print_build_times(times)
        for report in times.reports:
            print_speed_report(report)


def _driven(
    runs: Generator[Run, Any, GraphExecutorFactoryModule],
    runner: Runner,
    context: PassContext,
    times: BuildTimes,
    tell: Callable[[str], None],
    waiting: Callable[[], AbstractContextManager[None]],
) -> GraphExecutorFactoryModule:
    made = None
    while True:
        began = time.perf_counter()
        try:
            wanted: Run = runs.send(made)
        except StopIteration as end:
            times.link = time.perf_counter() - began
            return end.value
        tell(f"{wanted.what}...")
        with waiting():
            made = runner.run_sync(
                wanted.mod,
                wanted.pipeline,
                context=context,
                report=times.reports.append,
            )
        times.left_to_numpy |= left_to_numpy(made)
        _tell_if_slow(times.reports[-1], tell)


def _tell_if_slow(report: RunReport, tell: Callable[[str], None]) -> None:
    """Say what took long, if somebody had to wait for it."""
    if report.seconds > _LONG:
        longest = report.largest_function
        seconds = report.largest_function_seconds
        which = f"; longest '{longest}', {time_text(seconds)}" if longest else ""
        tell(f"... in {time_text(report.seconds)}{which}")


def _tell_of_numpy(
    lib: GraphExecutorFactoryModule, tell: Callable[[str], None]
) -> None:
    if lib.numpy_functions:
        names = ", ".join(lib.numpy_functions)
        tell(f"Note: numpy computes what no rule of lowering is for: {names}")


def _write(lib: GraphExecutorFactoryModule, output: str) -> None:
    try:
        lib.export_library(output)
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None
