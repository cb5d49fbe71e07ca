"""Operators on each element of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelation, register_op
from parpass.relay.expr import Call, Operand
from parpass.relay.op.build import call_op
from parpass.relay.op.relations import (
    bool_identity,
    float_identity,
    identity,
    integral_identity,
    number_identity,
    predicate,
)

Array = npt.NDArray[Any]


class UnaryBuilder(Protocol):
    """Builds a call of an operator on one tensor."""

    def __call__(self, data: Operand) -> Call:
        """Return the call."""
        ...


def unary(
    name: str,
    relation: TypeRelation,
    meaning: Callable[[Any], Any],
    doc: str,
    *,
    dtype: str = "",
) -> UnaryBuilder:
    """Register an operator on one tensor that has no attributes.

    Args:
        name: The operator's name.
        relation: Its type relation.
        meaning: Its meaning on an array; the result is cast where it is of another
            dtype than it should be.
        doc: The docstring of the builder.
        dtype: The dtype of the result; empty for the argument's.

    Returns:
        The builder of calls.
    """

    def compute(_attrs: None, data: Array) -> Array:
        result = np.asarray(meaning(data))
        return result.astype(dtype or data.dtype, copy=False)

    op = register_op(Op(name, 1, relation, compute, pattern=OpPattern.ELEMWISE))

    def build(data: Operand) -> Call:
        return call_op(op, (data,))

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = doc
    return build


def _rsqrt(data: Array) -> Array:
    return 1 / np.sqrt(data)


def _sigmoid(data: Array) -> Array:
    return 1 / (1 + np.exp(-data))


def _erf(data: Array) -> Any:
    return np.frompyfunc(math.erf, 1, 1)(data)


def _of_floats(rounding: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a rounding that leaves integers alone: doubles have not all of them."""
    return lambda data: data if data.dtype.kind in "iu" else rounding(data)


abs = unary("abs", number_identity, np.abs, "Return absolute values.")
negative = unary("negative", number_identity, np.negative, "Return `-data`.")
sign = unary("sign", number_identity, np.sign, "Return -1, 0 or 1.")
exp = unary("exp", float_identity, np.exp, "Return e to the power of `data`.")
log = unary("log", float_identity, np.log, "Return natural logarithms.")
log2 = unary("log2", float_identity, np.log2, "Return logarithms to base 2.")
log10 = unary("log10", float_identity, np.log10, "Return logarithms to base 10.")
log1p = unary("log1p", float_identity, np.log1p, "Return `log(1 + data)`.")
sqrt = unary("sqrt", float_identity, np.sqrt, "Return square roots.")
rsqrt = unary("rsqrt", float_identity, _rsqrt, "Return `1 / sqrt(data)`.")
sigmoid = unary("sigmoid", float_identity, _sigmoid, "Return `1 / (1 + exp(-data))`.")
erf = unary("erf", float_identity, _erf, "Return the error function.")
sin = unary("sin", float_identity, np.sin, "Return sines.")
cos = unary("cos", float_identity, np.cos, "Return cosines.")
tan = unary("tan", float_identity, np.tan, "Return tangents.")
asin = unary("asin", float_identity, np.arcsin, "Return inverse sines.")
acos = unary("acos", float_identity, np.arccos, "Return inverse cosines.")
atan = unary("atan", float_identity, np.arctan, "Return inverse tangents.")
acosh = unary("acosh", float_identity, np.arccosh, "Return inverse of cosh.")
asinh = unary("asinh", float_identity, np.arcsinh, "Return inverse of sinh.")
atanh = unary("atanh", float_identity, np.arctanh, "Return inverse of tanh.")
sinh = unary("sinh", float_identity, np.sinh, "Return hyperbolic sines.")
cosh = unary("cosh", float_identity, np.cosh, "Return hyperbolic cosines.")
tanh = unary("tanh", float_identity, np.tanh, "Return hyperbolic tangents.")
floor = unary("floor", number_identity, _of_floats(np.floor), "Round down.")
ceil = unary("ceil", number_identity, _of_floats(np.ceil), "Round up.")
trunc = unary("trunc", number_identity, _of_floats(np.trunc), "Round towards zero.")
round = unary(
    "round",
    number_identity,
    _of_floats(np.rint),
    "Round to the nearest integer, halves to even.",
)
isnan = unary("isnan", predicate, np.isnan, "Return where NaNs are.", dtype="bool")
isinf = unary("isinf", predicate, np.isinf, "Return where +-inf is.", dtype="bool")
isfinite = unary(
    "isfinite", predicate, np.isfinite, "Return where numbers are.", dtype="bool"
)
bitwise_not = unary("bitwise_not", integral_identity, np.invert, "Invert each bit.")
logical_not = unary("logical_not", bool_identity, np.logical_not, "Return `not data`.")
copy = unary("copy", identity, np.array, "Return a copy.")

# Targets may approximate these; what they mean is the exact function.
fast_exp = unary("fast_exp", float_identity, np.exp, "Return `exp`, approximately.")
fast_tanh = unary("fast_tanh", float_identity, np.tanh, "Return `tanh`, approximately.")
fast_erf = unary("fast_erf", float_identity, _erf, "Return `erf`, approximately.")


class ClipAttrs(Attrs, frozen=True):
    """Attributes of `clip`."""

    a_min: float
    a_max: float


def _clip(attrs: ClipAttrs, data: Array) -> Array:
    low: float = attrs.a_min
    high: float = attrs.a_max
    if data.dtype.kind in "iu":
        low, high = _as_int(low, data.dtype), _as_int(high, data.dtype)
    return np.clip(data, low, high).astype(data.dtype, copy=False)


def _as_int(limit: float, dtype: np.dtype[Any]) -> int:
    """Return a limit as TVM casts it, the dtype's own where it is beyond."""
    info = np.iinfo(dtype)
    if not info.min <= limit <= info.max:
        return info.min if limit < info.min else info.max
    return int(limit)


_CLIP = register_op(
    Op("clip", 1, number_identity, _clip, ClipAttrs, pattern=OpPattern.ELEMWISE)
)


def clip(a: Operand, a_min: float, a_max: float) -> Call:
    """Limit the elements to the range from `a_min` to `a_max`."""
    if not a_min <= a_max:
        raise IRTypeError(f"expected a_min <= a_max, got {a_min} and {a_max}")
    return call_op(_CLIP, (a,), ClipAttrs(a_min=float(a_min), a_max=float(a_max)))
