"""`parpass replay`: run what a reproducer has, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parpass.cli.commands import options
from parpass.cli.commands.command import Command
from parpass.cli.showing.failure import InputError, PassFailure
from parpass.errors import FunctionFailure

if TYPE_CHECKING:
    from parpass.transform.debug.reproducer import Reproducer

ANOTHER_FAILURE = 3

FILE = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)


@click.command(
    cls=Command,
    epilog="Exit codes: 0 nothing failed, 1 the same failure came back, 2 the command "
    "or the file is wrong, 3 something else failed, 130 interrupted; those of a crash "
    "if the pass kills its process.",
)
@FILE
@options.load
@options.showing(
    "--pdb",
    is_flag=True,
    help="Enter the debugger where the pass raised.",
)
@options.traceback
def replay(*, file: Path, pdb: bool, traceback: bool) -> None:
    """Run the pipeline of a reproducer on its program, in this process.

    FILE was written by a failing run, under --reproducer or the option
    'parpass.reproducer'. The modules that its header names under 'load' are imported:
    read it before you replay the file of a stranger. Limits of time and memory that the
    run had hold here, too.
    """
    from parpass.cli.work.enforcing import interrupting_or_ending
    from parpass.cli.work.trial import Same, load_instruments, load_passes, run_passes
    from parpass.errors import ConfigError, ReproducerError, UnreadFunctionError
    from parpass.transform.plan.within_budget import enforced_by

    reproducer, mod = read_reproducer(file)
    try:
        pipeline, context = load_passes(reproducer), reproducer.context()
        instruments = load_instruments(reproducer)
    except (ReproducerError, ConfigError) as error:
        raise InputError(f"{file}: {error}") from None
    if reproducer.error_type == "WorkerDiedError":
        click.echo(
            "Note: this failure killed a worker; it may kill this process.", err=True
        )
    with enforced_by(interrupting_or_ending):
        result, error = run_passes(pipeline, mod, context, instruments)
    if error is None:
        click.echo(f"Nothing failed; it was: {reproducer.error}", err=True)
        return
    if isinstance(error, UnreadFunctionError):
        raise error
    PassFailure(error, with_traceback=traceback).show()
    same = Same.failure_as(reproducer)(result)
    came_back = "The same failure came back."
    another = f"This is another failure; it was: {reproducer.error}"
    click.echo(came_back if same else another, err=True)
    if pdb:
        _debug(error)
    click.get_current_context().exit(1 if same else ANOTHER_FAILURE)


def read_reproducer(file: Path) -> tuple[Reproducer, Any]:
    """Return a reproducer and the module in it, after loading what it names.

    Raises:
        InputError: The file is none.
    """
    from parpass.cli.files.irs import parsed
    from parpass.cli.work.trial import load_ir
    from parpass.errors import ParseError, ReproducerError
    from parpass.transform.debug.reproducer import Reproducer

    try:
        reproducer = Reproducer.from_text(file.read_text(encoding="utf-8"))
        return reproducer, parsed(load_ir(reproducer), reproducer.program(), str(file))
    except (ParseError, ReproducerError) as error:
        raise InputError(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: expected a reproducer, got no text") from None


def _debug(error: Exception) -> None:
    import pdb

    # What ended a pass from outside was raised around it, because of what it raised.
    where = error.__cause__ if isinstance(error, FunctionFailure) else None
    pdb.post_mortem((where or error).__traceback__)
