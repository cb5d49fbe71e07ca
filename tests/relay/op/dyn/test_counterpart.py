"""Operators that are told at run time mean what their static counterparts mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parpass.errors import EvaluationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Expr, TupleWrapper, const
from parpass.relay.op import Op, TypeRelationError, dyn
from parpass.relay.op.dyn.counterpart import COUNTERPARTS
from tests.support.relay.op.calls import array, bools, floats, related, value

X = floats(2, 3, 4)
B = bools(2, 3)
x, b = array(X), array(B)
IMAGES = floats(1, 3, 4, 2)
images = array(IMAGES)


def vector(*values: int) -> Expr:
    return const(np.array(values, "int64"))


def scalar(number: int) -> Expr:
    return const(np.array(number))


MEANINGS: list[tuple[Expr | TupleWrapper, Any]] = [
    (dyn.sum(X, vector(0, -1)), x.sum(axis=(0, 2))),
    (dyn.mean(X, vector(1), True), x.mean(axis=1, keepdims=True)),
    (dyn.max(X, vector()), x),
    (dyn.min(X, vector(0, 1, 2)), x.min()),
    (dyn.prod(X, vector(2)), x.prod(axis=2)),
    (dyn.all(B, vector(0)), b.all(axis=0)),
    (dyn.any(B, vector(1), True), b.any(axis=1, keepdims=True)),
    (dyn.reshape(X, vector(0, -1)), x.reshape(2, 12)),
    (dyn.reshape(X, vector(-3, 0)), x.reshape(6, 4)),
    (dyn.squeeze(floats(1, 3, 1), vector(-1)), array(floats(1, 3, 1))[..., 0]),
    (dyn.expand_dims(X, scalar(-1), 2), x[..., None, None]),
    (dyn.broadcast_to(floats(3, 1), vector(2, 3, 4)),
     np.broadcast_to(array(floats(3, 1)), (2, 3, 4))),
    (dyn.tile(X, vector(2, 1)), np.tile(x, (2, 1))),
    (dyn.full(7, vector(2, 3), "int8"), np.full((2, 3), 7, "int8")),
    (dyn.one_hot(const(np.array([1, -1])), 1, 0, scalar(2), dtype="int32"),
     np.array([[0, 1], [0, 0]], "int32")),
    (dyn.topk(X, scalar(2), 1, "values"), -np.sort(-x, axis=1)[:, :2]),
    (dyn.strided_slice(X, vector(1, -1), vector(2, -4), vector(1, -2)),
     x[1:2, -1:-4:-2]),
    (dyn.nn.pad(X, const(np.array([[0, 1], [0, 0], [2, 0]])), 7.0),
     np.pad(x, ((0, 1), (0, 0), (2, 0)), constant_values=7)),
    (op.nn.upsampling(IMAGES, 1.0, const(3), "NHWC"), images.repeat(3, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("built", "wanted"), MEANINGS, ids=lambda one: None)
def test_the_meaning_is_numpys(built: Expr | TupleWrapper, wanted: Any) -> None:
    found = value(built)
    assert found.dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_each_has_a_counterpart_of_its_name() -> None:
    told = {name for name in Op.list_op_names() if name.startswith("dyn.")}
    assert told == set(COUNTERPARTS)
    assert {name.removeprefix("dyn.") for name in told} <= set(Op.list_op_names())


UNKNOWN = UnknownDim()


def test_what_is_known_of_the_type_is_kept() -> None:
    mixed = floats(2, 1, 4)
    for built, dims in [
        (dyn.sum(mixed, vector(0), True), (UNKNOWN, 1, UNKNOWN)),
        (dyn.sum(mixed, vector(0, 1, 2), True), (1, 1, 1)),
        (dyn.sum(mixed, vector(0, 1)), (UNKNOWN,)),
        (dyn.strided_slice(X, vector(1), vector(1), vector(1)), (UNKNOWN, 3, 4)),
        (dyn.topk(X, scalar(1), 0, "values"), (UNKNOWN, 3, 4)),
        (dyn.squeeze(X, vector(0)), (UNKNOWN, UNKNOWN)),
    ]:
        assert related(built) == TensorType(dims, "float32")


@pytest.mark.parametrize(
    ("built", "message"),
    [
        (dyn.reshape(X, vector(5, 5)), "expected a newshape of 24 elements"),
        (dyn.reshape(X, vector(-2)), "expected no -2 or -4, which change the rank"),
        (dyn.sum(X, vector(3)), "expected an axis of 3 dimensions, got 3"),
        (dyn.sum(X, vector(0, 0)), "expected different axes"),
        (dyn.squeeze(X, vector(0)), "expected length 1 at the axes"),
        (dyn.broadcast_to(X, vector(9, 4)), "expected a shape that broadcasts"),
        (dyn.topk(X, scalar(9)), "expected k up to 4, got 9"),
        (dyn.strided_slice(X, vector(0), vector(1), vector(0)), "strides other than 0"),
        (
            dyn.nn.pad(floats(1), const(np.array([[0, -1]])), 0, "edge"),
            "pairs of ints from 0 on",
        ),
        (dyn.tile(X, vector(0)), "expected repetitions of 1 or more"),
    ],
)
def test_what_the_counterpart_refuses_is_refused_when_it_runs(
    built: Expr, message: str
) -> None:
    related(built)
    with pytest.raises(EvaluationError, match=message):
        value(built)


@pytest.mark.parametrize(
    ("built", "message"),
    [
        (dyn.sum(X, floats(1)), "expected a tensor of integers for the axes"),
        (dyn.sum(X, scalar(1)), "expected 1 dimensions for the axes"),
        (dyn.sum(X, vector(0, 1, 2, 0)), "expected up to 3 axes"),
        (dyn.sum(B, vector(0)), "expected a tensor of numbers"),
        (dyn.all(X, vector(0)), "expected a tensor of bool"),
        (dyn.squeeze(floats(1), vector(0, 0)), "expected up to 1 axes"),
        (
            dyn.strided_slice(X, vector(0), vector(1, 1, 1, 1), vector(1)),
            "of up to 3 axes",
        ),
        (dyn.topk(X, floats()), "expected a tensor of integers for k"),
    ],
)
def test_arguments_of_other_types_are_refused(built: Expr, message: str) -> None:
    with pytest.raises(TypeRelationError, match=message):
        related(built)


def test_a_rank_that_depends_on_data_is_refused() -> None:
    types = [TensorType((2, 3)), TensorType((UNKNOWN,), "int64")]
    with pytest.raises(TypeRelationError, match="expected a known length for the axes"):
        Op.get("dyn.sum").relation(types, dyn.sum(X, vector()).attrs)


def test_the_largest_of_nothing_is_the_least_number_there_is() -> None:
    nothing = floats(2, 0)
    assert value(op.max(nothing, 1)).tolist() == [-np.inf] * 2
    assert value(op.min(nothing, 1)).tolist() == [np.inf] * 2
    whole = const(np.zeros((0,), "int8"))
    assert (value(op.max(whole)), value(op.min(whole))) == (-128, 127)
