from __future__ import annotations

import pytest

from parpass.errors import IRTypeError
from parpass.ir.adt import GlobalTypeVar, TypeCall
from parpass.ir.types import (
    FuncType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeKind,
    TypeVar,
)
from parpass.relay.analysis import check_kind
from tests.support.relay.adts import LIST, LIST_DATA, A, with_lists

INT = TensorType((), "int32")
SHAPE = TypeVar("S", TypeKind.ShapeVar)


@pytest.mark.parametrize(
    ("typ", "kind"),
    [
        (A, TypeKind.Type),
        (SHAPE, TypeKind.ShapeVar),
        (LIST, TypeKind.AdtHandle),
        (LIST(INT), TypeKind.Type),
        (LIST_DATA, TypeKind.TypeData),
        (FuncType((LIST(A),), RelayRefType(TupleType((A, INT))), (A,)), TypeKind.Type),
    ],
)
def test_the_kind_of_what_is_well_made_is_known(typ: Type, kind: TypeKind):
    assert check_kind(typ, with_lists()) is kind


@pytest.mark.parametrize(
    ("typ", "message"),
    [
        (TupleType((SHAPE,)), "got S of kind ShapeVar"),
        (FuncType((INT,), SHAPE), "got S of kind ShapeVar"),
        (RelayRefType(LIST), "got List of kind AdtHandle"),
        (TypeCall(A, (INT,)), "expected the name of a defined type"),
        (LIST(INT, INT), "takes 1 type argument, got 2"),
        (LIST(LIST()), "takes 1 type argument, got 0"),
        (GlobalTypeVar("T")(), "no type named 'T'"),
    ],
)
def test_what_is_not_well_made_is_refused(typ: Type, message: str):
    with pytest.raises(IRTypeError, match=message):
        check_kind(typ, with_lists())


def test_without_a_module_definitions_are_not_asked_for():
    assert check_kind(GlobalTypeVar("T")(INT)) is TypeKind.Type
