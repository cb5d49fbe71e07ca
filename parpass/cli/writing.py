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

_USUAL_MODE = 0o666  # of a new file, but for what the umask takes away


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
    try:
        mode = None if output == "-" else os.stat(output).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | _USUAL_MODE & ~_umask()
    if mode is not None and stat.S_ISREG(mode):
        _replace(os.path.realpath(output), text, stat.S_IMODE(mode))
        return
    with click.open_file(output, "w", encoding="utf-8") as file:  # a pipe, a device
        file.write(text)
        file.flush()


def _replace(path: str, text: str, mode: int) -> None:
    """Write a file beside, and have it take the place of that one when it is whole."""
    folder, name = os.path.split(path)
    fd, beside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
