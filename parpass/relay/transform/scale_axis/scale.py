"""What a scale is, to which it can be applied, and how it is brought into shape."""

from __future__ import annotations

import enum
import math
from typing import NamedTuple, Self

import numpy as np

from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import Dim, TensorType
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


class Scale(NamedTuple):
    """A scale that was taken out of a product.

    Attributes:
        axes: The axes of the data that are scaled.
        value: A dimension for each of them, in this order; or a scalar.
        is_scalar: Whether it is a scalar.
    """

    axes: tuple[int, ...]
    value: Expr
    is_scalar: bool

    @classmethod
    def of(cls, product: Call, data: int, axes: tuple[int, ...], factor: Expr) -> Self:
        """Return the scale in a product.

        Args:
            product: The product, with types.
            data: Which of its arguments is scaled; the other one broadcasts to it.
            axes: The axes of the data.
            factor: The other argument, which may be rewritten.
        """
        of, by = (tensor_type(product.args[at]) for at in (data, 1 - data))
        assert of is not None
        assert by is not None
        base = len(of.shape) - len(by.shape)
        others = [at for at in range(len(by.shape)) if at + base not in axes]
        value = squeeze(factor, axis=others) if others else factor
        return cls(axes, value, not by.shape)

    def along(self, axes: tuple[int, ...], typed: Expr) -> Expr:
        """Return the scale in a form that broadcasts along axes of an expression."""
        found = tensor_type(typed)
        assert found is not None
        if self.is_scalar:
            return self.value
        if len(axes) > 1:
            dims = [
                dim if at in axes and isinstance(dim, int) else 1
                for at, dim in enumerate(found.shape)
            ]
            return reshape(self.value, dims)
        behind = len(found.shape) - max(axes) - 1
        if not behind:
            return self.value
        return expand_dims(self.value, axis=1, num_newaxis=behind)


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
