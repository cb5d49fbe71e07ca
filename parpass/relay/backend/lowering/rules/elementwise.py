"""Lowering rules of elementwise operators, which broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.ir.op.op_table import Op
from parpass.relay.backend.lowering.extremes import clamped
from parpass.relay.backend.lowering.index_maps import broadcast_at
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    register_injective,
)
from parpass.relay.op.tensor.elementwise import ClipAttrs, limit_of
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, IntImm, PrimExpr, Select

Compute = Callable[[Any, Any], PrimExpr]


def _binary(name: str, compute: Compute) -> None:
    @register_injective(name)
    def rule(call: OpCall[Any], indices: Indices) -> PrimExpr:
        lhs, rhs = (broadcast_at(one, indices) for one in call.sources)
        return compute(lhs, rhs)


def _is_float(x: PrimExpr) -> bool:
    return data_type(x.dtype).is_floating


def _of_ints(divide: Compute, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return a quotient, or a rest, of ints; by 0 it is 0, as numpy has it."""
    zero, one = op.const(0, b.dtype), op.const(1, b.dtype)
    if isinstance(b, IntImm):
        return divide(a, b) if b.value else zero
    is_zero = op.equal(b, zero)
    return Select(is_zero, zero, divide(a, Select(is_zero, one, b)))


def _divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return op.div(a, b) if _is_float(a) else _of_ints(op.truncdiv, a, b)


def _trunc_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return op.trunc(op.div(a, b)) if _is_float(a) else _of_ints(op.truncdiv, a, b)


