"""Names of passes, and globs of them, as options are given them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import click

from parpass.errors.core import did_you_mean
from parpass.transform import Pass, registered_passes
from parpass.transform.name_globs import matches_pass
from parpass.transform.passes import flat_passes


def known_passes(pipeline: Pass) -> set[str]:
    """Return the names of all passes: those in a pipeline, and the registered ones."""
    return {one.info.name for one in flat_passes(pipeline)} | registered_passes().keys()


def split_globs(given: Iterable[str]) -> list[str]:
    """Return the comma-separated globs of an option; `*` for an empty text."""
    return [one.strip() or "*" for text in given for one in text.split(",")]


def checked_pass_globs(
    given: Iterable[str], known: Collection[str], option: str
) -> list[str]:
    """Return the globs of an option; refuse one that matches no known pass."""
    globs = split_globs(given)
    for glob in globs:
        if glob != "*" and not any(matches_pass(glob, name) for name in known):
            short = {name.rpartition(".")[2] for name in known}
            raise click.BadParameter(
                f"no pass matches '{glob}'{did_you_mean(glob, short)}",
                param_hint=f"'{option}'",
            )
    return globs
