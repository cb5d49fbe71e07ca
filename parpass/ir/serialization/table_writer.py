"""The writer of tables: what a program consists of, row by row, children first.

The rows stand in a stream of numbers: the number of a record, the numbers of the
objects that the object refers to, each of which has a row before, and numbers of its
own. A node has a row for itself, as sharing is part of a program; of all other objects
equal ones have one. What a record looks like is up to the rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, cast

from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.ir.serialization.nesting import Nesting
from parpass.ir.serialization.records import Opened, is_shared, opener, own_numbers
from parpass.ir.serialization.schema import Kind, ambiguous, kind_name
from parpass.ir.serialization.value_forms import HOLE, type_of
from parpass.runtime.ndarray import NDArray

MAX_KNOWN = 10_000  # records that are kept for the next objects
MAX_KNOWN_BYTES = 256  # of one of them

_OPENED = -1  # the number of what is to be entered after what it refers to

Render = Callable[[Any], bytes]  # the record of an object


class Table(NamedTuple):
    """Objects as rows.

    Attributes:
        records: The records, each once.
        stream: The rows.
        roots: The numbers of the rows of the objects that were asked for.
    """

    records: list[bytes]
    stream: list[int]
    roots: list[int]


class _Class(NamedTuple):
    """The functions for the objects of one class.

    Attributes:
        open: See `opener`.
        render: Returns the record of an object; None for arrays, see `write`.
        is_shared: See `is_shared`.
        own_numbers: See `own_numbers`.
    """

    open: Callable[[Any], Opened]
    render: Render | None
    is_shared: bool
    own_numbers: Callable[[Any], tuple[int, ...]] | None = None


class TableWriter:
    """Writes tables; records that are met again are not rendered again.

    Args:
        kinds: The kinds by name.
        leaves: The classes of values that stand in records themselves.
        render: Returns the record of an object of a kind.
        render_op: Returns that of an operator.
    """

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        leaves: frozenset[type[Any]],
        render: Callable[[Kind, Any], bytes],
        render_op: Callable[[Op], bytes],
    ) -> None:
        self._kinds_by_name, self._leaves, self._render = kinds, leaves, render
        self._known: dict[Any, bytes] = {}
        self._classes: dict[type[Any], _Class] = {}
        self._bases: list[type[Any]] = []  # of classes that are no kinds
        self.add_class(Op, lambda op: ((), op), render_op)
        self.add_class(NDArray, lambda _: ((), []), None)

    def add_class(
        self, make: type[Any], open_one: Callable[[Any], Opened], render: Render | None
    ) -> None:
        """Set how the objects of a class are written that is no kind."""
        self._bases.append(make)
        self._classes[make] = _Class(open_one, render, is_shared(make))

    def write(self, roots: Sequence[Any], render_array: Render) -> Table:
        """Return objects as rows.

        Args:
            roots: The objects.
            render_array: Returns the record of an array.

        Raises:
            IRTypeError: An object has no form, or contains itself.
            SizeLimitError: Types or values are nested too deep.
        """
        known, classes = self._known, self._classes
        nesting = Nesting()
        records: dict[bytes, int] = {}
        stream: list[int] = []
        numbers: dict[int, int] = {}  # by identity; all live as long as the roots
        number_of: Callable[[int], Any] = cast("Any", numbers.get)
        equal: dict[tuple[int, ...], int] = {}
        stack: list[Any] = [*roots][::-1]
        count = 0
        while stack:
            item = stack.pop()
            make = type_of(item)
            if make is tuple:  # all that it refers to has been entered
                item, inside, key, of = item
            elif id(item) in numbers:
                continue
            else:
                of = classes.get(make) or self._find_class(make)
                inside, key = of.open(item)
                if None in map(number_of, map(id, inside)):
                    numbers[id(item)] = _OPENED
                    stack.append((item, inside, key, of))
                    stack += inside[::-1]
                    continue
            try:
                record = known[key]
            except (KeyError, TypeError):  # a new one, or one without a key
                record = self._new_record(item, key, of.render, render_array)
            entry = [
                records.setdefault(record, len(records)),
                *map(number_of, map(id, inside)),
            ]
            if of.own_numbers is not None and key[-1] is HOLE:
                entry += of.own_numbers(item)
            if of.is_shared:
                numbers[id(item)] = equal.setdefault(tuple(entry), count)
                if numbers[id(item)] != count:
                    continue
                if inside:
                    nesting.check(item)
            numbers[id(item)] = count
            stream += entry
            count += 1
        _check_circles(stream)
        return Table([*records], stream, [numbers[id(one)] for one in roots])

    def _new_record(
        self, item: Any, key: Any, render: Render | None, render_array: Render
    ) -> bytes:
        """Return the record of an object, and keep it if it is small and has a key."""
        if render is None:
            return render_array(item)
        record = render(item)
        if len(record) <= MAX_KNOWN_BYTES and len(self._known) < MAX_KNOWN:
            with suppress(TypeError):
                self._known[key] = record
        return record

    def _find_class(self, make: type[Any]) -> _Class:
        for base in self._bases:
            if issubclass(make, base):
                return self._classes[base]
        kind = self._kinds_by_name.get(kind_name(make))
        if kind is not None and kind.rival is not None:
            raise IRTypeError(ambiguous(kind))
        if kind is None or kind.make is not make:
            raise IRTypeError(
                f"a {make.__name__} cannot be saved: it is no node, type or "
                "span, and no registered operator has such attributes"
            )
        found = self._classes[make] = _Class(
            opener(kind, self._leaves),
            partial(self._render, kind),
            is_shared(make),
            own_numbers(kind),
        )
        return found


def _check_circles(stream: list[int]) -> None:
    if _OPENED in stream:
        raise IRTypeError("expected parts of a program, got one that contains itself")
