"""`parpass cache`: what is kept of builds."""

from __future__ import annotations

import click

from parpass.cli.commands import options
from parpass.cli.commands.command import Command
from parpass.cli.showing.failure import InputError


@click.command(
    cls=Command,
    epilog="Exit codes: 0 ok, 2 the command is wrong, or the folder cannot be changed.",
)
@options.running("--clear", is_flag=True, help="Drop all of them.")
def cache(*, clear: bool) -> None:
    """Show how many compiled kernels are kept for the next build, and where.

    They are kept in ~/.cache/parpass, or where PARPASS_CACHE_DIR says: at most 1 GB, of
    those that were used last. parpass build --no-cache does without.
    """
    from parpass.target.object_store import ObjectStore, default_folder

    try:
        store = ObjectStore(default_folder())
    except OSError as error:
        raise InputError(f"there is no folder for kernels: {error}") from None
    try:
        found = store.clear() if clear else store.size()
    except OSError as error:
        raise InputError(f"cannot clear '{store.folder}': {error.strerror}") from None
    what = "dropped" if clear else "kept"
    size = f"{found.nbytes / 1e6:.1f} MB"
    click.echo(f"kernels {what} in {store.folder}: {found.objects:,}, {size}")
