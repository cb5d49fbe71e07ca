"""Options as they are written, for code that runs before or without click."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

# The names of mlir-opt, and the options that they stand for.
ALIASES = {
    "--disable-threading": "--jobs=0",
    "--mlir-disable-threading": "--jobs=0",
    "--mlir-output-format": "--timing",
    "--mlir-pass-statistics": "--statistics",
    "--mlir-print-ir-after": "--print-ir-after",
    "--mlir-print-ir-after-all": "--print-ir-after",
    "--mlir-print-ir-after-change": "--print-ir-after-change",
    "--mlir-print-ir-before": "--print-ir-before",
    "--mlir-print-ir-before-all": "--print-ir-before",
    "--mlir-print-ir-tree-dir": "--dump-ir",
    "--mlir-timing": "--timing",
    "--pass-statistics": "--statistics",
    "--print-ir-after-all": "--print-ir-after",
    "--print-ir-before-all": "--print-ir-before",
}
JOBS = "-j", "--jobs"


def without_alias(argument: str, options: Collection[str]) -> str:
    """Return an argument without an alias; `options` are the names of all options."""
    name, equals, value = argument.partition("=")
    long = f"-{name}"  # mlir-opt takes one dash as well
    if long.startswith("--") and (long in options or long in ALIASES):
        name = long
    return ALIASES.get(name, name) + equals + value


def written_value(arguments: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the last value that is given to an option; None if there is none.

    Args:
        arguments: A command line.
        options: The names of the option, such as `-j` and `--jobs`.
    """
    found: str | None = None
    for argument, following in itertools.pairwise([*arguments, ""]):
        if argument == "--":
            break
        spelled = without_alias(argument, options)
        name, equals, value = spelled.partition("=")
        if spelled in options:
            found = following
        elif equals and name in options:
            found = value
        elif spelled[:2] in options:
            found = spelled[2:]
    return found
