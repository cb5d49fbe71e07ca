"""`parpass numba`: what modules have Numba compile, ahead of time."""

from __future__ import annotations

import os
import sys

import click

from parpass.cli.commands import options
from parpass.cli.commands.option_syntax import Command
from parpass.cli.output.failure import InputError


@click.group(epilog="Exit codes: those of 'parpass numba warm'.")
def numba() -> None:
    """Compile what modules have Numba compile, on every core.

    \b
    Example:
      parpass numba warm package.kernels
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph


@numba.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 1 a function or a module fails, 2 the command is wrong, "
    "130 interrupted.",
)
@click.argument("modules", metavar="MODULE...", nargs=-1, required=True)
@options.jobs
def warm(*, modules: tuple[str, ...], jobs: int | None) -> None:
    """Compile the functions of modules into Numba's own cache.

    These are the functions with cache=True that have signatures, or that parpass'
    record() saw called. The next import of each MODULE loads them.

    \b
    Example:
      parpass numba warm package.kernels
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.errors import ArgumentError
    from parpass.integrations.numba import WarmError
    from parpass.integrations.numba import warm as warm_modules

    sys.path.insert(0, os.getcwd())  # as for `python -m`
    try:
        result = warm_modules(*modules, workers=jobs)
    except (ArgumentError, ImportError) as error:
        raise InputError(str(error)) from None
    except WarmError as error:
        click.echo(f"Error: {error}", err=True)
        click.get_current_context().exit(1)
    click.echo(f"compiled {len(result.compiled)}, in the cache {len(result.loaded)}")
    if result.left:
        click.echo(f"left to the import, without cache=True: {', '.join(result.left)}")
    if result.in_order and jobs != 0:
        click.echo("one after another: docs/with-numba.md has when that is")
