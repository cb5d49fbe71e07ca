"""Writing of outputs: each is written completely, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from parpass.atomic_files import atomic_write
from parpass.cli.files.reading import SPLIT
from parpass.cli.output.failure import InputError, unwritable
from parpass.errors import IRTypeError, UnreadFunctionError


def check_suffix(output: str) -> None:
    """Refuse a format that is only read."""
    suffix = _suffix(output)
    if suffix == ".onnx":
        raise click.BadParameter(
            f"ONNX is only read; '{output[: -len(suffix)]}.relay' gets text, and "
            f"'{output[: -len(suffix)]}.json' JSON",
            param_hint="'-o'",
        )


def check_folder(path: str, option: str) -> None:
    """Refuse a path whose folder does not exist."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise click.BadParameter(
            f"directory '{directory}' does not exist", param_hint=f"'{option}'"
        )


def check_outputs(outputs: Mapping[str, str | None]) -> None:
    """Refuse files that cannot be written, and two that are the same.

    `outputs` are the paths by option; None and `-` stand for no file.
    """
    taken: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        check_folder(path, option)
        if os.path.exists(path) and not os.path.isfile(path):
            continue  # a pipe, a device: nothing is replaced
        folder = os.path.dirname(path) or "."
        other = taken.setdefault(os.path.realpath(path), option)
        why = ""
        if not os.access(folder, os.W_OK | os.X_OK):
            why = f"directory '{folder}' may not be written to"
        elif other != option:
            why = f"{other} also writes to '{path}'; choose another name"
        if why:
            raise click.BadParameter(why, param_hint=f"'{option}'")


def write_modules(
    modules: Sequence[Any],
    output: str,
    *,
    show_meta_data: bool | None = None,
    show_types: bool = False,
    split: str = SPLIT,
) -> None:
    """Write modules to a file, or to standard output for `-`.

    The format is JSON if the path ends in `.json`, else text. By default the text
    contains the values of constants in files, which are read again, but not on standard
    output. With `show_types` it contains inferred types as comments. `split` separates
    several programs.

    Raises:
        InputError: They cannot be written; the file is unchanged.
    """
    shows = output != "-" if show_meta_data is None else show_meta_data
    if _suffix(output) == ".json":
        text = _as_json(modules, output)
    else:
        texts = [
            _as_text(mod, show_meta_data=shows, show_types=show_types)
            for mod in modules
        ]
        text = f"\n{split}\n".join(one.rstrip("\n") for one in texts) + "\n"
    write_text(text, output)


def write_text(text: str, output: str) -> None:
    write_bytes(text.encode(), output)


def write_bytes(content: bytes, output: str) -> None:
    """Replace a file, or write to standard output for `-`.

    Raises:
        InputError: It cannot be written; the file is unchanged.
    """
    try:
        _write(content, output)
    except BrokenPipeError:
        raise  # whoever read it has seen enough; click ends quietly
    except RuntimeError:  # click's word for a stream that is not there
        raise InputError("cannot write: standard output is closed") from None
    except OSError as error:
        raise unwritable(output, error) from None


def write_or_warn(content: bytes, output: str) -> None:
    """Write to a file; warn if it cannot be written."""
    try:
        write_bytes(content, output)
    except InputError as error:
        click.echo(f"Warning: {error.message}", err=True)


def _as_text(mod: Any, *, show_meta_data: bool, show_types: bool) -> str:
    from parpass.transform import adapter_of

    programs = adapter_of(mod, "print").programs(mod)
    try:
        if show_types:
            from parpass.ir.module import IRModule  # others have them in their text

            if isinstance(mod, IRModule):
                return mod.text(show_meta_data=show_meta_data)
        return programs.astext(mod, show_meta_data=show_meta_data)
    except UnreadFunctionError:
        raise
    except Exception as error:  # an IR may raise anything, or have read nothing yet
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"the program cannot be written: {what}") from error


def _as_json(modules: Sequence[Any], output: str) -> str:
    from parpass.ir.module import IRModule
    from parpass.ir.serialization import save_json

    if len(modules) != 1 or not isinstance(modules[0], IRModule):
        what = f"{len(modules)} programs" if len(modules) != 1 else "another IR"
        raise InputError(f"'{output}' is to hold one Relay module as JSON, got {what}")
    try:
        return save_json(modules[0])
    except IRTypeError as error:  # such as of a file whose name is no text
        raise InputError(f"the program cannot be written as JSON: {error}") from None


def _suffix(output: str) -> str:
    return os.path.splitext(output)[1].lower()


def _write(content: bytes, output: str) -> None:
    if output == "-" or (os.path.exists(output) and not os.path.isfile(output)):
        with click.open_file(output, "wb") as file:  # a pipe, a device
            file.write(content)
            file.flush()
        return
    with atomic_write(output) as file:
        file.write(content)
