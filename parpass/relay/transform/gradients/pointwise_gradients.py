"""Gradients of elementwise operators, and wide arithmetic for narrow floats.

They are the textbook derivatives; where there is none, as of the absolute value at 0,
it is a one-sided derivative. `WideFloats` computes several operators on narrow floats
in a wider dtype and rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from parpass.ir.types import TensorType
from parpass.relay import op
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.expr import Call, Expr, const
from parpass.runtime.dtypes import computed_in


class WideFloats:
    """Casts to the dtype that operators compute a tensor's dtype in, and back.

    What an operator gives is rounded to narrow floats, so a sum of products by two
    operators is one of rounded products, and half floats count to 65,504 only. Of other
    dtypes values are as they were.

    Args:
        like: A typed tensor.

    Attributes:
        is_wider: Whether operators compute in another dtype than the tensor's.
        out_dtype: What a product has for this attribute, to be of the wider dtype.
    """

    def __init__(self, like: Expr) -> None:
        self._dtype = cast("TensorType", like.checked_type).dtype
        self._wide = computed_in(self._dtype)
        self.is_wider = self._wide != self._dtype
        self.out_dtype = self._wide if self.is_wider else ""

    def __call__(self, expr: Expr) -> Expr:
        """Return a value of the tensor's dtype in the wider one, typed as before."""
        if not self.is_wider:
            return expr
        made = op.cast(expr, self._wide)
        found = getattr(expr, "checked_type_", None)
        if not isinstance(found, TensorType):
            return made
        return replace(made, checked_type_=TensorType(found.shape, self._wide))

    def rounded(self, expr: Expr) -> Expr:
        """Return a value of the wider dtype in the tensor's."""
        return op.cast(expr, self._dtype) if self.is_wider else expr


Gradient = Callable[[Call, Expr], list[Expr]]
"""Gives the gradients of a call's arguments, given that of its result."""


def number(value: float, like: Expr) -> Expr:
    """Return a number of another tensor's dtype."""
    return const(value, cast("TensorType", like.checked_type).dtype)


def collapsed(grad: Expr, of: Expr, result: Call) -> Expr:
    """Return a gradient summed to the shape of an argument that was broadcast."""
    return op.collapse_sum_like(grad, of) if _is_broadcast(of, result) else grad


def _is_broadcast(of: Expr, result: Call) -> bool:
    """Return whether an argument's shape is not known to be the result's."""
    before = static_tensor(of.checked_type)
    after = static_tensor(result.checked_type)
    return before is None or after is None or before.shape != after.shape


def none(call: Call, grad: Expr) -> list[Expr]:
    """Return zeros: no argument has an influence that can be differentiated."""
    del grad
    return [op.zeros_like(arg) for arg in call.args]


def same(call: Call, grad: Expr) -> list[Expr]:
    """Return the gradient as it is."""
    del call
    return [grad]


def _unary(derivative: Callable[[Expr, Expr], Expr]) -> Gradient:
    """Return the gradient of a function with a derivative by `x` and `f(x)`."""
    return lambda call, grad: [grad * derivative(call.args[0], call)]


Build = Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]
"""Gives gradients of two arguments by the result, its gradient, and the arguments."""


def _binary(build: Build) -> Gradient:
    """Return the gradient of an operator that broadcasts."""

    def gradient(call: Call, grad: Expr) -> list[Expr]:
        x, y = call.args
        left, right = build(call, grad, x, y)
        return [collapsed(left, x, call), collapsed(right, y, call)]

    return gradient


def _product(build: Build) -> Gradient:
    """Return the gradient of an operator that broadcasts, by sums of products.

    Of narrow floats the products are summed before they are rounded.
    """
    plain = _binary(build)

    def gradient(call: Call, grad: Expr) -> list[Expr]:
        wide = WideFloats(call)
        if not wide.is_wider or not any(_is_broadcast(arg, call) for arg in call.args):
            return plain(call, grad)
        x, y = call.args
        parts = build(*map(wide, (call, grad, x, y)))
        pairs = zip(parts, call.args, strict=True)
        return [wide.rounded(collapsed(part, arg, call)) for part, arg in pairs]

    return gradient


def _where_positive(call: Call, grad: Expr) -> list[Expr]:
    (x,) = call.args
    return [op.where(op.greater(x, op.zeros_like(x)), grad, op.zeros_like(grad))]


