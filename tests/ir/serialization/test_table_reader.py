"""Rows that are no part of a program are refused, with the place of the mistake."""

from __future__ import annotations

from typing import Any

import pytest

from parpass.diagnostic import Span
from parpass.ir.serialization.records import Fault, Maker, constant
from parpass.ir.serialization.schema import kind_of
from parpass.ir.serialization.table_reader import TableReader
from parpass.ir.serialization.value_forms import HOLE, Holes
from parpass.ir.types import TensorType
from parpass.relay.expr import Tuple, Var

TYPE, X, PAIR, SPAN = range(4)


def makers(reader: TableReader) -> list[Maker]:
    def maker(make: type[Any], **forms: Any) -> Maker:
        kind = kind_of(make)
        return reader.maker(
            kind, [kind.fields[name] for name in forms], [*forms.values()]
        )

    numbers = dict.fromkeys(("line", "end_line", "column", "end_column"), HOLE)
    return [
        constant(TensorType((2,))),
        maker(Var, name_hint="x", type_annotation=HOLE),
        maker(Tuple, fields=Holes(2)),
        maker(Span, source_name="f", **numbers),
    ]


def read(*rows: list[int]) -> list[Any]:
    reader = TableReader()
    return reader.read(makers(reader), [one for row in rows for one in row])


def test_rows_are_objects_each_of_those_before():
    typ, x, pair, span = read([TYPE], [X, 0], [PAIR, 1, 1], [SPAN, 7, 8, 0, 9])
    assert x.type_annotation is typ
    assert pair.fields == (x, x)
    assert span == Span("f", 7, 8, 0, 9)


@pytest.mark.parametrize(
    ("rows", "row", "where", "message"),
    [
        ([[TYPE], [X, 1]], 1, "", "references to rows before"),
        ([[TYPE], [9]], 1, "", "expected a record"),
        ([[TYPE], [X, 0], [PAIR, 1]], 2, "", "expected more numbers"),
        ([[TYPE], [X, 0], [PAIR, 1, 0]], 2, ".fields[1]", "RelayExpr, not TensorType"),
        ([[TYPE], [X, 0], [X, 1]], 2, ".type_annotation", "Type or None, not Var"),
    ],
)
def test_a_mistake_has_a_place(
    rows: list[list[int]], row: int, where: str, message: str
):
    with pytest.raises(Fault, match=message) as caught:
        read(*rows)
    assert (caught.value.row, caught.value.where) == (row, where)


def test_objects_of_other_classes_are_checked_each_time():
    read([TYPE], [X, 0], [PAIR, 1, 1], [PAIR, 2, 1])
    with pytest.raises(Fault, match="not TensorType"):
        read([TYPE], [X, 0], [PAIR, 1, 1], [PAIR, 2, 0])


def test_what_replaces_objects_of_a_class_is_what_others_refer_to():
    reader, mine = TableReader(), Var("mine")
    reader.substitute(Var, lambda _: mine)
    *_, pair = reader.read(makers(reader), [TYPE, X, 0, PAIR, 1, 1])
    assert pair.fields == (mine, mine)
