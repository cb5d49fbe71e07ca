"""Every operator has a meaning that somebody else wrote down: ONNX, or numpy."""

from __future__ import annotations

from math import erf
from typing import Any, cast

import numpy as np
import pytest

from parpass.relay import op
from parpass.relay.expr import Expr, TupleWrapper, const
from parpass.relay.op import dyn, image, nn
from tests.relay.op.onnx_oracles import ORACLES
from tests.support.onnx.cases import cases, operators_of, run
from tests.support.relay.op.calls import array, bools, floats, ints, name_of, value
from tests.support.relay.op.operators import ROWS

X, Y, N, B = floats(2, 3), floats(2, 3, seed=1), ints(2, 3), bools(2, 3)
P = const(np.abs(array(X)) + 1)
x, y, n, b, p = map(array, (X, Y, N, B, P))
SIGNAL, IMAGE, VOLUME = floats(1, 2, 6), floats(1, 2, 4, 6), floats(1, 2, 4, 2, 6)
signal, picture, volume = map(array, (SIGNAL, IMAGE, VOLUME))
C4, K4 = floats(1, 4, 5, 5), floats(6, 4, 3, 3)
D4 = floats(4, 1, 3, 3)
ONES = const(np.ones(3, "float32"))
GROUPS = floats(2, 4, 5)
grouped = array(GROUPS).reshape(2, 2, 10)


def blocks(data: Any, count: int) -> Any:
    """Return an array whose second axis is split into blocks, which come last."""
    split = data.reshape(data.shape[0], -1, count, *data.shape[2:])
    return np.moveaxis(split, 2, -1)


def normal(data: Any, axis: int) -> Any:
    """Return data without mean and of variance 1 along an axis."""
    spread = data.var(axis=axis, keepdims=True) + 1e-5
    return (data - data.mean(axis=axis, keepdims=True)) / np.sqrt(spread)


def softmax(data: Any) -> Any:
    """Return powers of e that sum to 1 along the last axis."""
    return np.exp(data) / np.exp(data).sum(axis=-1, keepdims=True)


DIAGONAL = array(floats(2))
with_diagonal = x.copy()
with_diagonal[[0, 1], [0, 1]] = DIAGONAL
with_range = x.copy()
with_range[0:2, 1:3] = y[:, :2]
dense_of = np.zeros((2, 3), "float32")
dense_of[[0, 1], [2, 1]] = [5, 6]
SEQUENCES = np.where(np.arange(2)[:, None] < np.array([2, 0, 1]), x, -1)
NEAREST = picture.repeat(2, axis=2).repeat(2, axis=3)