def _leaky_relu(call: Call, grad: Expr) -> list[Expr]:
    (x,) = call.args
    less = grad * number(call.attrs.alpha, x)
    return [op.where(op.greater(x, op.zeros_like(x)), grad, less)]


def _clip(call: Call, grad: Expr) -> list[Expr]:
    (x,) = call.args
    low, high = number(call.attrs.a_min, x), number(call.attrs.a_max, x)
    inside = op.logical_and(op.greater_equal(x, low), op.less_equal(x, high))
    return [op.where(inside, grad, op.zeros_like(grad))]


def _abs(call: Call, grad: Expr) -> list[Expr]:
    (x,) = call.args
    return [op.where(op.less(x, op.zeros_like(x)), op.negative(grad), grad)]


def _power(call: Expr, grad: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
    return grad * y * op.power(x, y - number(1.0, y)), grad * op.log(x) * call


def _chosen(compare: Callable[[Expr, Expr], Expr]) -> Gradient:
    def build(_call: Expr, grad: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        first, zeros = compare(x, y), op.zeros_like(grad)
        return op.where(first, grad, zeros), op.where(first, zeros, grad)

    return _binary(build)


def _where(call: Call, grad: Expr) -> list[Expr]:
    cond, x, y = call.args
    zeros = op.zeros_like(grad)
    return [
        op.zeros_like(cond),
        collapsed(op.where(cond, grad, zeros), x, call),
        collapsed(op.where(cond, zeros, grad), y, call),
    ]


def _cast(call: Call, grad: Expr) -> list[Expr]:
    x, *others = call.args
    return [op.cast_like(grad, x), *map(op.zeros_like, others)]


POINTWISE: Mapping[str, Gradient] = {
    "abs": _abs,
    "acos": _unary(lambda x, _: number(-1.0, x) / op.sqrt(number(1.0, x) - x * x)),
    "acosh": _unary(lambda x, _: op.rsqrt(x * x - number(1.0, x))),
    "add": _binary(lambda _, grad, _x, _y: (grad, grad)),
    "asin": _unary(lambda x, _: op.rsqrt(number(1.0, x) - x * x)),
    "asinh": _unary(lambda x, _: op.rsqrt(x * x + number(1.0, x))),
    "atan": _unary(lambda x, _: number(1.0, x) / (x * x + number(1.0, x))),
    "atanh": _unary(lambda x, _: number(1.0, x) / (number(1.0, x) - x * x)),
    "cast": _cast,
    "cast_like": _cast,
    "clip": _clip,
    "cos": _unary(lambda x, _: op.negative(op.sin(x))),
    "cosh": _unary(lambda x, _: op.sinh(x)),
    "divide": _product(
        lambda _, grad, x, y: (grad / y, op.negative(grad * x) / (y * y))
    ),
    "erf": _unary(
        lambda x, _: number(2 / math.sqrt(math.pi), x) * op.exp(op.negative(x * x))
    ),
    "exp": _unary(lambda _, value: value),
    "log": _unary(lambda x, _: number(1.0, x) / x),
    "log10": _unary(lambda x, _: number(1 / math.log(10), x) / x),
    "log2": _unary(lambda x, _: number(1 / math.log(2), x) / x),
    "maximum": _chosen(op.greater_equal),
    "minimum": _chosen(op.less_equal),
    "multiply": _product(lambda _, grad, x, y: (grad * y, grad * x)),
    "negative": lambda _, grad: [op.negative(grad)],
    "nn.leaky_relu": _leaky_relu,
    "nn.relu": _where_positive,
    "power": _product(_power),
    "rsqrt": _unary(lambda x, value: number(-0.5, x) * value / x),
    "sigmoid": _unary(lambda x, value: value * (number(1.0, x) - value)),
    "sin": _unary(lambda x, _: op.cos(x)),
    "sinh": _unary(lambda x, _: op.cosh(x)),
    "sqrt": _unary(lambda x, value: number(0.5, x) / value),
    "subtract": _binary(lambda _, grad, _x, _y: (grad, op.negative(grad))),
    "tan": _unary(lambda x, value: number(1.0, x) + value * value),
    "tanh": _unary(lambda x, value: number(1.0, x) - value * value),
    "where": _where,
    **dict.fromkeys(("ceil", "floor", "round", "sign", "trunc"), none),
    **dict.fromkeys(("full_like", "ones_like", "zeros_like"), none),
    **dict.fromkeys(
        (
            "annotation.checkpoint",
            "annotation.stop_fusion",
            "copy",
            "device_copy",
            "on_device",
        ),
        same,
    ),
}
