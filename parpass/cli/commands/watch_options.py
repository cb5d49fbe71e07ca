"""The options `--trace` and `--report`: files that show how a run went."""

from __future__ import annotations

import os
from typing import Any

import click

from parpass.cli.commands.options import writing


def _trace_path(
    _ctx: click.Context, _param: click.Parameter, path: str | None
) -> str | None:
    if path is not None and not path.endswith((".json", ".json.gz")):
        raise click.BadParameter(
            f"expected a name that ends in .json or .json.gz, got '{path}'"
        )
    return path


trace: Any = writing(
    "--trace",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    callback=_trace_path,
    help="Write what each process did when, for ui.perfetto.dev or chrome://tracing to "
    "show: JSON in the trace event format, compressed if OUT ends in .json.gz.",
)


report: Any = writing(
    "--report",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    help="Write a page of HTML that shows how the run went: the timeline, what each "
    "pass changed in which function, remarks, where the time went.",
)


def check_files(trace: str | None, report: str | None, output: str) -> None:
    """Refuse, before anything is run, a trace or a page that could not be written.

    Raises:
        click.BadParameter: A folder does not exist, or may not be written to; or a file
            is where the result goes.
    """
    check_file(trace, "--trace", output)
    check_file(report, "--report", output)


def check_file(path: str | None, option: str, output: str) -> None:
    """Refuse, before anything is run, a file beside the result that cannot be written.

    Raises:
        click.BadParameter: See `check_files`.
    """
    if path is None:
        return
    from parpass.cli.files.writing import check_folder

    check_folder(path, option)
    folder = os.path.dirname(path) or "."
    why = ""
    if not os.access(folder, os.W_OK):
        why = f"directory '{folder}' may not be written to"
    elif os.path.realpath(path) == os.path.realpath(output):
        why = f"'{path}' is where -o writes the result; give this file another name"
    if why:
        raise click.BadParameter(why, param_hint=f"'{option}'")
