"""Normalisation: of batches, layers, instances, neighbours and lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, TupleWrapper
from parpass.relay.op.declaration.attributes import Count, Ints, IntTuple, Real
from parpass.relay.op.declaration.build import operator
from parpass.relay.op.declaration.type_relations import (
    float_axis_identity,
    float_identity,
    normal_axes,
    normal_axis,
    require_vectors,
    tensors,
    vectors_along_axis,
)
from parpass.relay.op.nn.linear import along

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "l2_normalize", "layer_norm", "lrn",
]  # fmt: skip


class NormAttrs(Attrs, frozen=True):
    """Attributes of `nn.batch_norm`, `nn.layer_norm` and `nn.instance_norm`.

    Attributes:
        axis: The axis of the channels, along which gamma and beta apply.
        epsilon: Added to the variance.
        center: Whether to add beta.
        scale: Whether to multiply by gamma.
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


def _affine_relation(
    types: Sequence[Type], attrs: NormAttrs | GroupNormAttrs
) -> TensorType:
    """Relate data and vectors along its axis to a result of the data's type."""
    args = tensors(types)
    names = (f"argument {at}" for at in range(2, len(args) + 1))
    require_vectors(args, attrs, *names)
    return float_identity(args[:1], attrs)


def _normalised(
    attrs: NormAttrs, data: Array, around: Array, variance: Array, *affine: Array
) -> Array:
    """Return `(data - around) / sqrt(variance + epsilon) * gamma + beta`."""
    factor = 1 / np.sqrt(variance + data.dtype.type(attrs.epsilon))
    return _scaled(attrs, (data - around) * factor, *affine)


def _scaled(
    attrs: NormAttrs | GroupNormAttrs, data: Array, gamma: Array, beta: Array
) -> Array:
    data = data * along(attrs.axis, gamma, data) if attrs.scale else data
    return data + along(attrs.axis, beta, data) if attrs.center else data


def _normalised_over(
    axes: tuple[int, ...], attrs: NormAttrs, data: Array, *affine: Array
) -> Array:
    if not data.size:
        return data.copy()
    around = data.mean(axis=axes, keepdims=True)
    variance = np.square(data - around).mean(axis=axes, keepdims=True)
    return _normalised(attrs, data, around, variance, *affine)


class BatchNormAttrs(NormAttrs, frozen=True):
    """Attributes of `nn.batch_norm`."""


def _batch_norm_relation(types: Sequence[Type], attrs: NormAttrs) -> TupleType:
    data = _affine_relation(types, attrs)
    return TupleType((data, types[3], types[4]))


def _batch_norm(
    attrs: NormAttrs,
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
) -> tuple[Array, Array, Array]:
    moving = (along(attrs.axis, one, data) for one in (moving_mean, moving_var))
    return _normalised(attrs, data, *moving, gamma, beta), moving_mean, moving_var


@operator(
    "nn.batch_norm",
    _batch_norm_relation,
    _batch_norm,
    BatchNormAttrs,
    results=3,
    argument_types=vectors_along_axis,
)
def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> TupleWrapper:
    """Normalise each channel by the mean and the variance found in training.

    Returns:
        The result, the moving mean and the moving variance.
    """
    ...


class LayerNormAttrs(NormAttrs, frozen=True):
    """Attributes of `nn.layer_norm`."""

    axis: int = -1


