"""Writer of the table of objects that a function is, in a store on disk.

The objects stand in a stream of numbers, each behind those that it refers to: the
number of its record, and the numbers of these objects. A node is entered for itself, as
sharing is part of a program; of all others equal ones are entered once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from parpass.diagnostic import Span, lines_of
from parpass.errors import IRTypeError
from parpass.ir.op_table import Op
from parpass.ir.portable.kind_layout import (
    Opened,
    forms_of,
    is_shared,
    opener,
    token_of,
)
from parpass.ir.portable.value_forms import encode_msgpack, type_of
from parpass.ir.serialization.arrays import array_parts
from parpass.ir.serialization.schema import Kind, ambiguous, kind_name
from parpass.ir.typed_expr import GlobalVar
from parpass.runtime.ndarray import NDArray
from parpass.transform import BlobSink
from parpass.transform.relative_lines import ABSOLUTE, LineBase

_MAX_KNOWN = 10_000  # records that are kept for the next functions
_MAX_KNOWN_BYTES = 256  # of one of them

# Records that are of no kind.
OP, SPAN, ARRAY, ARRAY_OUTSIDE = "Op", "Span", "NDArray", "outside"
GLOBAL_VAR = "GlobalVar"

_OPENED = -1  # the number of what is to be entered after what it refers to


class _Class(NamedTuple):
    """The functions for the objects of one class.

    Attributes:
        open: See `opener`.
        is_shared: See `is_shared`.
        own_numbers: Returns numbers of an object that are in the stream themselves.
    """

    open: Callable[[Any], Opened]
    is_shared: bool
    own_numbers: Callable[[Any], tuple[int, ...]] | None = None


class TableWriter:
    """Writes functions; records that are met again are not made again.

    Args:
        kinds: The kinds by name.
    """

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds_by_name = kinds
        self._kinds: dict[type[Any], Kind] = {}
        self._known: dict[Any, bytes] = {}
        self._classes: dict[type[Any], _Class] = {
            Span: _Class(_open_span, True, self._span_numbers),
            NDArray: _Class(_open_array, True),
            Op: _Class(_open_op, True),
            GlobalVar: _Class(self._open_global_var, False),
        }
        self._lines: LineBase = ABSOLUTE

    def write(
        self, roots: Sequence[Any], blob_sink: BlobSink, lines: LineBase = ABSOLUTE
    ) -> tuple[list[bytes], list[int], list[int]]:
        """Return the records, the stream and the numbers of some objects.

        Raises:
            Exception: An object has no form, or contains itself.
        """
        self._lines = lines
        known, classes = self._known, self._classes
        records: dict[bytes, int] = {}
        stream: list[int] = []
        numbers: dict[int, int] = {}  # by identity; all live as long as the roots
        are_numbered, number_of = numbers.keys().__ge__, numbers.__getitem__
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
                of = classes.get(make) or self._find_class(item)
                inside, key = of.open(item)
                if not are_numbered({*map(id, inside)}):
                    numbers[id(item)] = _OPENED
                    stack.append((item, inside, key, of))
                    stack += inside[::-1]
                    continue
            try:
                record = known[key]
            except (KeyError, TypeError):  # a new one, or one without a key
                record = self._record(item, key, blob_sink)
            entry = [records.setdefault(record, len(records))]
            if of.own_numbers is None:
                entry += map(number_of, map(id, inside))
            else:
                entry += of.own_numbers(item)
            if of.is_shared:
                numbers[id(item)] = equal.setdefault(tuple(entry), count)
                if numbers[id(item)] != count:
                    continue
            numbers[id(item)] = count
            stream += entry
            count += 1
        if _OPENED in stream:
            raise IRTypeError("expected an object that does not contain itself")
        return [*records], stream, [numbers[id(one)] for one in roots]

    def _span_numbers(self, span: Span) -> tuple[int, ...]:
        line, end = lines_of(span)
        up = line - self._lines.base_of(span)
        lines = end - line
        return (
            2 * up if up >= 0 else -2 * up - 1,
            2 * lines if lines >= 0 else -2 * lines - 1,
            span.column,
            span.end_column,
        )

    def _open_global_var(self, var: GlobalVar) -> Opened:
        """Open a global variable; its place is that of another function."""
        self._lines.refer(var.name_hint)
        known = var.checked_type_
        return () if known is None else (known,), (
            GlobalVar,
            var.name_hint,
            known is None,
        )

    def _record(self, item: Any, key: Any, blob_sink: BlobSink) -> bytes:
        """Return the record of an object, and keep it if it is small and has a key."""
        kind = type_of(item)
        if kind is NDArray:
            return _array_record(item, blob_sink)
        if kind is Span:
            record = encode_msgpack([SPAN, str(item.source_name)])
        elif kind is Op:
            record = encode_msgpack([OP, item.name])
        elif kind is GlobalVar:
            has_type = item.checked_type_ is not None
            record = encode_msgpack([GLOBAL_VAR, item.name_hint, has_type])
        else:
            of = self._kinds[kind]
            record = encode_msgpack([of.name, token_of(of), forms_of(of, item)])
        if len(record) <= _MAX_KNOWN_BYTES and len(self._known) < _MAX_KNOWN:
            with suppress(TypeError):
                self._known[key] = record
        return record

    def _find_class(self, item: Any) -> _Class:
        make = type_of(item)
        kind = self._kinds_by_name.get(kind_name(make))
        if kind is not None and kind.rival is not None:
            raise IRTypeError(ambiguous(kind))
        if kind is None or kind.make is not make:
            raise IRTypeError(f"a {make.__name__} cannot be saved")
        self._kinds[make] = kind
        found = self._classes[make] = _Class(opener(kind), is_shared(make))
        return found


def _open_span(span: Span) -> Opened:
    if not isinstance(cast("object", span.source_name), str):
        raise IRTypeError("expected a name for the source of a span")
    return (), (Span, span.source_name)


def _open_array(array: NDArray) -> Opened:
    del array
    return (), []


def _open_op(op: Op) -> Opened:
    return (), op


def _array_record(array: NDArray, blob_sink: BlobSink) -> bytes:
    if not array.is_uniform and array.is_plain:
        index = blob_sink(array)
        if index is not None:
            form = [ARRAY_OUTSIDE, index, array.shape, array.typestr]
            return encode_msgpack(form)
    return encode_msgpack([ARRAY, *array_parts(array)])
