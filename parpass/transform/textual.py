"""How programs of an IR are read, written and made smaller: what the command asks.

No pipeline needs it. A module adapter has this part, with defaults that say what is
missing; where an IR's modules are another one's too, it is an object of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from parpass.errors import ParseError
from parpass.tables import Table


class Way(Protocol):
    """A way to make a module smaller."""

    @property
    def many(self) -> bool:
        """Whether it is tried with many items at once."""
        ...

    def items(self, mod: Any) -> Sequence[Any]:
        """Return what could be taken out, what takes most with it first."""
        ...

    def without(self, mod: Any, items: Sequence[Any]) -> Any:
        """Return the module without some of its items, `mod` if that is no change."""
        ...


class Textual(ABC):
    """How the command reads and writes the programs of an IR.

    Attributes:
        ir_name: What `--ir` and reproducers call the IR; empty where its programs
            cannot be read.
        suffixes: What the names of files with such programs end in, `.relay` say.
    """

    ir_name: str = ""
    suffixes: Sequence[str] = ()

    def parse(self, text: str, source_name: str) -> Any:
        """Return the module of which this is the text.

        `source_name` is what diagnostics are to call the text. Whatever is raised is
        told as that the text cannot be read; the diagnostics of a `ParseError` have
        their places shown.
        """
        del text, source_name
        kind = type(self).__qualname__
        raise ParseError(
            f"programs of IR '{self.ir_name}' cannot be read: {kind} has no method "
            "'parse(text, source_name)'"
        )

    def astext(self, mod: Any, *, show_meta_data: bool = True) -> str:
        """Return a module as text that `parse` reads.

        Without `show_meta_data`, what is large and tells a reader nothing, such as
        weights, is left out.
        """
        del show_meta_data
        return str(mod)

    def ways(self) -> Sequence[Way]:
        """Return in which ways a module can get smaller, besides by fewer functions.

        Those that take most away come first.
        """
        return ()

    @abstractmethod
    def module_size(self, mod: Any) -> tuple[int, ...]:
        """Return how large a module is: smaller numbers are smaller modules.

        What comes first counts most.
        """
        ...


def first_difference(one: str, other: str) -> str | None:
    """Return the first line in which two texts differ, None if there is none."""
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    for at, (mine, theirs) in enumerate(pairs, 1):
        if mine != theirs:
            return f"line {at}: '{mine.strip()}' and '{theirs.strip()}'"
    return None


_programs: Table[str, Textual] = Table("programs of")


def register_programs(programs: Textual) -> None:
    """Have the programs of an IR known by its name."""
    _programs[programs.ir_name] = programs


def registered_programs() -> Mapping[str, Textual]:
    """Return those whose programs can be read, by the names of their IRs."""
    return dict(_programs)
