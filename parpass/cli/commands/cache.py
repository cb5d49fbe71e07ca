"""`parpass cache`: show, verify and shrink the cache."""

from __future__ import annotations

import click

from parpass.cli.options.kinds import ByteSize
from parpass.cli.options.structs import command, option_struct, running
from parpass.cli.output.failure import InputError


@option_struct
class CacheCommandOptions:
    verify: bool = running(
        "--verify", is_flag=True, help="Check every entry for damage."
    )
    prune: int | None = running(
        "--prune",
        metavar="BYTES",
        type=ByteSize(1000),
        help="Drop the least recently used entries until this size is left, such as "
        "200M.",
    )
    clear: bool = running("--clear", is_flag=True, help="Drop every entry.")


@command(
    CacheCommandOptions,
    epilog="Exit codes: 0 ok, 1 the cache is not used or has damaged entries, 2 the "
    "command is wrong, or the folder cannot be changed.",
)
def cache(given: CacheCommandOptions) -> None:
    """Show the size and place of the cache, verify it, or shrink it.

    The cache keeps compiled kernels for builds, and results of passes for runs with
    --cache. It is in ~/.cache/parpass, or in PARPASS_CACHE_DIR, and holds at most 1 GB:
    the least recently used entries are dropped. A folder that other users can write to
    is ignored; one that you cannot write to is only read. 'parpass build --no-cache'
    opts out.

    \b
    Example:
      parpass cache --verify
      parpass cache --prune 200M
    """  # noqa: D301 -- backslash b keeps click from filling the paragraph
    from parpass.object_store import ObjectStore, StoreState, default_folder

    try:
        store = ObjectStore(default_folder())
    except OSError as error:
        raise InputError(f"no folder for the cache: {error}") from None
    try:
        if given.prune is not None:
            store.drop_old(given.prune)
        if given.clear:
            found = StoreState(store.clear())
        else:
            found = store.state(verify=given.verify)
    except OSError as error:
        raise InputError(f"cannot clear '{store.folder}': {error.strerror}") from None
    if found.problem:
        click.echo(f"the cache in {store.folder} is not used: {found.problem}")
        click.get_current_context().exit(1)
    what = "dropped" if given.clear else "kept"
    size = f"{found.size.objects:,}, {found.size.nbytes / 1e6:.1f} MB"
    note = "; read only, so none are added" if found.is_read_only else ""
    click.echo(f"objects {what} in {store.folder}: {size}{note}")
    if found.damaged:
        click.echo(
            f"damaged: {found.damaged:,}; they are not used, and the builds that need "
            "them replace them; 'parpass cache --clear' drops all"
        )
        click.get_current_context().exit(1)
    if given.verify and not given.clear:
        click.echo("damaged: none")
