"""Reading the inputs of `parpass opt`: ONNX files, or IR as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parpass.cli.failure import InputError

if TYPE_CHECKING:
    from parpass.ir.module import IRModule

SPLIT = "// -----"
_SPLIT_LINE = re.compile(rf"^{SPLIT}[ \t\r]*\n?", re.MULTILINE)


def read_modules(inputs: Sequence[Path]) -> list[IRModule]:
    """Return the modules of the inputs: one of all ONNX files, or one of each text.

    Raises:
        InputError: They cannot be read, or are not all of one kind.
    """
    kinds = {path.suffix.lower() == ".onnx" for path in inputs}
    if len(kinds) > 1:
        raise InputError("ONNX files and IR as text cannot be read together")
    return [_read_onnx(inputs)] if kinds == {True} else _read_texts(inputs)


def _read_onnx(inputs: Sequence[Path]) -> IRModule:
    from parpass.errors import FrontendError

    try:
        from parpass.relay.frontend import from_onnx

        return from_onnx(inputs, freeze_params=True)[0]
    except (FrontendError, OSError, ImportError) as error:
        raise InputError(str(error)) from None


def _read_texts(inputs: Sequence[Path]) -> list[IRModule]:
    from parpass.errors import ParseError
    from parpass.relay import parse

    modules: list[IRModule] = []
    errors: list[str] = []
    for path in inputs:
        name = "<stdin>" if str(path) == "-" else str(path)
        for program in _split(_read_text(path, name)):
            try:
                modules.append(parse(program, name))
            except ParseError as error:
                errors.append(str(error))
    if errors:
        raise InputError("\n".join(["the program cannot be read", *errors]))
    return modules


def _read_text(path: Path, name: str) -> str:
    try:
        with click.open_file(str(path), encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputError(f"'{name}' is neither an .onnx file nor text") from None
    except OSError as error:
        raise InputError(f"cannot read '{name}': {error.strerror}") from None


def _split(text: str) -> list[str]:
    """Return the programs between lines `// -----`, with the numbers of their lines."""
    starts = [0, *(found.end() for found in _SPLIT_LINE.finditer(text))]
    ends = [*(found.start() for found in _SPLIT_LINE.finditer(text)), len(text)]
    return [
        "\n" * text.count("\n", 0, start) + text[start:end]
        for start, end in zip(starts, ends, strict=True)
    ]
