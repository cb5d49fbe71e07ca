from __future__ import annotations

import pytest
from hypothesis import given

from parpass.ir.types import Any, FuncType, TensorType, TupleType, Type, TypeVar
from parpass.relay.type_inference.solver import TypeSolver
from tests.support.relay import texts

A, B = TypeVar("A"), TypeVar("B")
F32, I32 = TensorType(()), TensorType((), "int32")
VECTOR, UNKNOWN = TensorType((3,)), TensorType((Any(),))


@given(texts.types((A,)))
def test_an_unknown_becomes_what_it_is_unified_with(typ: Type) -> None:
    solver = TypeSolver()
    first, second, third = (solver.unknown() for _ in range(3))
    solver.unify(first, second)
    solver.unify(second, TupleType((third, typ)))
    solver.unify(typ, third)
    assert solver.resolve(first) == TupleType((typ, typ))
    assert not solver.is_open(first)


@given(texts.types((A,)))
def test_a_type_agrees_with_itself(typ: Type) -> None:
    assert TypeSolver().unify(typ, typ) == typ


def test_parts_of_types_are_learnt_from_each_other() -> None:
    solver = TypeSolver()
    x, y = solver.unknown(), solver.unknown()
    one = FuncType((x, I32), TupleType((F32, y)))
    other = FuncType((F32, y), TupleType((F32, I32)))
    assert solver.unify(one, other) is not None
    found = FuncType((F32, I32), TupleType((F32, I32)))
    assert solver.resolve(one) == solver.resolve(other) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (F32, I32),
        (F32, TensorType((1,))),
        (VECTOR, TensorType((4,))),
        (TupleType((F32,)), TupleType((F32, F32))),
        (TupleType((F32,)), F32),
        (FuncType((F32,), F32), FuncType((), F32)),
        (A, B),
        (A, F32),
    ],
)
def test_types_that_have_nothing_in_common(one: Type, other: Type) -> None:
    assert TypeSolver().unify(one, other) is None
    assert TypeSolver().unify(other, one) is None


def test_unknown_dimensions_stay_unknown() -> None:
    solver = TypeSolver()
    unknown = solver.unknown()
    solver.unify(unknown, VECTOR)
    assert solver.resolve(unknown) == VECTOR
    solver.unify(unknown, UNKNOWN)
    assert solver.resolve(unknown) == UNKNOWN
    assert solver.unify(VECTOR, UNKNOWN) == UNKNOWN


def test_a_type_is_no_part_of_itself() -> None:
    solver = TypeSolver()
    x, y = solver.unknown(), solver.unknown()
    assert solver.unify(x, TupleType((x,))) is None
    assert solver.unify(x, TupleType((y,))) is not None
    assert solver.unify(y, FuncType((x,), F32)) is None
    assert solver.is_open(x)


def test_a_more_general_function_is_used_as_the_other_one_is() -> None:
    solver = TypeSolver()
    same = FuncType((A,), A, (A,))
    assert solver.unify(same, FuncType((F32,), F32)) is not None
    assert solver.unify(FuncType((I32,), F32), same) is None
    assert solver.unify(same, FuncType((B,), B, (B,))) == same


def test_who_watches_is_called_for_each_thing_learnt() -> None:
    solver, called = TypeSolver(), list[Type]()
    x, y = solver.unknown(), solver.unknown()
    solver.watch([x], lambda: called.append(solver.resolve(x)))
    solver.unify(x, y)
    assert called == []
    solver.unify(y, VECTOR)
    solver.unify(x, VECTOR)
    solver.unify(x, UNKNOWN)
    assert called == [VECTOR, UNKNOWN]
