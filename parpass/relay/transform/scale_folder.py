"""Base of scale folding in both directions: demands, scales, and foldable operators.

A scale is a factor along some axes. Convolutions and `nn.dense` take it into their
weights; others pass it on, under conditions on its values.
"""

from __future__ import annotations

import enum
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
from msgspec.structs import replace

from parpass.ir.module import IRModule
from parpass.ir.op.op_table import Op
from parpass.ir.types import Dim, TensorType
from parpass.relay.expr import Call, Constant, Expr, Function
from parpass.relay.functor import ExprMutator
from parpass.relay.op import expand_dims, multiply, reshape, squeeze
from parpass.relay.span_filler import with_span
from parpass.relay.type_inference.infer import typed_function
from parpass.runtime.dtypes import float_range
from parpass.transform import FunctionPass, PassContext

# Weights in narrower floats have too few digits to be scaled: a product of a weight and
# a scale is rounded, or leaves their range, where the sum of products is exact.
_SCALED = frozenset({"float32", "float64"})

# What changes the shape of a constant, but not its numbers.
_SHAPE_ONLY = frozenset({"expand_dims", "reshape", "squeeze", "transpose"})


class ScaleProperty(enum.IntEnum):
    """The property of a scale that a consumer demands; a greater one implies others."""

    ANY = 0
    NONZERO = 1
    POSITIVE = 2


class Demand(NamedTuple):
    """The scale that a consumer can take: its axes, and its property.

    The scale's dimensions are these axes, in this order; or it is a scalar.
    """

    axes: tuple[int, ...]
    need: ScaleProperty

    def with_need(self, need: ScaleProperty) -> Demand:
        """Return the demand of an operator in between, which needs to know more."""
        return Demand(self.axes, max(self.need, need))


def common(one: Demand | None, other: Demand | None) -> Demand | None:
    """Return what meets two demands; None where nothing does."""
    if one is None or other is None or one.axes != other.axes:
        return None
    return one.with_need(other.need)


