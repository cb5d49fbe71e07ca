"""`parpass replay`: run a reproducer in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from parpass.cli.options import shared
from parpass.cli.options.structs import command, option_struct, showing
from parpass.cli.output.failure import InputError, PassFailure
from parpass.errors import FunctionFailure

ANOTHER_FAILURE = 3


@option_struct
class ReplayOptions:
    file: Path = shared.reproducer()
    loaded: Sequence[str] = shared.load()
    pdb: bool = showing(
        "--pdb", is_flag=True, help="Start the debugger where the pass raised."
    )
    traceback: bool = shared.traceback()


@command(
    ReplayOptions,
    epilog="Exit codes: 0 nothing failed, 1 the same failure, 2 the command or the "
    "file is wrong, 3 a different failure, 130 interrupted; that of the crash if the "
    "pass kills its process.",
)
def replay(given: ReplayOptions) -> None:
    """Run a reproducer in this process.

    FILE was written by a failing run with --reproducer or the option
    'parpass.reproducer', whose time and memory limits apply here, too. The modules
    under 'load' in its header are imported: read the header before you replay a file
    from someone else.

    \b
    Example:
      parpass replay failure.txt --traceback
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.cli.operations.trial import (
        FailurePredicate,
        interrupting_or_exit,
        load_instruments,
        load_passes,
        read_reproducer,
        run_passes,
    )
    from parpass.errors import ConfigError, ReproducerError, UnreadFunctionError
    from parpass.transform.budget import enforcing_budgets

    reproducer, mod = read_reproducer(given.file)
    try:
        pipeline, context = load_passes(reproducer), reproducer.context()
        instruments = load_instruments(reproducer)
    except (ReproducerError, ConfigError) as error:
        raise InputError(f"{given.file}: {error}") from None
    if reproducer.error_type == "WorkerDiedError":
        click.echo(
            "Note: this failure killed a worker; it may kill this process.", err=True
        )
    with enforcing_budgets(interrupting_or_exit):
        result, error = run_passes(pipeline, mod, context, instruments)
    if error is None:
        click.echo(f"Nothing failed; it was: {reproducer.error}", err=True)
        return
    if isinstance(error, UnreadFunctionError):
        raise error
    PassFailure(error, with_traceback=given.traceback).show()
    same = FailurePredicate.from_reproducer(reproducer)(result)
    came_back = "Reproduced the same failure."
    another = f"This failure is a different one; it was: {reproducer.error}"
    click.echo(came_back if same else another, err=True)
    if given.pdb:
        _debug(error)
    click.get_current_context().exit(1 if same else ANOTHER_FAILURE)


def _debug(error: Exception) -> None:
    import pdb

    # What ended a pass from outside was raised around it, because of what it raised.
    where = error.__cause__ if isinstance(error, FunctionFailure) else None
    pdb.post_mortem((where or error).__traceback__)
