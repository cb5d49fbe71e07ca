"""The work of `parpass codemod`: find a codemod, run it on files, report results."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Generator, Sequence
from typing import Any, NoReturn

import click

from parpass.cli.operations.executors import function_cache, opening_runner
from parpass.cli.operations.preload import can_preload, modules_for_codemods
from parpass.cli.options.codemod import CodemodOptions
from parpass.cli.output.failure import InputError
from parpass.cli.output.progress_display import showing_progress
from parpass.diagnostic import override_renderer, takes_colour
from parpass.errors import ParpassError
from parpass.instrument.ir_printing import coloured_diff_line
from parpass.integrations.codemod import (
    CodemodNameError,
    CodemodResult,
    find_codemod,
    run_codemod,
)
from parpass.integrations.codemod.codemod_names import shipped_codemods
from parpass.report.figures import count_text
from parpass.runner import RunReport


def run(name: str, given: CodemodOptions, arguments: Sequence[str]) -> int:
    """Run `parpass codemod`; return the exit code."""
    kept = function_cache(given.results)
    jobs, executor = given.workers.jobs, given.workers.executor
    is_dry = given.dry_run or given.check
    preload: Sequence[str] = ()
    if kept is None and executor is None and can_preload(jobs):
        preload = modules_for_codemods(given.paths)
    reports: list[RunReport] = []
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_importing_from_here())
            found = find_codemod(name)
            of_codemod = _arguments(found, name, arguments)
            runner = stack.enter_context(
                opening_runner(jobs, executor, preload=preload, cache=kept)
            )
            stack.enter_context(_rendering_nothing())
            progress = stack.enter_context(showing_progress(quiet=given.quiet))
            result = run_codemod(
                found,
                given.paths,
                arguments=of_codemod,
                dry_run=is_dry,
                include=given.include,
                exclude=given.exclude,
                include_generated=given.include_generated,
                formatter=shlex.split(given.formatter or ""),
                python_version=given.python_version,
                root=given.root,
                runner=runner,
                cache=kept,
                isolated=given.isolate,
                **given.limits.settings(),
                progress=progress,
                report=reports.append,
            )
    except ParpassError as error:
        raise InputError(error) from None
    except KeyboardInterrupt as interrupt:
        notes: Sequence[str] = getattr(interrupt, "__notes__", ())
        written = [one for one in notes if one.endswith("files were written")]
        click.echo(f"Interrupted: {(*written, 'no file was written')[0]}", err=True)
        raise
    _show_files(result, diff=given.diff, quiet=given.quiet, is_dry=is_dry)
    _show_failures(result, traceback=given.traceback, quiet=given.quiet)
    if kept is not None and not given.quiet:
        _show_uncached(reports)
    if given.explain_speed:
        from parpass.cli.output.tables import print_speed_report

        for report in reports:
            print_speed_report(report)
    return int(bool(result.failed) or (given.check and bool(result.changed)))


def show_shipped() -> None:
    """List the codemods that ship with LibCST."""
    try:
        found = shipped_codemods()
    except CodemodNameError as error:
        raise InputError(error) from None
    for name, what in sorted(found.items()):
        click.echo(f"{name}\n    {what}")


@contextlib.contextmanager
def _importing_from_here() -> Generator[None]:
    """Search the current folder for modules, as `python -m` does, during the block."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(here)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise click.UsageError(f"{message}\n{self.format_usage().strip()}")


def _arguments(codemod: Any, name: str, given: Sequence[str]) -> dict[str, Any]:
    add = getattr(codemod, "add_args", None)
    if add is None:
        if given:
            raise click.UsageError(
                f"codemod '{name}' takes no arguments by the command, got "
                f"{shlex.join(given)}; a CodemodCommand with add_args does"
            )
        return {}
    told = getattr(codemod, "DESCRIPTION", None)
    parser = _Parser(f"parpass codemod {name} PATH... --", description=told)
    add(parser)
    return vars(parser.parse_args(given))


@contextlib.contextmanager
def _rendering_nothing() -> Generator[None]:
    """Render no diagnostics: the results of files repeat them."""
    override_renderer(lambda _: None)
    try:
        yield
    finally:
        override_renderer(None)


def _show_files(
    result: CodemodResult, *, diff: bool, quiet: bool, is_dry: bool
) -> None:
    """Write changes to standard output."""
    coloured = sys.stdout.isatty() and takes_colour()
    for one in result.changed:
        if diff:
            text = one.diff()
            if coloured:
                text = "\n".join(map(coloured_diff_line, text.split("\n")))
            click.echo(text, nl=False)
        elif (is_dry or one.is_written) and not quiet:
            click.echo(f"{'would change' if is_dry else 'changed'}: {one.path}")


def _show_failures(result: CodemodResult, *, traceback: bool, quiet: bool) -> None:
    """Write failures, warnings and a summary to standard error."""
    for one in result.files.values():
        if one.failure is not None:
            if traceback and one.failure.traceback:
                click.echo(one.failure.traceback, err=True, nl=False)
            click.echo(f"Error: {one.failure_text()}", err=True)
        if quiet:
            continue
        for warning in one.warnings:
            click.echo(f"Warning: {one.path}: {warning}", err=True)
        if one.skipped:
            click.echo(f"Skipped: {one.path}: {one.skipped}", err=True)
    if not quiet:
        parts = [
            f"{len(found):,} {what}"
            for what, found in (
                ("changed", result.changed),
                ("skipped", result.skipped),
                ("failed", result.failed),
            )
            if found or what == "changed"
        ]
        files = count_text(len(result.files), "file")
        click.echo(f"{files}: {', '.join(parts)}", err=True)


def _show_uncached(reports: Sequence[RunReport]) -> None:
    for report in reports:
        if report.cache is None:
            continue
        for name, reason in report.cache.uncached.items():
            if name != "format":
                click.echo(f"Note: what '{name}' gives is not kept: {reason}", err=True)
