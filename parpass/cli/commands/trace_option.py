"""The option `--trace`, which commands that run pipelines share."""

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


def check_trace(trace: str | None, output: str) -> None:
    """Refuse, before anything is run, a trace that could not be written.

    Raises:
        click.BadParameter: Its folder does not exist, or may not be written to; or it
            is where the result goes.
    """
    if trace is None:
        return
    from parpass.cli.files.writing import check_folder

    check_folder(trace, "--trace")
    folder = os.path.dirname(trace) or "."
    why = ""
    if not os.access(folder, os.W_OK):
        why = f"directory '{folder}' may not be written to"
    elif os.path.realpath(trace) == os.path.realpath(output):
        why = f"'{trace}' is where -o writes the result; give the trace another name"
    if why:
        raise click.BadParameter(why, param_hint="'--trace'")
