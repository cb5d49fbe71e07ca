from __future__ import annotations

import pytest
from hypothesis import given

from parpass import assert_structural_equal
from parpass.errors import IRTypeError
from parpass.ir.types import (
    Any,
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from parpass.ir.types.type_structure import substitute, type_vars_in
from parpass.relay import TypeFunctor, TypeMutator, TypeVisitor
from tests.support.relay import texts

A, B = TypeVar("A"), TypeVar("B")
F32 = TensorType(())
KINDS = [
    A,
    IncompleteType(),
    TensorType((1, Any())),
    TupleType((F32, A)),
    FuncType((A,), F32, (A,)),
]


@pytest.mark.parametrize("typ", KINDS, ids=lambda typ: type(typ).__name__)
def test_a_functor_must_say_what_to_do_and_the_others_have_defaults(typ: Type) -> None:
    with pytest.raises(NotImplementedError, match="override visit_"):
        TypeFunctor[None]().visit(typ)
    TypeVisitor().visit(typ)
    assert TypeMutator().visit(typ) is typ
    assert_structural_equal(TypeMutator().visit(typ), typ, map_free_vars=True)


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(IRTypeError, match="expected a type, got int"):
        TypeVisitor().visit(3)  # pyright: ignore[reportArgumentType] -- the point


def test_a_visitor_sees_all_parts() -> None:
    seen: list[str] = []

    class Names(TypeVisitor):
        def visit_type_var(self, tv: TypeVar) -> None:
            seen.append(tv.name_hint)

    Names().visit(FuncType((TupleType((A, F32)),), B, (A,)))
    assert seen == ["A", "A", "B"]


def test_a_mutator_rewrites_parts() -> None:
    class Widened(TypeMutator):
        def visit_tensor_type(self, tt: TensorType) -> Type:
            return TensorType((Any(),) * len(tt.shape), tt.dtype)

    before = FuncType((TupleType((TensorType((2,)), A)),), TensorType((3,)))
    unknown = TensorType((Any(),))
    assert Widened().visit(before) == FuncType((TupleType((unknown, A)),), unknown)


def test_a_substitution_leaves_bound_variables_alone() -> None:
    inner = FuncType((A,), B, (A,))
    assert substitute(TupleType((A, inner)), {A: F32}) == TupleType((F32, inner))


def test_a_substitution_captures_nothing() -> None:
    swapped = substitute(FuncType((A,), B, (A,)), {B: A})
    assert type_vars_in(swapped) == [A]
    assert swapped == FuncType((B,), A, (B,))


def test_types_of_functions_are_equal_whatever_their_parameters_are_called() -> None:
    one, other = FuncType((A,), A, (A,)), FuncType((B,), B, (B,))
    assert one == other
    assert hash(one) == hash(other)
    assert_structural_equal(one, other)
    assert one != FuncType((B,), F32, (B,))
    assert one != FuncType((A,), A)
    assert FuncType((one,), F32) == FuncType((other,), F32)
    assert FuncType((A, B), A, (A, B)) == FuncType((B, A), B, (B, A))
    assert FuncType((A, B), A, (A, B)) != FuncType((A, B), B, (A, B))


@given(texts.types((A, B)))
def test_no_type_changes_where_nothing_is_substituted(typ: Type) -> None:
    assert substitute(typ, {}) is typ
    assert substitute(typ, {var: var for var in type_vars_in(typ)}) == typ
