"""Globs of passes, as options are given them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import click

from parpass.errors.core import did_you_mean
from parpass.transform.name_globs import matches_pass


def checked_pass_globs(
    given: Iterable[str], known: Collection[str], option: str
) -> list[str]:
    """Return the globs of an option, which is given them separated by commas.

    Raises:
        click.BadParameter: One matches no pass.
    """
    globs = [one.strip() for text in given for one in text.split(",")]
    for one in globs:
        check_pass_glob(one, known, option)
    return globs


def check_pass_glob(glob: str, known: Collection[str], option: str) -> None:
    """Raise if a glob that an option was given matches no pass.

    Raises:
        click.BadParameter: It matches none; the nearest names are in the message.
    """
    if not any(matches_pass(glob, name) for name in known):
        short = {name.rpartition(".")[2] for name in known}
        raise click.BadParameter(
            f"no pass matches '{glob}'{did_you_mean(glob, short)}",
            param_hint=f"'{option}'",
        )
