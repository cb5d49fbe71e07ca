"""Calling the command in this process."""

from __future__ import annotations

import inspect
import os

from click.testing import CliRunner, Result

from parpass.cli import main
from parpass.transform import FunctionPass


def command(*arguments: object, stdin: str | None = None) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


def opt(*arguments: object) -> Result:
    """Call `parpass opt` in this process, without workers."""
    return command("opt", "-j0", *arguments)


def place_in(a_pass: type[FunctionPass]) -> str:
    """Return where a pass raises, or exits, as the command tells it."""
    body = a_pass.transform_function
    lines, first = inspect.getsourcelines(body)
    at = next(at for at, one in enumerate(lines) if "raise " in one or ".exit(" in one)
    file = os.path.relpath(inspect.getfile(body))
    return f"{file}:{first + at}, in transform_function"
