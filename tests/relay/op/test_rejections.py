"""What operators do not accept, and what they say then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parpass.errors import IRTypeError
from parpass.relay import op
from parpass.relay.expr import Expr, TupleWrapper, const
from parpass.relay.op import image, nn
from tests.support.relay.op.calls import bools, floats, ints, related

X, N = floats(2, 3), ints(2, 3, low=0, high=2)
IMAGE = floats(1, 2, 4, 6)

# Types that do not fit.
TYPES: list[tuple[Expr | TupleWrapper, str]] = [
    (op.bitwise_and(X, X), "expected a tensor of integers, got"),
    (op.left_shift(bools(2), bools(2)), "expected a tensor of integers, got"),
    (op.bitwise_not(X), "expected a tensor of integers, got"),
    (op.reinterpret(X, "int8"), "expected elements as wide as those of int8, got"),
    (op.cumsum(X, 2), "expected an axis of 2 dimensions, got 2"),
    (op.topk(X, 4), "expected k up to 3, got 4"),
    (op.searchsorted(X, floats(3, 3)), "expected one sequence, or one for each row"),
    (op.take(X, N, 0, 1), "expected 1 leading dimensions that are equal, before axis"),
    (op.gather(X, 0, ints(2, 4)), "expected indices no longer than the data but along"),
    (op.gather(X, 0, ints(2)), "expected 2 dimensions for the indices, got"),
    (op.gather_nd(X, ints(3, 1)), "expected indices of up to 2 dimensions of"),
    (op.adv_index([X]), "expected a tuple of data and indices, got"),
    (op.scatter_nd(X, ints(1, 2), floats(2)), "expected Tensor[(2, 3), float32] for"),
    (op.scatter_elements(X, ints(1, 2), floats(2, 1)), "expected Tensor[(1, 2), float"),
    (
        op.sparse_to_dense(ints(2, 3), (4, 4), floats(2), 0.0),
        "expected Tensor[(2, 2), int",
    ),
    (op.strided_set(X, X, const(np.zeros(1)), (1,)), "expected a tensor of"),
    (op.searchsorted(const(1.0), floats(3)), "expected one sequence, or one for each"),
    (op.scatter_elements(X, ints(2, 4), floats(2, 4)), "expected indices no longer"),
    (op.gather_nd(X, ints(1, 2), -1), "expected indices of up to 3 dimensions of"),
    (op.gather_nd(X, ints(1), 1), "expected indices of 2 dimensions and more for"),
    (op.gather_nd(X, N, index_rank=1), "expected 1 coordinates, as index_rank says"),
    (
        op.sparse_to_dense(ints(2), (4, 4), floats(2), 0.0),
        "expected Tensor[(2, 2), int32] for the indices",
    ),
    (
        op.sparse_to_dense(const(1), (4, 4), floats(2), 0.0),
        "expected Tensor[(?, 2), int32] for the indices",
    ),
    (
        op.sparse_to_dense(ints(2, 2), (4, 4), floats(3), 0.0),
        "expected Tensor[(2,), float32] for the values",
    ),
    (op.slice_like(X, floats(2), -1), "expected axes of both tensors, got (-1,)"),
    (op.slice_like(X, floats(3)), "expected a length up to 2 along axis 0, got"),
    (op.one_hot(X, 1.0, 0.0, 3), "expected a tensor of integers for the indices, got"),
    (op.reverse_sequence(X, ints(3)), "expected Tensor[(2,), int32] for the lengths"),
    (op.reverse_sequence(X, ints(2), 0, -2), "expected different axes, got (-2, 0)"),
    (op.sequence_mask(floats(3), ints(3)), "expected two dimensions or more, got"),
    (op.trilu(floats(3)), "expected two dimensions or more, got"),
    (op.matrix_set_diag(X, floats(2), 3), "expected diagonals between -1 and 2, got"),
    (
        op.matrix_set_diag(X, floats(2), (0, 1)),
        "expected Tensor[(2, 2), float32] for the diagonals",
    ),
    (op.einsum([X, X], "ij,jk->ik"), "expected length 3 for 'j', got 2 in"),
    (op.einsum([X], "i->i"), "expected dimensions 'i', got"),
    (op.meshgrid([X]), "expected a vector for field 1, got"),
    (op.reshape(X, (-3, 0)), "expected newshape to read at most 2 dimensions of"),
    (op.reshape(X, (0, -4, 2, 2)), "expected two factors of 3 behind -4, got"),
    (op.reshape_like(X, floats(7)), "expected (7,) to have as many elements as (2, 3)"),
    (
        op.reshape_like(floats(2, 1, 3), floats(1), 2, 1),
        "expected lhs_begin up to lhs_end, got 2 and 1",
    ),
    (
        op.layout_transform(IMAGE, "NCHW", "NCHW4c"),
        "expected a length of axis C that 4",
    ),
    (
        nn.conv1d(floats(1, 2, 2), floats(1, 2, 3)),
        "expected a window of at most 2 (the",
    ),
    (nn.conv3d(IMAGE, IMAGE), "expected a shape of layout NCDHW, got (1, 2, 4, 6)"),
    (nn.conv2d_transpose(IMAGE, floats(3, 1, 2, 2)), "expected a weight of 2 input"),
    (
        nn.conv2d_transpose(IMAGE, bools(2, 1, 2, 2), out_dtype="float32"),
        "expected a tensor of numbers, got",
    ),
    (
        nn.conv2d_transpose(IMAGE, floats(2, 1, 1, 1), padding=2),
        "expected padding below",
    ),
    (nn.adaptive_avg_pool1d(IMAGE, 1), "expected a shape of layout NCW, got"),
    (nn.matmul(X, floats(3, 2), 5), "expected Tensor[(3, 5), float32] for tensor_b"),
    (nn.matmul(X, floats(2, 3)), "expected Tensor[(3, 3), float32] for tensor_b, got"),
    (
        nn.group_norm(X, floats(3), floats(3), 2),
        "expected channels that 2 groups divide",
    ),
    (
        nn.nll_loss(X, ints(3), floats(3)),
        "expected Tensor[(2,), int32] for the targets",
    ),
    (nn.cross_entropy(X, floats(2, 4)), "expected Tensor[(2, 3), float32] for the"),
    (nn.depth_to_space(IMAGE, 2), "expected a length that 4 divides, got 2"),
    (
        nn.space_to_batch_nd(X, (2,), ((0, 0),)),
        "expected a length that 2 divides, got 3",
    ),
    (
        nn.batch_to_space_nd(X, (2, 2), ((0, 0),) * 2),
        "expected a batch and 2 dimensions",
    ),
    (nn.mirror_pad(X, ((0, 0),)), "expected a pad_width for 1 dimensions, got"),
    (image.resize2d(X, 3), "expected a shape of layout NCHW, got (2, 3)"),
]


@pytest.mark.parametrize(("built", "words"), TYPES)
def test_types_that_do_not_fit_are_rejected(
    built: Expr | TupleWrapper, words: str
) -> None:
    with pytest.raises(op.TypeRelationError) as caught:
        related(built)
    assert str(caught.value).startswith(words)


BAD: Any = "3"

# Attributes of the wrong kind, or out of range.
ATTRIBUTES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: op.concatenate([X, X], BAD),
        "'concatenate': expected int for axis, got '3'",
    ),
    (lambda: op.sum(X, keepdims=BAD), "'sum': expected bool for keepdims, got '3'"),
    (lambda: op.nn.prelu(X, X, BAD), "'nn.prelu': expected int for axis, got"),
    (lambda: op.cumsum(X, BAD), "'cumsum': expected int | None for axis, got '3'"),
    (lambda: op.topk(X, k=BAD), "'topk': expected int for k, got '3'"),
    (
        lambda: op.topk(X, ret_type="one"),
        "expected 'both' or 'values' or 'indices' for",
    ),
    (lambda: op.one_hot(N, 1, 0, BAD), "'one_hot': expected int for depth, got '3'"),
    (lambda: op.sequence_mask(X, N, axis=2), "expected 0 or 1 for axis, got 2"),
    (lambda: op.einsum([X], "i->j"), "expected an equation such as 'ij,jk->ik', got"),
    (lambda: op.reshape(X, (-4, 2)), "expected two factors behind each -4, got"),
    (lambda: op.reshape(X, (-5,)), "expected ints from -4 on and one -1 at most, got"),
    (
        lambda: op.matrix_set_diag(X, X, (1, 2, 3)),
        "expected one or two ints for k, got",
    ),
    (
        lambda: op.layout_transform(X, "NC", "NW"),
        "expected layouts of the same axes, got",
    ),
    (
        lambda: nn.conv3d(X, X, strides=(1, 2)),
        "expected one or three ints of at least 1",
    ),
    (
        lambda: nn.conv1d(X, X, groups=0),
        "expected one int of at least 1 for groups, got",
    ),
    (
        lambda: nn.batch_to_space_nd(X, 2, ()),
        "expected blocks from 1 on and a pair for",
    ),
    (lambda: nn.pad(X, ((0,), (1,))), "expected pairs of ints, got (0,)"),
    (
        lambda: nn.depth_to_space(X, 2, mode="RDC"),
        "expected 'DCR' or 'CRD' for mode, got",
    ),
    (
        lambda: image.resize2d(X, 2, roi=(0, 1)),
        "expected 4 numbers for roi, got (0.0, 1.0)",
    ),
    (
        lambda: image.resize2d(X, 2, method="area"),
        "expected 'nearest_neighbor' or 'linear",
    ),
]


@pytest.mark.parametrize(("build", "words"), ATTRIBUTES)
def test_attributes_of_the_wrong_kind_are_rejected(
    build: Callable[[], Any], words: str
) -> None:
    with pytest.raises(IRTypeError) as caught:
        build()
    assert str(caught.value).startswith(words)


def test_numbers_of_numpy_and_flags_of_tvm_are_stored_as_pythons() -> None:
    call = op.argmax(X, np.int64(1), keepdims=1)  # pyright: ignore[reportArgumentType]
    assert call.attrs == op.argmax(X, 1, keepdims=True).attrs
    assert type(call.attrs.keepdims) is bool
    assert type(nn.leaky_relu(X, np.float32(0.5)).attrs.alpha) is float  # pyright: ignore[reportArgumentType]
