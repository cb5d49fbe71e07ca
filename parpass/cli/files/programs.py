"""Programs in text: parted by lines, below the headers of reproducers, parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parpass.cli.showing.failure import InputError

if TYPE_CHECKING:
    from parpass.transform import Textual

SPLIT = "// -----"


class Program(NamedTuple):
    """The text of a program, which is not parsed yet.

    Attributes:
        name: Of the file it is in.
        text: The text, after as many empty lines as there are lines above it.
        ir: What knows the text of its IR.
    """

    name: str
    text: str
    ir: Textual

    def parsed(self) -> Any:
        """Return the module.

        Raises:
            ParseError: It cannot be read.
        """
        from parpass.cli.files.irs import parsed

        return parsed(self.ir, self.text, self.name)


def programs_in(text: str, name: str, kind: str, split: str) -> list[Program]:
    """Return the programs of a text.

    Args:
        text: The text; it may be a reproducer.
        name: What it is called.
        kind: The IR that it is in, unless its header says.
        split: What lines begin with that part programs.

    Raises:
        InputError: It has the header of a reproducer, and that cannot be read.
    """
    from parpass.cli.files.irs import ir_named, no_such_ir

    text, kind = _below_its_header(text, name, kind)
    ir = ir_named(kind)
    if ir is None:
        raise InputError(f"{name}: {no_such_ir(kind)}")
    return [Program(name, part, ir) for part in _split(text, split)]


def all_parsed(programs: Sequence[Program]) -> list[Any]:
    """Return the modules of all programs.

    Raises:
        InputError: Some cannot be read; all errors are in it.
    """
    from parpass.errors import ParseError

    modules: list[Any] = []
    errors: list[str] = []
    for program in programs:
        try:
            modules.append(program.parsed())
        except ParseError as error:
            errors.append(str(error))
            if "meta[" in program.text and "#[metadata]" not in program.text:
                errors.append(
                    "the values of constants are not in the text: write it by "
                    "'parpass opt' to a file, or with --print-metadata"
                )
    if errors:
        raise unread(*errors)
    return modules


def unread(*errors: str) -> InputError:
    """Return the error for a program that cannot be read."""
    return InputError("\n".join(["the program cannot be read", *errors]))


def _below_its_header(text: str, name: str, kind: str) -> tuple[str, str]:
    """Return a program and its IR; that of a reproducer stands below a header."""
    from parpass.errors import ReproducerError
    from parpass.transform.debug.reproducer import Reproducer

    if not Reproducer.is_in(text):
        return text, kind
    try:
        found = Reproducer.from_text(text)
    except ReproducerError as error:
        raise InputError(f"{name}: {error}") from None
    return found.program(), found.ir


def _split(text: str, line: str) -> list[str]:
    """Return the programs between lines that part them, with the numbers of lines."""
    parting = re.compile(rf"^{re.escape(line)}[ \t\r]*\n?", re.MULTILINE)
    starts = [0, *(found.end() for found in parting.finditer(text))]
    ends = [*(found.start() for found in parting.finditer(text)), len(text)]
    return [
        "\n" * text.count("\n", 0, start) + text[start:end]
        for start, end in zip(starts, ends, strict=True)
    ]
