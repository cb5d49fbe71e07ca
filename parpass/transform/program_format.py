"""The program format of an IR: parsing, printing and reduction, for the command line.

No pipeline needs it. A module adapter is a program format, with defaults whose errors
name the missing method; it is a separate object if IRs share one type of module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from parpass.errors import ParseError
from parpass.replicated_tables import ReplicatedTable


class ReductionPattern(Protocol):
    """A kind of change that makes a module smaller, as in mlir-reduce."""

    @property
    def many(self) -> bool:
        """Whether to try removing several items at once."""
        ...

    def items(self, mod: Any) -> Sequence[Any]:
        """Return the removable items, the most effective ones first."""
        ...

    def without(self, mod: Any, items: Sequence[Any]) -> Any:
        """Return the module without some of its items; `mod` if nothing changes."""
        ...


class ProgramFormat(ABC):
    """Parser, printer and reduction patterns for the programs of an IR.

    Attributes:
        ir_name: The IR's name for `--ir` and in reproducers; empty if its programs
            cannot be parsed.
        suffixes: The file suffixes of such programs, such as `.relay`.
        line_comment: The prefix of comments that extend to the end of the line.
    """

    ir_name: str = ""
    suffixes: Sequence[str] = ()
    line_comment: str = "//"

    def parse(self, text: str, source_name: str) -> Any:
        """Parse a module; `source_name` is the name of the text in diagnostics.

        Any exception is reported as a parse error. The diagnostics of a `ParseError`
        are shown with their places.
        """
        del text, source_name
        kind = type(self).__qualname__
        raise ParseError(
            f"programs of IR '{self.ir_name}' cannot be read: {kind} has no method "
            "'parse(text, source_name)'"
        )

    def astext(self, mod: Any, *, show_meta_data: bool = True) -> str:
        """Return a module as text that `parse` reads.

        Without `show_meta_data`, large parts that readers do not need, such as weights,
        are omitted.
        """
        del show_meta_data
        return str(mod)

    def reduction_patterns(self) -> Sequence[ReductionPattern]:
        """Return the reduction patterns besides the removal of whole functions.

        The most effective ones come first.
        """
        return ()

    @abstractmethod
    def module_size(self, mod: Any) -> tuple[int, ...]:
        """Return the size of a module; tuples are compared element by element."""
        ...


def first_difference(one: str, other: str) -> str | None:
    """Return the first line in which two texts differ; None if they are equal."""
    lines = one.splitlines(keepends=True), other.splitlines(keepends=True)
    pairs = zip_longest(*lines, fillvalue="")
    for number, (left, right) in enumerate(pairs, 1):
        if left != right:
            if left.strip() != right.strip():
                left, right = left.strip(), right.strip()
            return f"line {number}: {left!r} and {right!r}"
    return None


_programs: ReplicatedTable[str, ProgramFormat] = ReplicatedTable("programs of")


def register_programs(programs: ProgramFormat) -> None:
    """Register a program format under its `ir_name`."""
    _programs[programs.ir_name] = programs


def registered_programs() -> Mapping[str, ProgramFormat]:
    """Return the registered program formats, by the names of their IRs."""
    return dict(_programs)
