"""The options of `parpass codemod`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from parpass.cli.options import shared
from parpass.cli.options.shared import (
    CacheOptions,
    LimitOptions,
    WorkerOptions,
    limit_flags,
)
from parpass.cli.options.structs import (
    argument,
    group,
    listing,
    option_struct,
    running,
    showing,
    writing,
)


@option_struct
class CodemodOptions:
    """The options and arguments of `parpass codemod`, before `--`."""

    codemod: str | None = argument(metavar="CODEMOD", required=False)
    paths: Sequence[str] = argument(metavar="PATH...", nargs=-1)
    include: Sequence[str] = running(
        "--include",
        metavar="GLOB",
        multiple=True,
        default=("*.py",),
        show_default=True,
        help="Files to take from folders, as globs of names or paths; repeatable.",
    )
    exclude: Sequence[str] = running(
        "--exclude",
        metavar="GLOB",
        multiple=True,
        help="Files and folders to leave out, likewise. Hidden folders and virtual "
        "environments are always left out.",
    )
    include_generated: bool = running(
        "--include-generated",
        is_flag=True,
        help="Include files marked as generated.",
    )
    root: str = running(
        "--root",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        help="Folder that modules are imported from; it determines each file's module "
        "name.  [default: the current one]",
    )
    python_version: str | None = running(
        "--python-version",
        metavar="VERSION",
        help="Parse files as this Python version, such as 3.9.",
    )
    formatter: str | None = running(
        "--formatter",
        metavar="COMMAND",
        help="Format each changed file with this command, which reads standard input "
        "and writes standard output, such as 'ruff format -'.",
    )
    workers: WorkerOptions = group(WorkerOptions)
    isolate: bool = shared.isolate()
    limits: LimitOptions = limit_flags()
    results: CacheOptions = group(CacheOptions)
    dry_run: bool = writing("-n", "--dry-run", is_flag=True, help="Change no file.")
    check: bool = writing(
        "--check",
        is_flag=True,
        help="Change no file; exit with 1 if one would change.",
    )
    diff: bool = writing(
        "--diff",
        "--print-ir-after-change",
        is_flag=True,
        help="Write the changes to standard output, as a patch.",
    )
    explain_speed: bool = shared.explain_speed()
    quiet: bool = showing(
        "-q",
        "--quiet",
        is_flag=True,
        help="Suppress everything but failures.",
    )
    traceback: bool = shared.traceback()
    lists: bool = listing(
        "--list", is_flag=True, help="List the codemods that ship with LibCST."
    )
