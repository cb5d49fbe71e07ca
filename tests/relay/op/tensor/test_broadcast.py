from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay import op
from parpass.relay.expr import Call, const
from tests.support.profiles import examples
from tests.support.relay.op.calls import (
    Array,
    array,
    bools,
    floats,
    ints,
    related,
    type_of,
    value,
)

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "trunc_divide": lambda x, y: np.trunc(np.divide(x, y)),
    "mod": lambda x, y: x - y * np.trunc(x / y),
    "trunc_mod": lambda x, y: x - y * np.trunc(x / y),
    "floor_mod": lambda x, y: x - y * np.floor(x / y),
    "maximum": lambda x, y: np.where(x < y, y, x),
    "minimum": lambda x, y: np.where(x < y, x, y),
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}

INTEGERS: dict[str, Callable[[int, int], int]] = {
    "divide": lambda x, y: int(x / y),
    "trunc_divide": lambda x, y: int(x / y),
    "floor_divide": lambda x, y: x // y,
    "mod": lambda x, y: x - y * int(x / y),
    "trunc_mod": lambda x, y: x - y * int(x / y),
    "floor_mod": operator.mod,
}


def build(name: str, *args: Any) -> Call:
    return getattr(op, name)(*args)


@pytest.mark.parametrize("name", BINARY)
def test_a_binary_operator_is_that_of_python_on_floats(name: str) -> None:
    lhs, rhs = floats(5, 1, 4), floats(3, 1, seed=1)
    found = value(build(name, lhs, rhs))
    wanted = BINARY[name](array(lhs), array(rhs))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_division_and_remainder_hold_for_every_sign(name: str) -> None:
    lhs = np.arange(-7, 8, dtype="int32").reshape(-1, 1)
    rhs = np.array([-3, -2, -1, 1, 2, 3], "int32")
    found = value(build(name, const(lhs), const(rhs)))
    wanted = [[INTEGERS[name](x, y) for y in rhs.tolist()] for (x,) in lhs.tolist()]
    assert found.dtype == "int32"
    assert found.tolist() == wanted


def test_power_is_that_of_python() -> None:
    found = value(op.power(const(np.array([2.0, 3.0, 9.0])), const(np.array(0.5))))
    np.testing.assert_allclose(found, [2**0.5, 3**0.5, 3.0])


def test_division_by_zero_gives_inf() -> None:
    assert value(op.divide(const(1.0), const(0.0))) == np.inf


def test_logical_operators_follow_their_truth_tables() -> None:
    lhs, rhs = const(np.array([[False], [True]])), const(np.array([False, True]))
    assert value(op.logical_and(lhs, rhs)).tolist() == [[False, False], [False, True]]
    assert value(op.logical_or(lhs, rhs)).tolist() == [[False, True], [True, True]]
    assert value(op.logical_xor(lhs, rhs)).tolist() == [[False, True], [True, False]]


def test_where_picks_by_the_condition() -> None:
    condition = const(np.array([[True], [False]]))
    found = value(op.where(condition, const(np.array([1, 2])), const(np.array(9))))
    assert found.tolist() == [[1, 2], [9, 9]]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_where_takes_what_is_not_0_for_true_as_tvm_does(dtype: str) -> None:
    condition = const(np.array([0, 1, 2], dtype))
    found = value(op.where(condition, const(np.array([5, 6, 7])), const(np.array(9))))
    assert found.tolist() == [9, 6, 7]


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=4))
@examples(2)
def test_types_broadcast_as_arrays_do(shapes: hnp.BroadcastableShapes) -> None:
    condition, x, y = (np.zeros(shape) for shape in shapes.input_shapes)
    pair = op.add(const(x), const(y))
    assert related(pair) == type_of(value(pair))
    choice = op.where(const(condition.astype(bool)), const(x), const(y))
    assert related(choice) == TensorType(shapes.result_shape, "float64")


@given(*[hnp.array_shapes(min_dims=0, max_dims=3, max_side=3)] * 2)
@examples(2)
def test_types_broadcast_only_where_arrays_do(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    types = [TensorType(one), TensorType(other)]
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        with pytest.raises(op.TypeRelationError, match="shapes that broadcast"):
            op.Op.get("add").relation(types, None)
    else:
        op.Op.get("add").relation(types, None)


@given(st.data())
def test_an_unknown_dimension_broadcasts_with_every_other(data: st.DataObject) -> None:
    dim = data.draw(st.integers(1, 5))
    types = [TensorType((UnknownDim(), 2)), TensorType((dim, 1))]
    found = op.Op.get("add").relation(types, None)
    assert found == TensorType((UnknownDim() if dim == 1 else dim, 2))


FLOATS, INTS, BOOLS = (
    TensorType((2,), dtype) for dtype in ("float32", "int32", "bool")
)

REJECTED: list[tuple[str, list[Type], str]] = [
    (
        "add",
        [TensorType((2, 3)), TensorType((4, 1, 2))],
        "expected shapes that broadcast, got (2, 3) and (4, 1, 2)",
    ),
    (
        "add",
        [TensorType((2,)), TensorType((3,))],
        "expected shapes that broadcast, got (2,) and (3,)",
    ),
    (
        "add",
        [FLOATS, INTS],
        "expected the dtype of argument 1, float32, for argument 2, got int32",
    ),
    (
        "add",
        [FLOATS, TupleType((FLOATS,))],
        "expected a tensor for argument 2, got (Tensor[(2,), float32],)",
    ),
    ("add", [BOOLS, BOOLS], "expected a tensor of numbers, got Tensor[(2,), bool]"),
    (
        "logical_and",
        [INTS, INTS],
        "expected a tensor of bool, got Tensor[(2,), int32]",
    ),
    (
        "where",
        [BOOLS, FLOATS, INTS],
        "expected the dtype of argument 1, float32, for argument 2, got int32",
    ),
]


@pytest.mark.parametrize(("name", "types", "words"), REJECTED)
def test_what_does_not_go_together_is_rejected(
    name: str, types: list[Type], words: str
) -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        op.Op.get(name).relation(types, None)
    assert str(caught.value) == words


def test_operands_may_be_python_numbers_but_not_other_things() -> None:
    assert value(op.add(const(1), 2)) == 3
    with pytest.raises(TypeError, match="expected a Relay expression or a number, got"):
        op.add(bools(1), "2")  # pyright: ignore[reportArgumentType]


def test_python_operators_compute_too() -> None:
    found = value((ints(3) - 1) * 2)
    assert found.tolist() == ((array(ints(3)) - 1) * 2).tolist()
