"""The reader of tables: from rows to objects, with the checks of the schema.

Whatever the rows are, it gives objects that programs may have, or an error; it does not
recurse along them, and makes nothing larger than they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from parpass.errors import SizeLimitError
from parpass.ir.serialization.nesting import Nesting
from parpass.ir.serialization.records import Fault, Make, Maker, maker
from parpass.ir.serialization.schema import Field, Kind

_NodeT = TypeVar("_NodeT")


class TableReader:
    """Makes objects of rows."""

    def __init__(self) -> None:
        self._substitutes: dict[type[Any], Callable[[Any], Any]] = {}

    def substitute(
        self, make: type[_NodeT], substitute: Callable[[_NodeT], _NodeT]
    ) -> None:
        """Set what replaces the objects of a class, such as those of a module."""
        self._substitutes[make] = substitute

    def maker(self, kind: Kind, fields: Sequence[Field], forms: Sequence[Any]) -> Maker:
        """Return what makes the objects of a record of a kind; see `records.maker`."""
        made = maker(kind, fields, forms)
        substitute = self._substitutes.get(kind.make)
        if substitute is None:
            return made
        return made._replace(make=partial(_substituted, substitute, made.make))

    def read(self, makers: Sequence[Maker], stream: Sequence[int]) -> list[Any]:
        """Return the objects of rows.

        Args:
            makers: What makes the objects of each record.
            stream: The rows, as `TableWriter` writes them; natural numbers.

        Raises:
            Fault: They are no objects that could be in a program.
        """
        objects: list[Any] = []
        add, get = objects.append, objects.__getitem__
        nesting = Nesting()
        at, end = 0, len(stream)
        try:
            while at < end:
                size, make, own = makers[stream[at]]
                at += 1
                numbers = stream[at : at + size]
                at += size
                if own is None:
                    add(make(tuple(map(get, numbers))))
                    continue
                if own == size:
                    add(make(numbers))
                    continue
                others = size - own
                made = make((*map(get, numbers[:others]), *numbers[others:]))
                nesting.check(made)
                add(made)
            if at > end:
                objects.pop()  # which was made of too few numbers
                raise Fault("", "expected more numbers")
        except IndexError:
            fault = Fault("", "expected a record, and references to rows before")
        except SizeLimitError as error:
            fault = Fault("", str(error))
        except Fault as error:
            fault = error
        else:
            return objects
        fault.row = len(objects)
        raise fault from None


def _substituted(
    substitute: Callable[[Any], Any], make: Make, objects: tuple[Any, ...]
) -> Any:
    return substitute(make(objects))
