"""What computes element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators.signature import Converter
from parpass.runtime.dtypes import is_int_dtype


def _unary(build: Callable[[Expr], Expr]) -> Converter:
    return lambda node: build(node.input(0))


def _binary(build: Callable[[Expr, Expr], Expr]) -> Converter:
    return lambda node: build(node.input(0), node.input(1))


def _variadic(build: Callable[[Expr, Expr], Expr]) -> Converter:
    return lambda node: reduce(build, node.inputs())


def in_floats(node: OnnxNode, build: Callable[[Expr], Expr], data: Expr) -> Expr:
    """Return what is built; on integers it is computed in floats, and cut off."""
    dtype = node.dtype(data)
    if not is_int_dtype(dtype):
        return build(data)
    return op.cast(build(op.cast(data, "float64")), dtype)


def _erf(node: OnnxNode) -> Expr:
    return in_floats(node, op.erf, node.input(0))


def _pow(node: OnnxNode) -> Expr:
    """From opset 12 on base and exponent may differ in dtype; the base's counts."""
    base, exponent = node.input(0), node.input(1)
    dtype, other = node.dtype(base), node.dtype(exponent)
    if dtype == other:
        return op.power(base, exponent)
    if dtype.startswith("float"):
        return op.power(base, op.cast(exponent, dtype))
    return op.cast(
        op.power(op.cast(base, "float64"), op.cast(exponent, "float64")), dtype
    )


def _mean(node: OnnxNode) -> Expr:
    parts = node.inputs()
    return op.divide(reduce(op.add, parts), node.scalar(len(parts), parts[0]))


def _mod(node: OnnxNode) -> Expr:
    remainder = op.trunc_mod if node.integer("fmod", 0) else op.floor_mod
    return remainder(node.input(0), node.input(1))


def _bit_shift(node: OnnxNode) -> Expr:
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise node.fault(f"expected LEFT or RIGHT for direction, got '{direction}'")
    shift = op.left_shift if direction == "LEFT" else op.right_shift
    return shift(node.input(0), node.input(1))


def _reciprocal(node: OnnxNode) -> Expr:
    data = node.input(0)
    return op.divide(node.scalar(1, data), data)


def _is_inf(node: OnnxNode) -> Expr:
    data, zero = node.input(0), node.scalar(0, node.input(0))
    both = op.isinf(data)
    if not node.integer("detect_negative", 1):
        both = op.logical_and(both, op.greater(data, zero))
    if not node.integer("detect_positive", 1):
        both = op.logical_and(both, op.less(data, zero))
    return both


def _where(node: OnnxNode) -> Expr:
    return op.where(node.input(0), node.input(1), node.input(2))


def _clip(node: OnnxNode) -> Expr:
    """Before opset 11 the bounds are attributes, then they are inputs."""
    data = node.input(0)
    if node.opset < 11:
        low = node.number("min", float("-inf"))
        high = node.number("max", float("inf"))
        return op.clip(data, low, high)
    bounds = node.optional(1), node.optional(2)
    if bounds[0] is not None:
        data = op.maximum(data, bounds[0])
    if bounds[1] is not None:
        data = op.minimum(data, bounds[1])
    return data


ELEMENTWISE: dict[str, Converter] = {
    "Abs": _unary(op.abs),
    "Acos": _unary(op.acos),
    "Acosh": _unary(op.acosh),
    "Add": _binary(op.add),
    "And": _binary(op.logical_and),
    "Asin": _unary(op.asin),
    "Asinh": _unary(op.asinh),
    "Atan": _unary(op.atan),
    "Atanh": _unary(op.atanh),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(op.bitwise_and),
    "BitwiseNot": _unary(op.bitwise_not),
    "BitwiseOr": _binary(op.bitwise_or),
    "BitwiseXor": _binary(op.bitwise_xor),
    "Ceil": _unary(op.ceil),
    "Clip": _clip,
    "Cos": _unary(op.cos),
    "Cosh": _unary(op.cosh),
    "Div": _binary(op.divide),
    "Equal": _binary(op.equal),
    "Erf": _erf,
    "Exp": _unary(op.exp),
    "Floor": _unary(op.floor),
    "Greater": _binary(op.greater),
    "GreaterOrEqual": _binary(op.greater_equal),
    "IsInf": _is_inf,
    "IsNaN": _unary(op.isnan),
    "Less": _binary(op.less),
    "LessOrEqual": _binary(op.less_equal),
    "Log": _unary(op.log),
    "Max": _variadic(op.maximum),
    "Mean": _mean,
    "Min": _variadic(op.minimum),
    "Mod": _mod,
    "Mul": _binary(op.multiply),
    "Neg": _unary(op.negative),
    "Not": _unary(op.logical_not),
    "Or": _binary(op.logical_or),
    "Pow": _pow,
    "Reciprocal": _reciprocal,
    "Relu": _unary(op.nn.relu),
    "Round": _unary(op.round),
    "Sigmoid": _unary(op.sigmoid),
    "Sign": _unary(op.sign),
    "Sin": _unary(op.sin),
    "Sinh": _unary(op.sinh),
    "Sqrt": _unary(op.sqrt),
    "Sub": _binary(op.subtract),
    "Sum": _variadic(op.add),
    "Tan": _unary(op.tan),
    "Tanh": _unary(op.tanh),
    "Where": _where,
    "Xor": _binary(op.logical_xor),
}
