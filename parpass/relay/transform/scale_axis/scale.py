"""What a scale is, to which it can be applied, and how it is brought into shape."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parpass.ir.op_table import Op
from parpass.ir.ty import Dim, TensorType
from parpass.relay.expr import Call, Constant, Expr
from parpass.relay.op import expand_dims, reshape, squeeze
from parpass.runtime.dtypes import float_range

# Narrower floats have too few digits to be scaled.
_SCALED = frozenset({"float16", "float32", "float64"})

# What changes the shape of a constant, but not its numbers.
_SHAPE_ONLY = frozenset({"expand_dims", "reshape", "squeeze", "transpose"})


class Need(enum.IntEnum):
    """What has to be known of a scale, so that it may pass; a greater one says more."""

    ANY = 0
    NONZERO = 1
    POSITIVE = 2


class Demand(NamedTuple):
    """Which scale would be taken: along which axes, and what must be known of it.

    The scale's dimensions are these axes, in this order; or it is a scalar.
    """

    axes: tuple[int, ...]
    need: Need

    def with_need(self, need: Need) -> Demand:
        """Return the demand of an operator in between, which needs to know more."""
        return Demand(self.axes, max(self.need, need))


def common(one: Demand | None, other: Demand | None) -> Demand | None:
    """Return what meets two demands; None where nothing does."""
    if one is None or other is None or one.axes != other.axes:
        return None
    return one.with_need(other.need)


def tensor_type(expr: Expr) -> TensorType | None:
    """Return the type of an expression if it is a tensor of floats."""
    found = expr.checked_type
    if isinstance(found, TensorType) and found.dtype in _SCALED:
        return found
    return None


def broadcasts_to(data: Expr, factor: Expr, axes: tuple[int, ...]) -> bool:
    """Return whether a factor differs along these axes of the data only.

    Along others it has length 1. A scalar differs along none.
    """
    of, by = tensor_type(data), tensor_type(factor)
    if of is None or by is None or len(of.shape) < len(by.shape):
        return False
    if not by.shape:
        return True
    base = len(of.shape) - len(by.shape)
    for axis, dim in enumerate(of.shape):
        its_dim: Dim = 1 if axis < base else by.shape[axis - base]
        wanted: Dim = dim if axis in axes else 1
        if (axis in axes and axis < base) or its_dim != wanted:
            return False
    return all(isinstance(of.shape[axis], int) for axis in axes)


def squeezed(factor: Expr, typed: Expr, data: Expr, axes: tuple[int, ...]) -> Expr:
    """Return a factor that `broadcasts_to` the data without its other dimensions.

    Args:
        factor: The factor.
        typed: The factor as it was, with its type.
        data: What it is multiplied with, with its type.
        axes: The axes of the data.
    """
    of, by = tensor_type(data), tensor_type(typed)
    assert of is not None
    assert by is not None
    base = len(of.shape) - len(by.shape)
    others = [at for at in range(len(by.shape)) if at + base not in axes]
    return squeeze(factor, axis=others) if others else factor


def along_axes(
    scale: Expr, is_scalar: bool, shape: Sequence[Dim], axes: tuple[int, ...]
) -> Expr:
    """Return a scale in a form that broadcasts along axes of a shape."""
    if is_scalar:
        return scale
    if len(axes) > 1:
        dims = [
            dim if at in axes and isinstance(dim, int) else 1
            for at, dim in enumerate(shape)
        ]
        return reshape(scale, dims)
    behind = len(shape) - max(axes) - 1
    return expand_dims(scale, axis=1, num_newaxis=behind) if behind else scale


def is_known_as(expr: Expr, need: Need) -> bool:
    """Return whether as much is known of a scale as is needed.

    A constant must be neither so small nor so large that weights times it, or sums
    divided by it, leave the range of their dtype: at most the square root of the
    greatest float, and no less than one over that, or 0.
    """
    while isinstance(expr, Call) and isinstance(expr.op, Op):
        if expr.op.name not in _SHAPE_ONLY:
            return need == Need.ANY
        expr = expr.args[0]
    if not isinstance(expr, Constant):
        return need == Need.ANY
    values = expr.data.numpy()
    if need == Need.POSITIVE and not (values > 0).all():
        return False
    most = math.sqrt(float_range(expr.data.dtype)[1])
    sizes = np.abs(values.astype("float64"))
    moderate = (sizes <= most) & (sizes >= 1 / most)
    if need == Need.ANY:
        moderate |= sizes == 0
    return bool(moderate.all())
