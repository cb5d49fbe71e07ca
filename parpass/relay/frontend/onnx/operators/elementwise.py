"""Converters of elementwise operators, and of activations that Relay has to compose."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode
from parpass.runtime.dtypes import computed_in, is_float_dtype, is_int_dtype


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


def in_wide_floats(node: OnnxNode, build: Callable[..., Expr], *operands: Expr) -> Expr:
    """Return what several operators compute of operands of one dtype.

    Floats narrower than float32 are computed there, and rounded at the end: Relay's
    operators round what each gives, and the squares of half floats from 256 on are
    infinite.
    """
    dtype = node.dtype(operands[0])
    wide = computed_in(dtype)
    if wide == dtype or not is_float_dtype(dtype):
        return build(*operands)
    return op.cast(build(*(op.cast(one, wide) for one in operands)), dtype)


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


def _sum(node: OnnxNode) -> Expr:
    parts = node.inputs()
    if len(parts) <= 2:
        return reduce(op.add, parts)
    return in_wide_floats(node, lambda *wide: reduce(op.add, wide), *parts)


def _mean(node: OnnxNode) -> Expr:
    def mean(*parts: Expr) -> Expr:
        return op.divide(reduce(op.add, parts), node.scalar(len(parts), parts[0]))

    return in_wide_floats(node, mean, *node.inputs())


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
    "Sum": _sum,
    "Tan": _unary(op.tan),
    "Tanh": _unary(op.tanh),
    "Where": _where,
    "Xor": _binary(op.logical_xor),
}


def elu_of(node: OnnxNode, data: Expr, alpha: float, gamma: float) -> Expr:
    """Return `gamma * (data if data > 0 else alpha * (exp(data) - 1))`."""
    zero, one = node.scalar(0, data), node.scalar(1, data)
    below = op.subtract(op.exp(op.minimum(data, zero)), one)
    below = op.multiply(node.scalar(alpha, data), below)
    result = op.where(op.greater(data, zero), data, below)
    return result if gamma == 1.0 else op.multiply(node.scalar(gamma, data), result)


def _elu(node: OnnxNode) -> Expr:
    return elu_of(node, node.input(0), node.number("alpha", 1.0), 1.0)


def _selu(node: OnnxNode) -> Expr:
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return elu_of(node, node.input(0), alpha, gamma)


def _celu(node: OnnxNode) -> Expr:
    data, alpha = node.input(0), node.number("alpha", 1.0)
    zero, one = node.scalar(0, data), node.scalar(1, data)
    scaled = op.divide(op.minimum(data, zero), node.scalar(alpha, data))
    below = op.multiply(node.scalar(alpha, data), op.subtract(op.exp(scaled), one))
    return op.add(op.maximum(data, zero), below)


def hard_sigmoid_of(node: OnnxNode, data: Expr, alpha: float, beta: float) -> Expr:
    """Return `alpha * data + beta`, cut to what lies from 0 to 1."""
    line = op.add(op.multiply(node.scalar(alpha, data), data), node.scalar(beta, data))
    return op.clip(line, 0.0, 1.0)


def _hard_sigmoid(node: OnnxNode) -> Expr:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return hard_sigmoid_of(node, node.input(0), alpha, beta)


def _hard_swish(node: OnnxNode) -> Expr:
    data = node.input(0)
    return op.multiply(data, hard_sigmoid_of(node, data, 1 / 6, 0.5))


def _leaky_relu(node: OnnxNode) -> Expr:
    return op.nn.leaky_relu(node.input(0), node.number("alpha", 0.01))


def _prelu(node: OnnxNode) -> Expr:
    data, slope = node.input(0), node.input(1)
    return op.where(op.less(data, node.scalar(0, data)), op.multiply(data, slope), data)


def _thresholded_relu(node: OnnxNode) -> Expr:
    data = node.input(0)
    above = op.greater(data, node.scalar(node.number("alpha", 1.0), data))
    return op.where(above, data, node.scalar(0, data))


def softplus_of(node: OnnxNode, data: Expr) -> Expr:
    """Return `log(1 + exp(data))`."""
    # The larger part is taken out, so that nothing overflows.
    rest = op.log1p(op.exp(op.negative(op.abs(data))))
    return op.add(op.maximum(data, node.scalar(0, data)), rest)


def _softplus(node: OnnxNode) -> Expr:
    return softplus_of(node, node.input(0))


def softsign_of(node: OnnxNode, data: Expr) -> Expr:
    """Return `data / (1 + |data|)`."""
    return op.divide(data, op.add(node.scalar(1, data), op.abs(data)))


def _softsign(node: OnnxNode) -> Expr:
    return softsign_of(node, node.input(0))


def _mish(node: OnnxNode) -> Expr:
    data = node.input(0)
    return op.multiply(data, op.tanh(softplus_of(node, data)))


def _shrink(node: OnnxNode) -> Expr:
    lambd, bias = node.number("lambd", 0.5), node.number("bias", 0.0)
    return in_floats(node, partial(_shrunk, node, lambd, bias), node.input(0))


def _shrunk(node: OnnxNode, lambd: float, bias: float, data: Expr) -> Expr:
    zero = node.scalar(0, data)
    offset = node.scalar(bias, data)
    below = op.where(
        op.less(data, node.scalar(-lambd, data)), op.add(data, offset), zero
    )
    above = op.greater(data, node.scalar(lambd, data))
    return op.where(above, op.subtract(data, offset), below)


def _gelu(node: OnnxNode) -> Expr:
    data, half = node.input(0), node.scalar(0.5, node.input(0))
    one = node.scalar(1, data)
    kind = node.text("approximate", "none")
    if kind == "tanh":
        cube = op.multiply(op.multiply(data, data), data)
        inner = op.add(data, op.multiply(node.scalar(0.044715, data), cube))
        part = op.tanh(
            op.multiply(node.scalar((2 / 3.141592653589793) ** 0.5, data), inner)
        )
    else:
        part = op.erf(op.divide(data, node.scalar(2**0.5, data)))
    return op.multiply(op.multiply(half, data), op.add(one, part))


ACTIVATION: dict[str, Converter] = {
    "Celu": _celu,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "Mish": _mish,
    "PRelu": _prelu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "ThresholdedRelu": _thresholded_relu,
}
