"""Operators on each element of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.relay.backend.lowering.extremes import clamped
from parpass.relay.backend.lowering.template import (
    Indices,
    NoRuleError,
    Result,
    Source,
    register_injective,
)
from parpass.relay.op.tensor.elementwise import ClipAttrs, limit_of
from parpass.tir import op
from parpass.tir.data_type import data_type
from parpass.tir.expr import Select
from parpass.tir.prim_expr import PrimExpr


def _unary(name: str, compute: Callable[[Any], PrimExpr]) -> None:
    @register_injective(name)
    def rule(
        _attrs: Any, sources: Sequence[Source], _out: Result, indices: Indices
    ) -> PrimExpr:
        return compute(sources[0].at(indices))


def _negative(x: PrimExpr) -> PrimExpr:
    # By a product a float's 0 gets its sign, as by numpy.
    return op.neg(x) if data_type(x.dtype).is_floating else op.subtract(_zero(x), x)


def _sign(x: PrimExpr) -> PrimExpr:
    zero, one = _zero(x), op.const(1, x.dtype)
    # What is neither above nor below 0 is 0, or no number.
    return Select(x > zero, one, Select(x < zero, op.subtract(zero, one), x))


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
def _clip(
    attrs: ClipAttrs, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    limits = [limit_of(one, out.dtype) for one in (attrs.a_min, attrs.a_max)]
    return clamped(sources[0].at(indices), *[op.const(x, out.dtype) for x in limits])


@register_injective("cast", "cast_like")
def _cast(
    _attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    return op.cast_to(sources[0].at(indices), out.dtype)


@register_injective("reinterpret")
def _reinterpret(
    _attrs: Any, sources: Sequence[Source], out: Result, indices: Indices
) -> PrimExpr:
    if "bool" in (out.dtype, sources[0].dtype) and sources[0].dtype != out.dtype:
        raise NoRuleError("the bits of bools")
    return op.reinterpret(out.dtype, sources[0].at(indices))


@register_injective("full")
def _full(
    _attrs: Any, sources: Sequence[Source], out: Result, _indices: Indices
) -> PrimExpr:
    return op.cast_to(sources[0].at(()), out.dtype)


@register_injective("full_like")
def _full_like(
    _attrs: Any, sources: Sequence[Source], out: Result, _indices: Indices
) -> PrimExpr:
    return op.cast_to(sources[1].at(()), out.dtype)


@register_injective("zeros", "zeros_like")
def _zeros(
    _attrs: Any, _sources: Sequence[Source], out: Result, _indices: Indices
) -> PrimExpr:
    return op.const(0, out.dtype)


@register_injective("ones", "ones_like")
def _ones(
    _attrs: Any, _sources: Sequence[Source], out: Result, _indices: Indices
) -> PrimExpr:
    return op.const(1, out.dtype)