def _channels(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axis: int = ...,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Build a call of a normalisation that computes mean and variance itself."""
    ...


def _layer_norm(attrs: NormAttrs, data: Array, gamma: Array, beta: Array) -> Array:
    axis = normal_axis(attrs.axis, data.ndim)
    return _normalised_over((axis,), attrs, data, gamma, beta)


layer_norm = operator(
    "nn.layer_norm",
    _affine_relation,
    _layer_norm,
    LayerNormAttrs,
    doc="Normalise along one axis by the mean and the variance found there.",
    argument_types=vectors_along_axis,
)(_channels)


class InstanceNormAttrs(NormAttrs, frozen=True):
    """Attributes of `nn.instance_norm`."""


def _instance_norm(attrs: NormAttrs, data: Array, gamma: Array, beta: Array) -> Array:
    channel = normal_axis(attrs.axis, data.ndim)
    axes = tuple(axis for axis in range(1, data.ndim) if axis != channel)
    return _normalised_over(axes, attrs, data, gamma, beta)


instance_norm = operator(
    "nn.instance_norm",
    _affine_relation,
    _instance_norm,
    InstanceNormAttrs,
    doc="Normalise each channel of each instance by its own mean and variance.",
    argument_types=vectors_along_axis,
)(_channels)


class GroupNormAttrs(Attrs, frozen=True):
    """Attributes of `nn.group_norm`; see `NormAttrs`."""

    num_groups: Count
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


def _group_norm_relation(types: Sequence[Type], attrs: GroupNormAttrs) -> TensorType:
    data = _affine_relation(types, attrs)
    channels = data.shape[attrs.axis]
    if isinstance(channels, int) and channels % attrs.num_groups:
        raise TypeRelationError(
            f"expected channels that {attrs.num_groups} groups divide, got {channels}"
        )
    return data


def _group_norm(attrs: GroupNormAttrs, data: Array, gamma: Array, beta: Array) -> Array:
    if not data.size:
        return data.copy()
    axis = normal_axis(attrs.axis, data.ndim)
    shape, groups = data.shape, attrs.num_groups
    split = groups, shape[axis] // groups
    grouped = data.reshape(*shape[:axis], *split, *shape[axis + 1 :])
    axes = tuple(at for at in range(1, grouped.ndim) if at != axis)
    around = grouped.mean(axis=axes, keepdims=True)
    centred = grouped - around
    variance = np.square(centred).mean(axis=axes, keepdims=True)
    result = centred / np.sqrt(variance + data.dtype.type(attrs.epsilon))
    return _scaled(attrs, result.reshape(shape), gamma, beta)


@operator(
    "nn.group_norm",
    _group_norm_relation,
    _group_norm,
    GroupNormAttrs,
    argument_types=vectors_along_axis,
)
def group_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    num_groups: int,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Normalise each group of channels of each instance by its mean and variance."""
    ...


class LRNAttrs(Attrs, frozen=True):
    """Attributes of `nn.lrn`.

    Attributes:
        size: The number of neighbouring channels, centred; an odd number.
    """

    size: int = 5
    axis: int = 1
    bias: Real = 2.0
    alpha: Real = 0.00001
    beta: Real = 0.75

    def check(self) -> None:
        """Reject an even size."""
        if self.size < 1 or self.size % 2 == 0:
            raise IRTypeError(f"expected an odd size from 1 on, got {self.size}")


def _lrn(attrs: LRNAttrs, data: Array) -> Array:
    sides = [(0, 0)] * data.ndim
    sides[attrs.axis] = (attrs.size // 2, attrs.size // 2)
    if not data.size:
        return data.copy()
    squares = np.pad(np.square(data), sides)
    near = np.lib.stride_tricks.sliding_window_view(squares, attrs.size, attrs.axis)
    of_dtype = data.dtype.type
    base = of_dtype(attrs.bias) + of_dtype(attrs.alpha / attrs.size) * near.sum(axis=-1)
    return data / base ** of_dtype(attrs.beta)


@operator("nn.lrn", float_axis_identity, _lrn, LRNAttrs)
def lrn(
    data: Expr,
    size: int = 5,
    axis: int = 1,
    bias: float = 2,
    alpha: float = 0.00001,
    beta: float = 0.75,
) -> Call:
    """Divide by `(bias + alpha / size * sum of the neighbours' squares) ** beta`."""
    ...


class L2NormalizeAttrs(Attrs, frozen=True):
    """Attributes of `nn.l2_normalize`; without an axis all axes are reduced."""

    eps: Real
    axis: IntTuple | None = None


def _l2_normalize_relation(
    types: Sequence[Type], attrs: L2NormalizeAttrs
) -> TensorType:
    data = float_identity(types, attrs)
    normal_axes(attrs.axis or (), len(data.shape))
    return data


def _l2_normalize(attrs: L2NormalizeAttrs, data: Array) -> Array:
    squares = np.square(data).sum(axis=attrs.axis, keepdims=True)
    return data / np.sqrt(np.maximum(squares, data.dtype.type(attrs.eps)))


@operator("nn.l2_normalize", _l2_normalize_relation, _l2_normalize, L2NormalizeAttrs)
def l2_normalize(data: Expr, eps: float, axis: Ints | None = None) -> Call:
    """Divide by the Euclidean length along some axes, at least `sqrt(eps)`."""
    ...