NUMPY: list[tuple[Expr | TupleWrapper, Any]] = [
    (op.adv_index([X, const(np.array([1, 0])), const(np.array([2, 0]))]),
     x[[1, 0], [2, 0]]),
    (op.all(B, 1), b.all(axis=1)),
    (op.any(B, 1), b.any(axis=1)),
    (op.annotation.checkpoint(X), x),
    (op.annotation.stop_fusion(X), x),
    (op.annotation.on_device(X, "cpu"), x),
    (op.debug(X, lambda _value: None), x),
    (op.device_copy(X, 1, 2), x),
    (op.copy(X), x),
    (dyn.image.resize2d(IMAGE, const(np.array([8, 12])), method="nearest_neighbor",
                        coordinate_transformation_mode="asymmetric"),
     picture.repeat(2, 2).repeat(2, 3)),
    (dyn.nn.upsampling(IMAGE, const(2.0), const(1)), picture.repeat(2, 2)),
    (dyn.nn.upsampling3d(VOLUME, const(1), const(1), const(2)), volume.repeat(2, 4)),
    (dyn.sparse_to_dense(const(np.array([[0, 2], [1, 1]])), const(np.array([2, 3])),
                         const(np.array([5, 6], "float32")), 0.5),
     np.array([[0.5, 0.5, 5], [0.5, 6, 0.5]], "float32")),
    (dyn.all(B, const(np.array([1]))), b.all(axis=1)),
    (dyn.any(B, const(np.array([-1])), True), b.any(axis=1, keepdims=True)),
    (op.argsort(X), np.argsort(x).astype("int32")),
    (op.argsort(X, 0, False), np.argsort(-x, axis=0).astype("int32")),
    (op.sort(X, 1), np.sort(x, axis=1)),
    (op.searchsorted(
        const(np.array([1.0, 3.0, 3.0])), const(np.array([3.0, 0.0])), True),
     np.array([3, 0], "int32")),
    (op.broadcast_to_like(floats(3), X), np.stack([array(floats(3))] * 2)),
    (op.cast_like(N, X), n.astype("float32")),
    (op.collapse_sum_like(X, floats(2, 1)), x.sum(axis=1, keepdims=True)),
    (op.collapse_sum_to(X, (3,)), x.sum(axis=0)),
    (op.reverse_reshape(X, (-3,)), x.reshape(6)),
    (op.reverse_reshape(floats(2, 3, 4), (-1, 0)), array(floats(6, 4))),
    (op.cumprod(X, 1), np.cumprod(x, axis=1)),
    (op.fast_erf(X), np.vectorize(erf)(x).astype("float32")),
    (op.fast_exp(X), np.exp(x)),
    (op.fast_tanh(X), np.tanh(x)),
    (op.isfinite(const(np.array([1.0, np.nan, -np.inf]))),
     np.array([True, False, False])),
    (op.log2(P), np.log2(p)),
    (op.log10(P), np.log10(p)),
    (op.trunc(const(np.array([-1.5, 1.5]))), np.array([-1.0, 1.0])),
    (op.floor_divide(N, const(np.int32(4))), n // 4),
    (op.trunc_divide(N, const(np.int32(4))), np.trunc(n / 4).astype("int32")),
    (op.mod(N, const(np.int32(4))), np.fmod(n, 4)),
    (op.not_equal(N, const(np.int32(1))), n != 1),
    (op.full(const(2.0), (2, 3)), np.full((2, 3), 2, "float32")),
    (op.full_like(X, 2.0), np.full((2, 3), 2, "float32")),
    (op.ones((2,), "int8"), np.ones(2, "int8")),
    (op.zeros((2,), "int8"), np.zeros(2, "int8")),
    (op.ones_like(X), np.ones((2, 3), "float32")),
    (op.zeros_like(X), np.zeros((2, 3), "float32")),
    (op.reinterpret(X, "int32"), x.view("int32")),
    (op.layout_transform(C4, "NCHW", "NHWC"), array(C4).transpose(0, 2, 3, 1)),
    (op.layout_transform(C4, "NCHW", "NCHW2c"), blocks(array(C4), 2)),
    (op.layout_transform(const(blocks(array(C4), 2)), "NCHW2c", "NCHW"), array(C4)),
    (op.matrix_set_diag(X, floats(2)), with_diagonal),
    (op.meshgrid([floats(2), floats(3)]),
     tuple(np.meshgrid(array(floats(2)), array(floats(3)), indexing="ij"))),
    (op.ndarray_size(X), np.array(6, "int32")),
    (op.shape_of(X), np.array([2, 3], "int32")),
    (op.vm.shape_of(X), np.array([2, 3])),
    (op.repeat(X, 2, 1), x.repeat(2, axis=1)),
    (op.reshape_like(X, floats(3, 2)), x.reshape(3, 2)),
    (op.sequence_mask(X, const(np.array([2, 0, 1])), -1.0), SEQUENCES),
    (op.slice_like(X, floats(1, 2)), x[:1, :2]),
    (op.sparse_to_dense(const(np.array([[0, 2], [1, 1]])), (2, 3),
                        const(np.array([5, 6], "float32")), 0.0), dense_of),
    (op.stack([X, Y], 1), np.stack([x, y], axis=1)),
    (op.strided_set(X, const(y[:, :2]), (0, 1), (2, 3)), with_range),
    (op.unravel_index(const(np.array([1, 5])), const(np.array([2, 3]))),
     np.stack(np.unravel_index([1, 5], (2, 3)))),
    (op.take(floats(2, 3, 4), const(np.array([[0, 2], [1, 1]])), 1, 1),
     array(floats(2, 3, 4))[[[0], [1]], [[0, 2], [1, 1]]]),
    (image.resize1d(SIGNAL, 12, method="nearest_neighbor",
                    coordinate_transformation_mode="asymmetric"),
     signal.repeat(2, axis=2)),
    (image.resize3d(VOLUME, (4, 4, 6), method="nearest_neighbor",
                    coordinate_transformation_mode="asymmetric"),
     volume.repeat(2, axis=3)),
    (nn.upsampling(IMAGE, 2, 2), NEAREST),
    (nn.upsampling(IMAGE, 1, 1, method="bilinear"), picture),
    (nn.upsampling3d(VOLUME, 1, 3, 1), volume.repeat(3, axis=3)),
    (nn.avg_pool2d_grad(nn.avg_pool2d(IMAGE, 2, 2), IMAGE, 2, 2),
     picture.reshape(1, 2, 2, 2, 3, 2).mean(axis=(3, 5)).repeat(2, 2).repeat(2, 3) / 4),
    (nn.max_pool2d_grad(const(np.array([[[[5.0, 7.0]]]])),
                        const(np.arange(8.0).reshape(1, 1, 2, 4)), 2, 2),
     np.array([[[[0, 0, 0, 0], [0, 5.0, 0, 7.0]]]])),
    (nn.adaptive_avg_pool1d(SIGNAL, 3), signal.reshape(1, 2, 3, 2).mean(axis=3)),
    (nn.adaptive_max_pool1d(SIGNAL, 3), signal.reshape(1, 2, 3, 2).max(axis=3)),
    (nn.adaptive_avg_pool2d(IMAGE, (2, 3)),
     picture.reshape(1, 2, 2, 2, 3, 2).mean(axis=(3, 5))),
    (nn.adaptive_max_pool2d(IMAGE, (2, 3)),
     picture.reshape(1, 2, 2, 2, 3, 2).max(axis=(3, 5))),
    (nn.adaptive_avg_pool3d(VOLUME, 1), volume.mean(axis=(2, 3, 4), keepdims=True)),
    (nn.adaptive_max_pool3d(VOLUME, 1), volume.max(axis=(2, 3, 4), keepdims=True)),
    (nn.batch_flatten(VOLUME), volume.reshape(1, -1)),
    (nn.space_to_batch_nd(IMAGE, (2, 1), ((0, 0), (0, 0))),
     np.concatenate([picture[:, 0:1], picture[:, 1:2]])),
    (nn.batch_to_space_nd(
        const(np.concatenate([signal[:, :1], signal[:, 1:]])), (2,), ((0, 0),)),
     signal),
    (nn.contrib_conv2d_nchwc(
        const(blocks(array(C4), 2)),
        op.layout_transform(K4, "OIHW", "OIHW2i3o"),
        data_layout="NCHW2c", kernel_layout="OIHW2i3o", out_layout="NCHW3c"),
     blocks(value(nn.conv2d(C4, K4)), 3)),
    (nn.contrib_depthwise_conv2d_nchwc(
        const(blocks(array(C4), 2)), op.layout_transform(D4, "OIHW", "OIHW1i2o"),
        groups=4, data_layout="NCHW2c", kernel_layout="OIHW1i2o"),
     blocks(value(nn.conv2d(C4, D4, groups=4)), 2)),
    (nn.conv2d(op.layout_transform(C4, "NCHW", "NHWC"),
               op.layout_transform(K4, "OIHW", "HWIO"),
               data_layout="NHWC", kernel_layout="HWIO"),
     value(nn.conv2d(C4, K4)).transpose(0, 2, 3, 1)),
    (nn.conv3d(VOLUME, floats(3, 2, 1, 1, 1)),
     np.einsum("oc,ncdhw->nodhw", array(floats(3, 2)), volume)),
    (nn.cross_entropy(P, Y), -(np.log(p) * y).sum() / np.float32(2)),
    (nn.cross_entropy_with_logits(X, Y), -(x * y).sum() / np.float32(2)),
    (nn.fast_softmax(X), softmax(x)),
    (nn.group_norm(
        GROUPS, const(np.ones(4, "float32")), const(np.zeros(4, "float32")), 2),
     normal(grouped, 2).reshape(2, 4, 5)),
    (nn.layer_norm(X, ONES, ONES), normal(x, 1) + 1),
    (nn.l2_normalize(X, 1e-9, 1), x / np.linalg.norm(x, axis=1, keepdims=True)),
    (nn.mirror_pad(X, ((1, 0), (0, 2))), np.pad(x, ((1, 0), (0, 2)), "symmetric")),
    (nn.prelu(X, ONES), x),
    (nn.prelu(X, const(np.array([1, 2, 3], "float32"))),
     np.where(x < 0, x * np.array([1, 2, 3], "float32"), x)),
]  # fmt: skip


# Blocks, batches and other layouts, which ONNX has not.
BOTH = {"nn.conv2d", "take"}


def fields(found: Any) -> tuple[Any, ...]:
    """Return the fields of a tuple, or one value as the only field."""
    return cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)


def test_every_operator_has_an_oracle() -> None:
    by_onnx = {name for names in ORACLES.values() for name in names.split()}
    by_numpy = {name_of(built) for built, _ in NUMPY}
    assert by_onnx | by_numpy == ROWS.keys()
    assert not by_onnx & by_numpy - BOTH


@pytest.mark.parametrize(("built", "wanted"), NUMPY, ids=lambda one: None)
def test_the_meaning_is_numpys(built: Expr | TupleWrapper, wanted: Any) -> None:
    found = value(built)
    for one, other in zip(fields(found), fields(wanted), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ORACLES)
def test_the_meaning_is_onnxs(name: str) -> None:
    """Axes, shapes and counts are inputs of some cases: here they are known, too."""
    case = cases("node")[name]
    called = operators_of(run(case)) | operators_of(run(case, first=1))
    assert set(ORACLES[name].split()) <= called
