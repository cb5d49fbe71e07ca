"""The option `--dump-ir`: functions after each pass, in a folder of files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import click

from parpass.cli.operations.pass_globs import checked_pass_globs, split_globs
from parpass.cli.options.watching import WatchOptions
from parpass.errors import ArgumentError
from parpass.instrument import DumpFunctions
from parpass.instrument.function_dump import DEFAULT_LIMIT


def function_dump(
    options: WatchOptions, known: Collection[str], loaded: Sequence[str]
) -> DumpFunctions | None:
    """Return the instrument that writes the files; None without `--dump-ir`.

    `known` are the names of passes. `loaded` is the value of `--load`; the commands in
    the files repeat it.
    """
    limit = options.dump_ir_limit
    if options.dump_ir is None:
        return None
    globs = checked_pass_globs(options.dump_ir_passes, known, "--dump-ir-passes")
    try:
        return DumpFunctions(
            options.dump_ir,
            globs or ["*"],
            split_globs(options.filter_print_funcs) or ["*"],
            limit=DEFAULT_LIMIT if limit is None else limit,
            arguments=_loading(loaded),
        )
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint="'--dump-ir'") from None


def _loading(names: Sequence[str]) -> list[str]:
    """Return the arguments that load the same modules from any directory."""
    paths = [os.path.abspath(one) if os.path.isfile(one) else one for one in names]
    return [word for one in paths for word in ("--load", one)]
