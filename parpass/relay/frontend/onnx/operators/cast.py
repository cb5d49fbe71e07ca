"""Casts, which are saturated where the dtype is a float of 8 bits or fewer."""

from __future__ import annotations

from typing import Any, cast

import onnx
from ml_dtypes import finfo

from parpass.relay import op
from parpass.relay.expr import Expr
from parpass.relay.frontend.onnx.onnx_node import OnnxNode
from parpass.relay.frontend.onnx.operators.signature import Converter
from parpass.relay.frontend.onnx.tensor_proto import dtype_of
from parpass.runtime.dtypes import is_float_dtype

_SATURATED = ("float8_e4m3", "float8_e5m2")
_EXPONENTS = "float8_e8m0fnu"


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
