"""Calling the command in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from parpass.cli import main


def command(*arguments: object, stdin: str | None = None) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


def opt(*arguments: object) -> Result:
    """Call `parpass opt` in this process, without workers."""
    return command("opt", "-j0", *arguments)
