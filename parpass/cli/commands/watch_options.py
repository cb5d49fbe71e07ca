"""The options for files that show how a run went: traces, pages, profiles, dumps."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from parpass.cli.commands import completion
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
    check_file(profile, "--profile", output)


_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def _bytes(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMG]?)B?", text.strip(), re.ASCII)
    if found is None:
        raise click.BadParameter(
            f"expected a number of bytes, such as 500M or 2G, got '{text}'"
        )
    unit = found[2].replace("K", "k")
    return round(float(found[1]) * _UNITS[unit])


dump_ir: Any = writing(
    "--dump-ir",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write what each pass made of each function that it changed to files in this "
    "folder, each with the command that runs the pass again. --filter-print-funcs and "
    "--dump-ir-passes choose.",
)


dump_ir_passes: Any = writing(
    "--dump-ir-passes",
    metavar="PASSES",
    multiple=True,
    shell_complete=completion.names_of_passes,
    help="Dump what these passes made alone: globs, separated by commas.",
)


dump_ir_limit: Any = writing(
    "--dump-ir-limit",
    metavar="SIZE",
    callback=_bytes,
    help="End the dump before it takes more than this, such as 500M; 1G by default.",
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
