from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass.errors import IRTypeError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.expr import Call, Tuple, TupleWrapper
from tests.support.profiles import examples
from tests.support.relay.op.calls import array, floats, ints, related, type_of, value

UNKNOWN = UnknownDim()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_joins_along_an_axis(axis: int) -> None:
    parts = [floats(2, 3, seed=n) for n in range(3)]
    wanted = np.concatenate([array(part) for part in parts], axis)
    np.testing.assert_array_equal(value(op.concatenate(parts, axis)), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack_joins_along_a_new_axis(axis: int) -> None:
    parts = [floats(2, 3, seed=n) for n in range(3)]
    found = value(op.stack(parts, axis))
    np.testing.assert_array_equal(found, np.stack([array(p) for p in parts], axis))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(-2, 1))
@examples(2)
def test_concatenate_undoes_split(sections: int, length: int, axis: int) -> None:
    shape = [3, 3]
    shape[axis] = sections * length
    data = floats(*shape)
    parts = op.split(data, sections, axis)
    assert len(parts) == sections
    assert related(parts) == type_of(value(parts))
    np.testing.assert_array_equal(value(op.concatenate(parts, axis)), array(data))


def test_split_at_indices_gives_the_parts_between_them() -> None:
    first, second, third = op.split(ints(7), (2, 2))
    assert value(first).tolist() == array(ints(7)).tolist()[:2]
    assert value(second).tolist() == []
    assert value(third).tolist() == array(ints(7)).tolist()[2:]


def test_one_argument_is_the_tuple() -> None:
    call = op.concatenate([floats(1), floats(1)], 0)
    assert len(call.args) == 1
    assert isinstance(call.args[0], Tuple)


def test_what_unpacks_in_python_is_a_tuple_of_its_fields() -> None:
    (fields,) = op.concatenate(op.split(floats(4), 2), 0).args
    assert isinstance(fields, Tuple)
    assert len(fields) == 2


def test_a_tuple_expression_is_taken_as_it_is() -> None:
    fields = Tuple((floats(1), floats(1)))
    assert op.stack(fields, 0).args == (fields,)


def shaped(*shapes: Any) -> list[Type]:
    return [TupleType(tuple(TensorType(shape) for shape in shapes))]


def test_unknown_dimensions_are_filled_in_by_other_parts() -> None:
    joined = op.concatenate([floats(1)], 0).attrs
    relation = op.Op.get("concatenate").relation
    assert relation(shaped((2, UNKNOWN), (2, 3)), joined) == TensorType((4, 3))
    assert relation(shaped((UNKNOWN, 3), (2, 3)), joined) == TensorType((UNKNOWN, 3))
    stacked = op.stack([floats(1)], 0).attrs
    relation = op.Op.get("stack").relation
    assert relation(shaped((UNKNOWN,), (3,)), stacked) == TensorType((2, 3))


def test_an_unknown_length_splits_into_unknown_ones() -> None:
    attrs = op.split(floats(2, 2), (1,), 0).astuple()
    assert isinstance(attrs, Call)
    found = op.Op.get("split").relation([TensorType((UNKNOWN, 2))], attrs.attrs)
    assert found == TupleType((TensorType((UNKNOWN, 2)),) * 2)


REJECTED: list[tuple[Call | TupleWrapper, str]] = [
    (
        op.concatenate([floats(2, 3), floats(3, 2)], 0),
        "expected Tensor[(3, 3), float32] for field 2, got Tensor[(3, 2), float32]",
    ),
    (
        op.concatenate([floats(2), floats(2, 2)], 0),
        "expected 1 dimensions for field 2, got Tensor[(2, 2), float32]",
    ),
    (
        op.concatenate([floats(2), ints(2)], 0),
        "expected the dtype of argument 1, float32, for argument 2, got int32",
    ),
    (op.concatenate([floats(2)], 1), "expected an axis of 1 dimensions, got 1"),
    (
        op.concatenate(floats(2), 0),
        "expected a tuple of tensors, got Tensor[(2,), float32]",
    ),
    (
        op.stack([floats(2), floats(3)], 0),
        "expected Tensor[(2,), float32] for field 2, got Tensor[(3,), float32]",
    ),
    (op.split(floats(7), 2), "expected a length that 2 divides to split, got 7"),
    (
        op.split(floats(7), (3, 2)),
        "expected ascending indices up to 7 to split at, got (3, 2)",
    ),
]


@pytest.mark.parametrize(("call", "words"), REJECTED)
def test_what_does_not_fit_is_rejected(call: Call | TupleWrapper, words: str) -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words


def test_nothing_cannot_be_joined_nor_split_into_nothing() -> None:
    with pytest.raises(IRTypeError, match=r"^expected one tensor or more to join"):
        op.concatenate([], 0)
    with pytest.raises(IRTypeError, match=r"^expected one part or more .* got 0$"):
        op.split(floats(2), 0)
