from __future__ import annotations

import numpy as np
import pytest

from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.expr import Call, const
from parpass.relay.op import Op, TypeRelationError, nn
from tests.support.relay.op.calls import array, floats, ints, related, type_of, value

ROW = const(np.full((1, 1), 200, "uint8"))
SIGNED = const(np.full((1, 1), -100, "int8"))
BATCH = const(np.full((1, 1, 1), 200, "uint8"))
SIGNED_BATCH = const(np.full((1, 1, 1), -100, "int8"))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
def test_dense_multiplies_by_the_transposed_weight(shape: tuple[int, ...]) -> None:
    data, weight = floats(*shape), floats(5, 3, seed=1)
    found = value(nn.dense(data, weight))
    wanted = np.einsum("...k,uk->...u", array(data), array(weight))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert found.dtype == "float32"


def test_a_uniform_weight_multiplies_like_any_other() -> None:
    data = floats(2, 3)
    uniform = op.full(0.5, (4, 3))
    found = value(nn.dense(data, uniform))
    wanted = np.repeat(array(data).sum(axis=1, keepdims=True) / 2, 4, axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_batch_matmul_multiplies_matrix_by_matrix(
    transpose_a: bool, transpose_b: bool
) -> None:
    a, b = floats(2, 3, 4), floats(2, 4, 5, seed=1)
    wanted = np.einsum("bik,bkj->bij", array(a), array(b))
    call = nn.batch_matmul(
        op.transpose(a, (0, 2, 1)) if transpose_a else a,
        op.transpose(b, (0, 2, 1)) if transpose_b else b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
    )
    np.testing.assert_allclose(value(call), wanted, rtol=1e-5, atol=1e-6)


def test_the_second_operand_of_batch_matmul_is_transposed_by_default() -> None:
    assert value(nn.batch_matmul(floats(1, 2, 3), floats(1, 4, 3))).shape == (1, 2, 4)


def test_products_may_have_another_dtype() -> None:
    many = const(np.full((1, 1), 100, "int8"))
    assert value(nn.dense(many, many, out_dtype="int32")).item() == 10_000


@pytest.mark.parametrize(
    "product",
    [
        nn.dense(ROW, SIGNED, out_dtype="int32"),
        nn.matmul(ROW, SIGNED, out_dtype="int32"),
        nn.batch_matmul(BATCH, SIGNED_BATCH, "int32"),
    ],
)
def test_factors_may_differ_in_dtype_where_the_products_is_stated(
    product: Call,
) -> None:
    assert related(product) == type_of(value(product))
    assert value(product).dtype == "int32"
    assert value(product).item() == -20_000


@pytest.mark.parametrize(("axis", "length"), [(1, 3), (-1, 4), (0, 2)])
def test_bias_add_adds_along_its_axis(axis: int, length: int) -> None:
    data, bias = floats(2, 3, 4), floats(length, seed=1)
    found = value(nn.bias_add(data, bias, axis))
    moved = np.moveaxis(array(data), axis, -1) + array(bias)
    np.testing.assert_array_equal(found, np.moveaxis(moved, -1, axis))


def test_batch_flatten_keeps_the_first_dimension() -> None:
    data = floats(2, 3, 4)
    np.testing.assert_array_equal(
        value(nn.batch_flatten(data)), array(data).reshape(2, 12)
    )
    assert value(nn.batch_flatten(floats(3))).shape == (3, 1)


def test_unknown_dimensions_pass_through() -> None:
    unknown = UnknownDim()
    dense = nn.dense(floats(), floats()).attrs
    types = [TensorType((unknown, 3)), TensorType((5, unknown))]
    assert Op.get("nn.dense").relation(types, dense) == TensorType((unknown, 5))
    flatten = Op.get("nn.batch_flatten").relation
    assert flatten([TensorType((unknown, 3, 4))], None) == TensorType((unknown, 12))
    assert flatten([TensorType((2, unknown))], None) == TensorType((2, unknown))


REJECTED: list[tuple[Call, str]] = [
    (
        nn.dense(floats(2, 3), floats(4, 5)),
        "expected Tensor[(4, 3), float32] for the weight, got Tensor[(4, 5), float32]",
    ),
    (
        nn.dense(floats(2, 3), floats(4, 3), units=5),
        "expected Tensor[(5, 3), float32] for the weight, got Tensor[(4, 3), float32]",
    ),
    (
        nn.dense(floats(2, 3), ints(4, 3)),
        "expected the dtype of argument 1, float32, for argument 2, got int32",
    ),
    (
        nn.dense(const(1.0), floats(4, 3)),
        "expected one dimension or more for the data, got float32",
    ),
    (
        nn.batch_matmul(floats(1, 2, 3), floats(1, 2, 4)),
        "expected inner dimensions that are equal, got 3 and 4",
    ),
    (
        nn.batch_matmul(floats(2, 3), floats(1, 2, 3)),
        "expected 3 dimensions for tensor_a, got Tensor[(2, 3), float32]",
    ),
    (
        nn.batch_matmul(floats(2, 2, 3), floats(3, 2, 3)),
        "expected shapes that broadcast, got (2,) and (3,)",
    ),
    (
        nn.bias_add(floats(2, 3), floats(2)),
        "expected Tensor[(3,), float32] for the bias, got Tensor[(2,), float32]",
    ),
    (
        nn.bias_add(floats(2, 3), floats(3), 2),
        "expected an axis of 2 dimensions, got 2",
    ),
    (nn.batch_flatten(const(1.0)), "expected one dimension or more, got float32"),
]


@pytest.mark.parametrize(("call", "words"), REJECTED)
def test_what_does_not_fit_is_rejected(call: Call, words: str) -> None:
    with pytest.raises(TypeRelationError) as caught:
        related(call)
    assert str(caught.value) == words