def _mod(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return op.fmod(a, b) if _is_float(a) else _of_ints(op.truncmod, a, b)


def _floor_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if not _is_float(a):
        return _of_ints(op.floormod, a, b)
    rest, _ = _floor_rest(a, b)
    zero = op.const(0, a.dtype)
    return Select(op.equal(rest, zero), op.copysign(zero, b), rest)


def _floor_rest(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """Return the rest that has the divisor's sign, and whether it was made to."""
    zero = op.const(0, a.dtype)
    rest = op.fmod(a, b)
    is_other = op.logical_and(
        op.not_equal(rest, zero), op.not_equal(rest < zero, b < zero)
    )
    return Select(is_other, op.add(rest, b), rest), is_other


def _floor_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return a quotient rounded down, of floats as numpy has it.

    It is worked out of the rest, which is exact where the quotient is rounded. A 0 has
    the sign of the quotient that is not rounded.
    """
    if not _is_float(a):
        return _of_ints(op.floordiv, a, b)
    dtype = a.dtype
    zero, one = op.const(0, dtype), op.const(1, dtype)
    _, is_other = _floor_rest(a, b)
    exact, quotient = op.div(a, b), op.div(op.subtract(a, op.fmod(a, b)), b)
    quotient = Select(is_other, op.subtract(quotient, one), quotient)
    down = op.floor(quotient)
    is_less = op.subtract(quotient, down) > op.const(0.5, dtype)
    nearest = Select(is_less, op.add(down, one), down)
    signed = Select(op.equal(quotient, zero), op.copysign(zero, exact), nearest)
    return Select(op.equal(b, zero), exact, signed)


def _power(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if not _is_float(a):
        raise NoRuleError("powers of ints")
    return op.power(a, b)


def _bitwise(of_ints: Compute, of_bools: Compute) -> Compute:
    return lambda a, b: of_bools(a, b) if a.dtype == "bool" else of_ints(a, b)


def _shifted(name: str) -> Compute:
    # Not by `tir.left_shift`, which refuses constants beyond the bits that there are.
    return lambda a, b: Call(a.dtype, Op.get(name), (a, b))


for _name in (
    *("add", "subtract", "multiply", "equal", "not_equal", "less", "less_equal"),
    *("greater", "greater_equal", "logical_and", "logical_or"),
):
    _binary(_name, getattr(op, _name))
_binary("divide", _divide)
_binary("floor_divide", _floor_divide)
_binary("trunc_divide", _trunc_divide)
_binary("mod", _mod)
_binary("floor_mod", _floor_mod)
_binary("trunc_mod", _mod)
_binary("power", _power)
_binary("maximum", op.maximum)
_binary("minimum", op.minimum)
_binary("logical_xor", op.not_equal)
_binary("bitwise_and", _bitwise(op.bitwise_and, op.logical_and))
_binary("bitwise_or", _bitwise(op.bitwise_or, op.logical_or))
_binary("bitwise_xor", _bitwise(op.bitwise_xor, op.not_equal))
_binary("left_shift", _shifted("tir.shift_left"))
_binary("right_shift", _shifted("tir.shift_right"))


@register_injective("where")
def _where(call: OpCall[Any], indices: Indices) -> PrimExpr:
    condition, x, y = (broadcast_at(one, indices) for one in call.sources)
    if condition.dtype != "bool":
        condition = op.not_equal(condition, op.const(0, condition.dtype))
    return Select(condition, x, y)


def _unary(name: str, compute: Callable[[Any], PrimExpr]) -> None:
    @register_injective(name)
    def rule(call: OpCall[Any], indices: Indices) -> PrimExpr:
        return compute(call.sources[0].at(indices))


def _negative(x: PrimExpr) -> PrimExpr:
    # By a product a float's 0 gets its sign, as by numpy.
    return op.neg(x) if data_type(x.dtype).is_floating else op.subtract(_zero(x), x)


def _sign(x: PrimExpr) -> PrimExpr:
    zero, one = _zero(x), op.const(1, x.dtype)
    # What is neither above nor below 0 is NaN, or becomes 0 when that is added to it.
    return Select(x > zero, one, Select(x < zero, op.subtract(zero, one), x + zero))


def _zero(x: PrimExpr) -> PrimExpr:
    return op.const(0, x.dtype)


def _bitwise_not(x: PrimExpr) -> PrimExpr:
    return op.logical_not(x) if x.dtype == "bool" else op.bitwise_not(x)


for _name in (
    *("exp", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sigmoid", "erf"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
    *("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "abs"),
    *("isnan", "isinf", "isfinite"),
):
    _unary(_name, getattr(op, _name))
for _name in ("exp", "tanh", "erf"):
    _unary(f"fast_{_name}", getattr(op, _name))
_unary("negative", _negative)
_unary("sign", _sign)
_unary("round", op.nearbyint)
_unary("bitwise_not", _bitwise_not)
_unary("logical_not", op.logical_not)
_SAME = ("checkpoint", "stop_fusion")
for _name in ("copy", "on_device", "device_copy", *map("annotation.{}".format, _SAME)):
    _unary(_name, lambda x: x)


@register_injective("clip")
def _clip(call: OpCall[ClipAttrs], indices: Indices) -> PrimExpr:
    attrs, dtype = call.attrs, call.out.dtype
    limits = [limit_of(one, dtype) for one in (attrs.a_min, attrs.a_max)]
    return clamped(call.sources[0].at(indices), *[op.const(x, dtype) for x in limits])


@register_injective("cast", "cast_like")
def _cast(call: OpCall[Any], indices: Indices) -> PrimExpr:
    return op.cast_to(call.sources[0].at(indices), call.out.dtype)


@register_injective("reinterpret")
def _reinterpret(call: OpCall[Any], indices: Indices) -> PrimExpr:
    source, dtype = call.sources[0], call.out.dtype
    if "bool" in (dtype, source.dtype) and source.dtype != dtype:
        raise NoRuleError("the bits of bools")
    return op.reinterpret(dtype, source.at(indices))


@register_injective("full")
def _full(call: OpCall[Any], _indices: Indices) -> PrimExpr:
    return op.cast_to(call.sources[0].at(()), call.out.dtype)


@register_injective("full_like")
def _full_like(call: OpCall[Any], _indices: Indices) -> PrimExpr:
    return op.cast_to(call.sources[1].at(()), call.out.dtype)


@register_injective("zeros", "zeros_like")
def _zeros(call: OpCall[Any], _indices: Indices) -> PrimExpr:
    return op.const(0, call.out.dtype)


@register_injective("ones", "ones_like")
def _ones(call: OpCall[Any], _indices: Indices) -> PrimExpr:
    return op.const(1, call.out.dtype)
