"""The option `--dump-ir`: what passes made of functions, in a folder of files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import click

from parpass.cli.operations.pass_globs import checked_pass_globs
from parpass.errors import ArgumentError
from parpass.instrument import DumpFunctions
from parpass.instrument.function_dump import DEFAULT_LIMIT


def function_dump(
    directory: str | None,
    passes: Sequence[str],
    functions: Sequence[str],
    limit: int | None,
    known: Collection[str],
    loaded: Sequence[str],
) -> DumpFunctions:
    """Return the instrument that writes the files, by the options for it.

    `known` are the names of passes. `loaded` is the value of `--load`, which commands
    in the files need, too.
    """
    if directory is None:
        option = "--dump-ir-passes" if passes else "--dump-ir-limit"
        raise click.BadParameter(
            "nothing is dumped without --dump-ir DIR", param_hint=f"'{option}'"
        )
    globs = checked_pass_globs(passes, known, "--dump-ir-passes")
    try:
        return DumpFunctions(
            directory,
            globs or ["*"],
            functions or ["*"],
            limit=DEFAULT_LIMIT if limit is None else limit,
            arguments=_loading(loaded),
        )
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint="'--dump-ir'") from None


def _loading(names: Sequence[str]) -> list[str]:
    """Return the arguments that load the same from any directory."""
    paths = [os.path.abspath(one) if os.path.isfile(one) else one for one in names]
    return [word for one in paths for word in ("--load", one)]