def tensor_type(expr: Expr) -> TensorType | None:
    """Return the type of an expression if it is a tensor of floats to be scaled."""
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
            data: The index of the argument that is scaled; the second argument
                broadcasts to it.
            axes: The axes of the data.
            factor: The second argument, which may be rewritten.
        """
        of, by = (tensor_type(product.args[at]) for at in (data, 1 - data))
        assert of is not None
        assert by is not None
        base = len(of.shape) - len(by.shape)
        others = [at for at in range(len(by.shape)) if at + base not in axes]
        value = factor
        if others:
            value = with_span(squeeze(factor, axis=others), product.span, [factor])
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


def is_known_as(expr: Expr, need: ScaleProperty) -> bool:
    """Return whether as much is known of a scale as is needed.

    A constant must be neither so small nor so large that weights times it, or sums
    divided by it, leave the range of their dtype: at most the square root of the
    greatest float, and no less than one over that, or 0.
    """
    while isinstance(expr, Call) and isinstance(expr.op, Op):
        if expr.op.name not in _SHAPE_ONLY:
            return need == ScaleProperty.ANY
        expr = expr.args[0]
    if not isinstance(expr, Constant):
        return need == ScaleProperty.ANY
    values = expr.data.numpy()
    if need == ScaleProperty.POSITIVE and not (values > 0).all():
        return False
    most = math.sqrt(float_range(expr.data.dtype)[1])
    sizes = np.abs(values.astype("float64"))
    moderate = (sizes <= most) & (sizes >= 1 / most)
    if need == ScaleProperty.ANY:
        moderate |= sizes == 0
    return bool(moderate.all())


_CONVOLUTIONS = frozenset({"nn.conv1d", "nn.conv2d", "nn.conv3d"})


class _Axes(NamedTuple):
    """The axes of channels: of the data, the result, and the weight for both."""

    data: tuple[int, ...]
    result: tuple[int, ...]
    weight_in: tuple[int, ...]
    weight_out: tuple[int, ...]


def is_foldable(call: Call, *, forward: bool) -> Demand | None:
    """Return the scale of its data, or of its result, that a call can take over."""
    axes = _axes(call)
    if axes is None:
        return None
    return Demand(axes.data if forward else axes.result, ScaleProperty.ANY)


def with_scaled_weight(call: Call, new: Call, scale: Scale, *, forward: bool) -> Call:
    """Return a foldable call with a scale in its weight.

    Args:
        call: The call, with types.
        new: The call as it is rewritten so far.
        scale: The scale.
        forward: Whether it is the data's scale, or the result's.
    """
    axes = _axes(call)
    assert axes is not None
    by = scale.along(axes.weight_in if forward else axes.weight_out, call.args[1])
    scaled = multiply(new.args[1], by)
    scaled = with_span(scaled, call.span, (new.args[1], scale.value))
    args = (new.args[0], scaled)
    return replace(new, args=args, checked_type_=None)


def _axes(call: Call) -> _Axes | None:
    if not isinstance(call.op, Op) or len(call.args) != 2:
        return None
    data, weight, result = (tensor_type(expr) for expr in (*call.args, call))
    if data is None or weight is None or result is None:
        return None
    if {weight.dtype, result.dtype} != {data.dtype}:
        return None  # a scale has the dtype of what it scales
    if call.op.name == "nn.dense":
        last = len(data.shape) - 1
        return _Axes((last,), (last,), (1,), (0,))
    if call.op.name in _CONVOLUTIONS:
        return _convolution_axes(call.attrs, weight.shape)
    return None


def _convolution_axes(attrs: Any, weight: tuple[Dim, ...]) -> _Axes | None:
    data, kernel = _letters(attrs.data_layout), _letters(attrs.kernel_layout)
    result = _letters(attrs.out_layout or attrs.data_layout)
    small = ["c" in data, "c" in result, "i" in kernel, "o" in kernel]
    if any(small) != all(small):
        return None
    blocks = all(small)
    outputs = _positions(kernel, "Oo" if blocks else "O")
    inputs = _positions(kernel, "Ii" if blocks else "I")
    lengths = [_product(weight, outputs), _product(weight, inputs)]
    is_depthwise = lengths == [attrs.groups, 1]
    if attrs.groups != 1 and not is_depthwise:
        return None
    channels = "Cc" if blocks else "C"
    return _Axes(
        _positions(data, channels),
        _positions(result, channels),
        outputs if is_depthwise else inputs,
        outputs,
    )


def _letters(layout: str) -> list[str]:
    return [letter for letter in layout if letter.isalpha()]


def _positions(letters: list[str], wanted: str) -> tuple[int, ...]:
    return tuple(letters.index(letter) for letter in wanted)


def _product(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> int | None:
    total = 1
    for axis in axes:
        dim = shape[axis]
        if not isinstance(dim, int):
            return None
        total *= dim
    return total


RELUS = frozenset({"nn.relu", "nn.leaky_relu"})
SUMS = frozenset({"add", "subtract"})


class ScaleFolder(ExprMutator):
    """Rewrites an expression with types; its scales go into weights.

    Attributes:
        count: How many did.
    """

    def __init__(self, root: Expr) -> None:
        super().__init__()
        self.count = 0
        self._root = root

    def count_folded(self, call: Call) -> None:
        """Count a call whose weight a scale goes into."""
        self.count += 1
        context, op = PassContext.current(), cast("Op", call.op).name
        message = "a scale was folded into its weight"
        context.remark("passed", message, call.span, name="Folded", op=op)

    def folded(self) -> Expr:
        """Return the expression with scales folded."""
        return self.visit(self._root)


class ScaleFoldingPass(FunctionPass):
    """A pass that folds the scales of a function in one direction."""

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with scales folded."""
        folder = self._folder(typed_function(func, mod))
        result = folder.folded()
        if folder.count:
            ctx.count("folded", folder.count)
        return cast("Function", result)

    @abstractmethod
    def _folder(self, func: Function) -> ScaleFolder:
        """Return what folds the scales of a typed function."""


def scaled_side(
    product: Call, demand_for: Callable[[int], Demand | None], factors: Sequence[Expr]
) -> tuple[int, Demand] | None:
    """Return which argument of a product a wanted scale can be taken from, if any.

    Args:
        product: The product, with types.
        demand_for: Returns which scale of an argument would be taken.
        factors: The arguments, which may be rewritten.
    """
    for data, factor in ((0, 1), (1, 0)):
        demand = demand_for(data)
        of, by = product.args[data], product.args[factor]
        if demand is None or not broadcasts_to(of, by, demand.axes):
            continue
        if is_known_as(factors[factor], demand.need):
            return data, demand
    return None


def with_other_side(
    call: Call, new: Call, side: int, scale: Scale, change: Callable[[Expr, Expr], Expr]
) -> Call:
    """Return a sum one side of which has a scale, with the other side changed by it.

    Args:
        call: The sum, with types.
        new: The sum as it is rewritten so far.
        side: The index of the argument that has the scale.
        scale: The scale.
        change: Returns the other argument, multiplied or divided by it.
    """
    args = list(new.args)
    changed = change(args[1 - side], scale.along(scale.axes, call.args[side]))
    args[1 - side] = with_span(changed, call.span, (*new.args, scale.value))
    return replace(new, args=tuple(args), checked_type_=None)
