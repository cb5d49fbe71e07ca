"""Operators on each element of one tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Array, TypeRelationFn
from parpass.relay.expr import Call, Operand
from parpass.relay.op.declaration.attributes import Real
from parpass.relay.op.declaration.build import ELEMWISE, operator
from parpass.relay.op.declaration.type_relations import (
    bool_identity,
    float_identity,
    identity,
    integral_identity,
    number_identity,
    predicate,
)
from parpass.runtime.dtypes import is_int_dtype

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil",
    "clip", "copy", "cos", "cosh", "erf", "exp", "fast_erf", "fast_exp", "fast_tanh",
    "floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10",
    "logical_not", "negative", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip


class UnaryBuilder(Protocol):
    """Builds a call of an operator on one tensor."""

    def __call__(self, data: Operand) -> Call:
        """Return the call."""
        ...


def _unary(
    name: str,
    relation: TypeRelationFn,
    meaning: Callable[[Any], Any],
    doc: str,
    *,
    dtype: str = "",
) -> UnaryBuilder:
    """Register an operator on one tensor and return the builder of its calls.

    The meaning is one on an array; its result is cast to `dtype`, or to the data's.
    """

    def compute(_attrs: None, data: Array) -> Array:
        result = np.asarray(meaning(data))
        return result.astype(dtype or data.dtype, copy=False)

    @operator(name, relation, compute, doc=doc, pattern=ELEMWISE)
    def build(data: Operand) -> Call: ...

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


abs = _unary("abs", number_identity, np.abs, "Return absolute values.")
negative = _unary("negative", number_identity, np.negative, "Return `-data`.")
sign = _unary("sign", number_identity, np.sign, "Return -1, 0 or 1.")
exp = _unary("exp", float_identity, np.exp, "Return e to the power of `data`.")
log = _unary("log", float_identity, np.log, "Return natural logarithms.")
log2 = _unary("log2", float_identity, np.log2, "Return logarithms to base 2.")
log10 = _unary("log10", float_identity, np.log10, "Return logarithms to base 10.")
log1p = _unary("log1p", float_identity, np.log1p, "Return `log(1 + data)`.")
sqrt = _unary("sqrt", float_identity, np.sqrt, "Return square roots.")
rsqrt = _unary("rsqrt", float_identity, _rsqrt, "Return `1 / sqrt(data)`.")
sigmoid = _unary("sigmoid", float_identity, _sigmoid, "Return `1 / (1 + exp(-data))`.")
erf = _unary("erf", float_identity, _erf, "Return the error function.")
sin = _unary("sin", float_identity, np.sin, "Return sines.")
cos = _unary("cos", float_identity, np.cos, "Return cosines.")
tan = _unary("tan", float_identity, np.tan, "Return tangents.")
asin = _unary("asin", float_identity, np.arcsin, "Return inverse sines.")
acos = _unary("acos", float_identity, np.arccos, "Return inverse cosines.")
atan = _unary("atan", float_identity, np.arctan, "Return inverse tangents.")
acosh = _unary("acosh", float_identity, np.arccosh, "Return inverse of cosh.")
asinh = _unary("asinh", float_identity, np.arcsinh, "Return inverse of sinh.")
atanh = _unary("atanh", float_identity, np.arctanh, "Return inverse of tanh.")
sinh = _unary("sinh", float_identity, np.sinh, "Return hyperbolic sines.")
cosh = _unary("cosh", float_identity, np.cosh, "Return hyperbolic cosines.")
tanh = _unary("tanh", float_identity, np.tanh, "Return hyperbolic tangents.")
floor = _unary("floor", number_identity, _of_floats(np.floor), "Round down.")
ceil = _unary("ceil", number_identity, _of_floats(np.ceil), "Round up.")
trunc = _unary("trunc", number_identity, _of_floats(np.trunc), "Round towards zero.")
round = _unary(
    "round",
    number_identity,
    _of_floats(np.rint),
    "Round to the nearest integer, halves to even.",
)
isnan = _unary("isnan", predicate, np.isnan, "Return where NaNs are.", dtype="bool")
isinf = _unary("isinf", predicate, np.isinf, "Return where +-inf is.", dtype="bool")
isfinite = _unary(
    "isfinite", predicate, np.isfinite, "Return where numbers are.", dtype="bool"
)
bitwise_not = _unary("bitwise_not", integral_identity, np.invert, "Invert each bit.")
logical_not = _unary("logical_not", bool_identity, np.logical_not, "Return `not data`.")
copy = _unary("copy", identity, np.array, "Return a copy.")

# Targets may approximate these; what they mean is the exact function.
fast_exp = _unary("fast_exp", float_identity, np.exp, "Return `exp`, approximately.")
fast_tanh = _unary(
    "fast_tanh", float_identity, np.tanh, "Return `tanh`, approximately."
)
fast_erf = _unary("fast_erf", float_identity, _erf, "Return `erf`, approximately.")


class ClipAttrs(Attrs, frozen=True):
    """Attributes of `clip`."""

    a_min: Real
    a_max: Real

    def check(self) -> None:
        """Reject an empty range."""
        if not self.a_min <= self.a_max:
            raise IRTypeError(
                f"expected a_min <= a_max, got {self.a_min:.12g} and {self.a_max:.12g}"
            )


def _clip(attrs: ClipAttrs, data: Array) -> Array:
    low, high = (limit_of(one, data.dtype.name) for one in (attrs.a_min, attrs.a_max))
    return np.clip(data, low, high).astype(data.dtype, copy=False)


def limit_of(limit: float, dtype: str) -> float:
    """Return a limit of `clip` for a dtype.

    For one of ints it is what TVM casts it to, or the dtype's own where it is beyond.
    """
    if not is_int_dtype(dtype):
        return limit
    info = np.iinfo(dtype)
    if not info.min <= limit <= info.max:
        return info.min if limit < info.min else info.max
    return int(limit)


@operator("clip", number_identity, _clip, ClipAttrs, pattern=ELEMWISE)
def clip(a: Operand, a_min: float, a_max: float) -> Call:
    """Limit the elements to the range from `a_min` to `a_max`."""
    ...
