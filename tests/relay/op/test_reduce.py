from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, const
from tests.support.relay.op.calls import array, bools, floats, ints, related, value

REDUCE: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "variance": np.var,
    "std": np.std,
}


def build(name: str, *args: Any, **attrs: Any) -> Call:
    return getattr(op, name)(*args, **attrs)


@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_is_numpys(name: str, axis: Any, keepdims: bool) -> None:
    data = floats(2, 3, 4)
    found = value(build(name, data, axis, keepdims))
    wanted = REDUCE[name](array(data), axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert found.dtype == "float32"


def test_exclude_reduces_the_other_axes() -> None:
    data = floats(2, 3, 4)
    found = value(op.sum(data, 1, exclude=True))
    np.testing.assert_allclose(found, array(data).sum(axis=(0, 2)), rtol=1e-5)


def test_excluding_no_axis_reduces_nothing() -> None:
    data = floats(2, 3)
    np.testing.assert_array_equal(value(op.sum(data, exclude=True)), array(data))


def test_integers_stay_what_they_are() -> None:
    data = ints(20)
    assert value(op.sum(data)).dtype == "int32"
    assert value(op.mean(const(np.array([1, 2], "int32")))) == 1


def test_all_and_any_are_numpys() -> None:
    data = bools(4, 5)
    np.testing.assert_array_equal(value(op.all(data, 1)), array(data).all(axis=1))
    np.testing.assert_array_equal(value(op.any(data, 1)), array(data).any(axis=1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_argmax_and_argmin_are_numpys(name: str, axis: int | None) -> None:
    data = floats(3, 4, 5)
    found = value(build(name, data, axis))
    np.testing.assert_array_equal(found, getattr(np, name)(array(data), axis=axis))
    assert found.dtype == "int32"


def test_argmax_of_several_axes_counts_through_them() -> None:
    data = floats(3, 4, 5)
    rows = array(data).transpose(1, 0, 2).reshape(4, 15)
    found = value(op.argmax(data, (0, 2), keepdims=True))
    assert found.shape == (1, 4, 1)
    np.testing.assert_array_equal(found.reshape(4), rows.argmax(axis=1))


def test_argmax_tells_the_first_or_the_last_of_equal_elements() -> None:
    data = const(np.array([1, 7, 3, 7, 2], "int32"))
    assert value(op.argmax(data)) == 1
    assert value(op.argmax(data, select_last_index=True)) == 3


def test_variance_can_be_unbiased_and_around_a_given_mean() -> None:
    data = floats(3, 8, dtype="float64")
    values = array(data)
    unbiased = value(op.variance(data, 1, unbiased=True))
    np.testing.assert_allclose(unbiased, values.var(axis=1, ddof=1))
    around = value(op.variance(data, 1, with_mean=const(np.array(2.0))))
    np.testing.assert_allclose(around, np.square(values - 2).mean(axis=1))


def test_unknown_dimensions_stay_or_are_reduced() -> None:
    types = [TensorType((UnknownDim(), 3))]
    relation = op.Op.get("sum").relation
    kept = op.sum(floats(2, 3), 1).attrs
    reduced = op.sum(floats(2, 3), 0).attrs
    assert relation(types, kept) == TensorType((UnknownDim(),))
    assert relation(types, reduced) == TensorType((3,))


@pytest.mark.parametrize(
    ("reduce", "of_both", "of_none"), [(op.max, True, False), (op.min, False, True)]
)
def test_the_larger_of_two_bools_is_true(
    reduce: Callable[[Any], Call], of_both: bool, of_none: bool
) -> None:
    for given, found in (([True, False], of_both), ([], of_none)):
        call = reduce(const(np.array(given, "bool")))
        assert related(call) == TensorType((), "bool")
        np.testing.assert_array_equal(value(call), np.array(found), strict=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (op.sum(floats(2, 3), 2), "expected an axis of 2 dimensions, got 2"),
        (op.sum(floats(2, 3), (0, -2)), "expected different axes, got (0, -2)"),
        (op.sum(bools(2)), "expected a tensor of numbers, got Tensor[(2,), bool]"),
        (op.argmax(bools(2)), "expected a tensor of numbers, got Tensor[(2,), bool]"),
        (op.all(ints(2)), "expected a tensor of bool, got Tensor[(2,), int32]"),
        (op.variance(ints(2)), "expected a tensor of floats, got Tensor[(2,), int32]"),
        (
            op.variance(floats(2, 1), 1, with_mean=floats(2, 3)),
            "expected a shape that broadcasts to (2, 1), got Tensor[(2, 3), float32]",
        ),
        (
            op.variance(floats(2), 0, with_mean=floats(1, 2)),
            "expected a shape that broadcasts to (2,), got Tensor[(1, 2), float32]",
        ),
    ],
)
def test_what_cannot_be_reduced_is_rejected(call: Call, words: str) -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words
