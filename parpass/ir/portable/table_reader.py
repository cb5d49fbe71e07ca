"""Reader of the table of objects that a function is, in a store on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from parpass.diagnostic import Span
from parpass.ir.op_table import Op
from parpass.ir.portable.kind_layout import Make, is_shared, maker, token_of
from parpass.ir.portable.value_forms import decode_form
from parpass.ir.serialization.arrays import array_of_parts
from parpass.ir.serialization.schema import Kind
from parpass.ir.typed_expr import GlobalVar
from parpass.transform.relative_lines import RelativeLines

_MAX_KNOWN = 10_000  # records that are kept for the next functions
_MAX_KNOWN_BYTES = 256  # of one of them
_NodeT = TypeVar("_NodeT")


class _Maker(NamedTuple):
    """Makes the objects of a record.

    Attributes:
        size: How many numbers follow it in the stream.
        make: Returns an object, given those that the numbers are of.
        source: The name of the source, if it is a span, and the numbers its own.
    """

    size: int
    make: Make
    source: str | None = None


class TableReader:
    """Reads functions; records that are met again are not checked again.

    Args:
        kinds: The kinds by name.
    """

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds
        self._known: dict[bytes, _Maker] = {}
        self._substitutes: dict[type[Any], Callable[[Any], Any]] = {}

    def substitute(
        self, make: type[_NodeT], substitute: Callable[[_NodeT], _NodeT]
    ) -> None:
        """Set what replaces the objects of a class, such as those of a module."""
        self._substitutes[make] = substitute

    def read(
        self,
        records: Sequence[bytes],
        stream: Sequence[int],
        lines: RelativeLines | None = None,
    ) -> list[Any]:
        """Return the objects.

        Args:
            records: The records.
            stream: The objects.
            lines: What lines are relative to; None if they are absolute.

        Raises:
            Exception: They are no objects that `TableWriter` wrote.
        """
        makers = [self._known.get(one) or self._maker(one) for one in records]
        objects: list[Any] = []
        add, get = objects.append, objects.__getitem__
        at, end = 0, len(stream)
        while at < end:
            size, make, source = makers[stream[at]]
            at += 1
            numbers = stream[at : at + size]
            at += size
            if source is not None:
                base = 0 if lines is None else lines.ranges[source].base
                add(_span(source, base, numbers))
            else:
                add(make(tuple(map(get, numbers))))
        if at > end:
            raise ValueError("expected more objects")
        return objects

    def _maker(self, record: bytes) -> _Maker:
        match decode_form(record):
            case [str(name), bytes(token), forms]:
                made = self._kind_maker(name, token, forms)
            case ["Op", str(name)]:
                made = _constant(Op.get(name))
            case ["Span", str(name)]:
                made = _Maker(4, tuple, name)
            case ["GlobalVar", str(name), bool(has_type)]:
                made = _Maker(int(has_type), partial(self._global_var, name))
            case ["NDArray", str(dtype), shape, str(key), bytes(data)]:
                array = array_of_parts(dtype, shape, key, data)
                made = _constant(array)
            case _:
                raise ValueError("expected a record")
        if len(record) <= _MAX_KNOWN_BYTES and len(self._known) < _MAX_KNOWN:
            self._known[record] = made
        return made

    def _global_var(self, name: str, objects: tuple[Any, ...]) -> Any:
        var = GlobalVar(name, None, *objects)
        substitute = self._substitutes.get(GlobalVar)
        return var if substitute is None else substitute(var)

    def _kind_maker(self, name: str, token: bytes, forms: Any) -> _Maker:
        if type(forms) is not list:
            raise ValueError(f"expected the fields of '{name:.80}'")
        kind = self._kinds.get(name)
        if kind is None or kind.rival is not None or token_of(kind) != token:
            raise ValueError(f"expected a kind that is known, got '{name:.80}'")
        count, make = maker(kind, cast("list[Any]", forms))
        substitute = self._substitutes.get(kind.make)
        if substitute is not None:
            return _Maker(count, partial(_substituted, substitute, make))
        if count == 0 and is_shared(kind.make):
            return _constant(make(()))
        return _Maker(count, make)


def _constant(value: Any) -> _Maker:
    def same(_: tuple[Any, ...]) -> Any:
        return value

    return _Maker(0, same)


def _substituted(
    substitute: Callable[[Any], Any], make: Make, objects: tuple[Any, ...]
) -> Any:
    return substitute(make(objects))


def _span(source: str, base: int, numbers: Sequence[int]) -> Span:
    up, lines, column, end_column = numbers
    line = base + (-((up + 1) // 2) if up & 1 else up // 2)
    end = line + (-((lines + 1) // 2) if lines & 1 else lines // 2)
    return Span(source, line, end, column, end_column)
