"""Writing what the command has made: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from parpass.cli.failure import InputError

if TYPE_CHECKING:
    from parpass.ir.module import IRModule


def write_modules(
    modules: Sequence[IRModule], output: str, *, print_metadata: bool
) -> None:
    """Write the text of modules to a file, or to standard output for `-`.

    Raises:
        InputError: It cannot be written; the file is as it was then.
    """
    from parpass.cli.reading import SPLIT

    texts = [module.astext(show_meta_data=print_metadata) for module in modules]
    text = f"\n{SPLIT}\n".join(text.rstrip("\n") for text in texts) + "\n"
    try:
        _write(text, output)
    except BrokenPipeError:
        raise  # whoever read it has seen enough; click ends quietly
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None
    if output != "-" and not print_metadata and "meta[relay." in text:
        click.echo(
            f"Note: '{output}' has no values of constants; see --print-metadata.",
            err=True,
        )


def _write(text: str, output: str) -> None:
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(output).st_mode
    if output != "-" and (mode is None or stat.S_ISREG(mode)):
        _replace(os.path.realpath(output), text, mode)
        return
    with click.open_file(output, "w", encoding="utf-8") as file:  # a pipe, a device
        file.write(text)
        file.flush()


def _replace(path: str, text: str, mode: int | None) -> None:
    """Write a file beside, and have it take the place of that one when it is whole."""
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as beside:
        whole = os.path.join(beside, name)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)
        if mode is not None:
            os.chmod(whole, stat.S_IMODE(mode))
        os.replace(whole, path)
