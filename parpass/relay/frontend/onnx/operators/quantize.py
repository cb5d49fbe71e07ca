"""Converters of casts and of quantized operators.

A cast to a float of 8 bits or fewer saturates.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx
from ml_dtypes import finfo, iinfo

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import Converter, OnnxNode, Quantized
from parpass.relay.frontend.onnx.operators.axes import normal_axis
from parpass.relay.frontend.onnx.operators.neural import product_of
from parpass.relay.frontend.onnx.operators.window import conv_of
from parpass.relay.frontend.onnx.tensor_proto import dtype_of
from parpass.runtime.dtypes import is_float_dtype, is_int_dtype

_SATURATED = ("float8_e4m3", "float8_e5m2")
_EXPONENTS = "float8_e8m0fnu"
_BYTES = ("int8", "uint8")
_MOST_SUMMED = (2**31 - 1) // 255**2  # products of differences of bytes, in an int32


def cast_to(node: OnnxNode, data: Expr, dtype: str, *, saturate: bool = True) -> Expr:
    """Return a value cast as ONNX does it.

    Args:
        node: The node that asks for it.
        data: What to cast.
        dtype: The dtype.
        saturate: Whether what is out of range, infinities included, becomes the number
            at the end of the range; otherwise it becomes what the dtype has for it.
    """
    if saturate and dtype.startswith(_SATURATED):
        if not is_float_dtype(node.dtype(data)):
            data = op.cast(data, "float32")
        bounds = cast("Any", finfo)(dtype)
        data = op.clip(data, float(bounds.min), float(bounds.max))
    return op.cast(data, dtype)


def _exponents(node: OnnxNode, data: Expr, *, saturate: bool, mode: str) -> Expr:
    """Return the powers of 2 next to numbers, which the dtype stores as exponents."""
    bits = op.reinterpret(op.cast(data, "float32"), "uint32")

    def number(value: int) -> Expr:
        return node.scalar(value, bits)

    exponent = op.bitwise_and(op.right_shift(bits, number(23)), number(0xFF))
    rest = op.bitwise_and(bits, number(0x7FFFFF))
    if mode == "up":
        up = op.greater(rest, number(0))
    elif mode == "nearest":
        tie = op.logical_and(
            op.equal(rest, number(0x400000)), op.greater(exponent, number(0))
        )
        up = op.logical_or(op.greater(rest, number(0x400000)), tie)
    elif mode == "down":
        up = op.zeros_like(op.greater(rest, number(0)))
    else:
        raise node.fault(f"round_mode is '{mode}', which ONNX does not know")
    # 255 stands for what is no number.
    last = op.greater_equal(exponent, number(254 if saturate else 255))
    up = op.logical_and(up, op.logical_not(last))
    found = op.add(exponent, op.cast(up, "uint32"))
    return op.reinterpret(op.cast(found, "uint8"), _EXPONENTS)


def _cast_of(node: OnnxNode, dtype: str) -> Expr:
    data = node.input(0)
    saturate = node.integer("saturate", 1) != 0
    mode = node.text("round_mode", "up")
    if dtype == _EXPONENTS:
        return _exponents(node, data, saturate=saturate, mode=mode)
    return cast_to(node, data, dtype, saturate=saturate)


def _cast(node: OnnxNode) -> Expr:
    code = node.integer("to", onnx.TensorProto.UNDEFINED)
    dtype = dtype_of(code)
    if dtype is None:
        raise node.refusal(f"a cast to element type {code} is not supported")
    return _cast_of(node, dtype)


def _cast_like(node: OnnxNode) -> Expr:
    return _cast_of(node, node.dtype(node.input(1)))


def _bit_cast(node: OnnxNode) -> Expr:
    code = node.integer("to", onnx.TensorProto.UNDEFINED)
    dtype = dtype_of(code)
    if dtype is None:
        raise node.refusal(f"bits as those of element type {code} are not supported")
    return op.reinterpret(node.input(0), dtype)


CAST: dict[str, Converter] = {
    "BitCast": _bit_cast,
    "Cast": _cast,
    "CastLike": _cast_like,
}


def _along(node: OnnxNode, value: Expr, data: Expr, axis: int, block: int) -> Expr:
    """Return a scale or a zero point, one for all, for each slice or for each block."""
    dims, shape = node.dims(data), node.shape(value)
    if shape in ((), (1,)):
        return op.reshape(value, ())
    axis = normal_axis(node, axis, dims)
    if block:
        value = op.repeat(value, block, axis)
        return op.strided_slice(value, 0, node.lengths(data, [axis])[0], axes=axis)
    if len(shape) != 1:
        raise node.fault(f"expected a number or a vector to scale by, got {shape}")
    return op.reshape(value, (*shape, *(1,) * (len(dims) - axis - 1)))


def _declared(node: OnnxNode, name: str, default: str) -> str:
    code = node.integer(name, 0)
    dtype = dtype_of(code) if code else default
    if dtype is None:
        raise node.fault(f"{name} is {code}, which is not numeric")
    return dtype


def _quantize_linear(node: OnnxNode) -> Expr:
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    saturate = node.integer("saturate", 1) != 0
    dtype = "uint8" if zero is None else node.dtype(zero)
    dtype = _declared(node, "output_dtype", dtype)
    precision = _declared(node, "precision", node.dtype(scale))
    data, scale = op.cast(data, precision), op.cast(scale, precision)
    scaled = op.divide(data, _along(node, scale, data, axis, block))
    if zero is not None:
        zero = _along(node, zero, data, axis, block)
    return _on_grid(node, scaled, zero, dtype, saturate=saturate)


def _on_grid(
    node: OnnxNode,
    scaled: Expr,
    zero: Expr | None,
    dtype: str,
    *,
    saturate: bool = True,
) -> Expr:
    """Return the nearest number that a dtype has, in its range."""
    if not is_int_dtype(dtype):
        return cast_to(node, scaled, dtype, saturate=saturate)
    # The zero points of 16 bits are more than floats of 16 bits hold.
    if node.dtype(scaled) != "float64":
        scaled = op.cast(scaled, "float32")
    found = op.round(scaled)
    if zero is not None:
        found = op.add(found, op.cast(zero, node.dtype(found)))
    bounds = iinfo(dtype)
    return op.cast(op.clip(found, float(bounds.min), float(bounds.max)), dtype)


def _dequantize_linear(node: OnnxNode) -> Expr:
    data, scale, zero = node.input(0), node.input(1), node.optional(2)
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    dtype = _declared(node, "output_dtype", node.dtype(scale))
    found = op.cast(data, "float32")
    if zero is not None:
        zero = op.cast(_along(node, zero, data, axis, block), "float32")
        found = op.subtract(found, zero)
    factor = op.cast(_along(node, scale, data, axis, block), "float32")
    found = op.cast(op.multiply(found, factor), dtype)
    if dtype == "float32" and node.dtype(data) in _BYTES and not block:
        ints = op.cast(data, "int16")
        if zero is not None:
            ints = op.subtract(ints, op.cast(zero, "int16"))
        node.quantized[found] = Quantized(ints, factor)
    return found


def _mat_mul(node: OnnxNode) -> Expr:
    """Return a product; of quantized rows by a matrix, that of their ints, scaled."""
    a, b = node.input(0), node.input(1)
    left, right = node.quantized.get(a), node.quantized.get(b)
    if left is None or right is None or node.rank(a) < 2 or node.rank(b) != 2:
        return product_of(node, a, b)
    inner = node.dims(b)[0]
    is_short = isinstance(inner, int) and inner <= _MOST_SUMMED
    # One for all rows, and one for all columns or for each.
    is_apart = not node.rank(left.scale) and node.rank(right.scale) < 2
    if not (is_short and is_apart):
        return product_of(node, a, b)
    total = op.cast(product_of(node, left.ints, right.ints, "int32"), "float32")
    return op.multiply(total, op.multiply(left.scale, right.scale))


def centred(node: OnnxNode, data: Expr, point: Expr | None, *, rows: bool) -> Expr:
    """Return ints without their zero point, one for all or for each row or column.

    Differences of bytes are ints of 16 bits, whose products take half the time. Bytes
    whose zero point is 0 remain bytes.
    """
    known = None if point is None else node.value(point)
    if point is None or (known is not None and not known.any()):
        return data
    dtype = "int16" if node.dtype(data) in _BYTES else "int32"
    if node.rank(point) == 1 and rows and node.rank(data) > 1:
        point = op.expand_dims(point, 1)
    return op.subtract(op.cast(data, dtype), op.cast(point, dtype))


def on_own_grid(node: OnnxNode, data: Expr) -> Quantized:
    """Return floats as ints of the grid that DynamicQuantizeLinear finds for them.

    It has 256 points from the least number to the largest one, and 0 is one of them.
    """
    zero, last = node.scalar(0, data), node.scalar(255, data)
    low, high = op.minimum(op.min(data), zero), op.maximum(op.max(data), zero)
    least = node.scalar(
        float(np.finfo("float32").tiny), data
    )  # where all numbers are 0
    scale = op.maximum(op.divide(op.subtract(high, low), last), least)
    point = op.clip(op.round(op.divide(op.negative(low), scale)), 0, 255)
    ints = op.round(op.divide(data, scale))
    ints = op.maximum(op.negative(point), op.minimum(op.subtract(last, point), ints))
    return Quantized(op.cast(ints, "int16"), scale)


def _mat_mul_integer(node: OnnxNode) -> Expr:
    a = centred(node, node.input(0), node.optional(2), rows=True)
    b = centred(node, node.input(1), node.optional(3), rows=False)
    return product_of(node, a, b, "int32")


def _q_linear_mat_mul(node: OnnxNode) -> Expr:
    a = centred(node, node.input(0), node.optional(2), rows=True)
    b = centred(node, node.input(3), node.optional(5), rows=False)
    total = op.cast(product_of(node, a, b, "int32"), "float32")
    return _requantized(node, total, node.input(1), node.input(4), 6)


def _requantized(node: OnnxNode, total: Expr, a: Expr, b: Expr, index: int) -> Expr:
    """Return sums of products on the grid of the results."""
    scale, zero = node.input(index), node.input(index + 1)
    factor = op.divide(op.multiply(a, b), scale)
    scaled = op.multiply(total, op.cast(factor, "float32"))
    # The zero point is added before rounding, which counts where it is odd.
    scaled = op.add(scaled, op.cast(zero, "float32"))
    return _on_grid(node, scaled, None, node.dtype(zero))


def _weights(node: OnnxNode, index: int, zero: int) -> Expr:
    data, point = op.cast(node.input(index), "int32"), node.optional(zero)
    if point is None:
        return data
    if node.shape(point) not in ((), (1,)):
        point = op.reshape(point, (-1, *(1,) * (node.rank(data) - 1)))
    else:
        point = op.reshape(point, ())
    return op.subtract(data, op.cast(point, "int32"))


def _conv_integer(node: OnnxNode) -> Expr:
    return conv_of(node, _weights(node, 0, 2), _weights(node, 1, 3))


def _q_linear_conv(node: OnnxNode) -> Expr:
    total = conv_of(node, _weights(node, 0, 2), _weights(node, 3, 5))
    bias = node.optional(8)
    if bias is not None:
        total = op.nn.bias_add(total, bias)
    scale = node.input(4)
    if node.shape(scale) not in ((), (1,)):
        scale = op.reshape(scale, (-1, *(1,) * (node.rank(total) - 2)))
    return _requantized(node, op.cast(total, "float32"), node.input(1), scale, 6)


QUANTIZE: dict[str, Converter] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize_linear,
    "MatMul": _mat_mul,
    "MatMulInteger": _mat_mul_integer,
    "QLinearConv": _q_linear_conv,
    "QLinearMatMul": _q_linear_mat_mul,
    "QuantizeLinear": _quantize_linear,
}
