"""The options `--trace`, `--report`, `--profile`: files that show how a run went."""

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


profile: Any = writing(
    "--profile",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the seconds of passes and of functions, and what passes counted, as "
    "JSON that parpass compare reads.",
)


repeat: Any = writing(
    "--repeat",
    metavar="N",
    type=click.IntRange(min=1),
    help="Run the pipeline N times for --profile, so that the noise is known. Other "
    "options show the first run only, but --trace and --report.",
)


def check_profile(profile: str | None, repeat: int | None, output: str) -> None:
    """Refuse, before anything is run, a profile that could not be written.

    Raises:
        click.BadParameter: As `check_files`; or runs are to be repeated for no profile.
    """
    if repeat is not None and profile is None:
        raise click.BadParameter(
            "runs are repeated for --profile OUT, which is not given",
            param_hint="'--repeat'",
        )
    _check(profile, "--profile", output)


def check_files(trace: str | None, report: str | None, output: str) -> None:
    """Refuse, before anything is run, a trace or a page that could not be written.

    Raises:
        click.BadParameter: A folder does not exist, or may not be written to; or a file
            is where the result goes.
    """
    _check(trace, "--trace", output)
    _check(report, "--report", output)


def _check(path: str | None, option: str, output: str) -> None:
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
