"""Elementwise operators; those on two or three tensors broadcast as in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationFn
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Operand
from parpass.relay.op.declaration.attributes import Real
from parpass.relay.op.declaration.build import BROADCAST, ELEMWISE, operator
from parpass.relay.op.declaration.type_relations import (
    bool_broadcast,
    bool_identity,
    broadcast_shape,
    comparison,
    float_identity,
    identity,
    integer_broadcast,
    integral_broadcast,
    integral_identity,
    number_broadcast,
    number_identity,
    predicate,
    require_same_dtype,
    tensors,
)
from parpass.runtime import ieee754
from parpass.runtime.dtypes import is_int_dtype

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "copy",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "exp",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "floor",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "power",
    "right_shift",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "where",
]


class BinaryBuilder(Protocol):
    """Builds a call of an operator on two tensors."""

    def __call__(self, lhs: Operand, rhs: Operand) -> Call:
        """Return the call."""
        ...


def _binary(
    name: str, relation: TypeRelationFn, meaning: Callable[[Any, Any], Any], doc: str
) -> BinaryBuilder:
    """Register an operator on two tensors and return the builder of its calls."""

    def compute(_attrs: None, lhs: Array, rhs: Array) -> Array:
        return np.asarray(meaning(lhs, rhs))

    @operator(name, relation, compute, doc=doc, pattern=BROADCAST)
    def build(lhs: Operand, rhs: Operand) -> Call: ...

    return build


def _truncated_quotient(lhs: Array, rhs: Array) -> Array:
    quotient = lhs // rhs
    # numpy rounds down; where the signs differ, the result is one too low.
    return quotient + ((quotient < 0) & (quotient * rhs != lhs)).astype(lhs.dtype)


def _divide(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind in "iu":
        return _truncated_quotient(lhs, rhs)
    return lhs / rhs


def _trunc_divide(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind in "iu":
        return _truncated_quotient(lhs, rhs)
    return np.trunc(lhs / rhs)


add = _binary("add", number_broadcast, np.add, "Return `lhs + rhs`.")
subtract = _binary("subtract", number_broadcast, np.subtract, "Return `lhs - rhs`.")
multiply = _binary("multiply", number_broadcast, np.multiply, "Return `lhs * rhs`.")
divide = _binary(
    "divide", number_broadcast, _divide, "Return `lhs / rhs`, integers towards zero."
)
floor_divide = _binary(
    "floor_divide", number_broadcast, np.floor_divide, "Return `lhs / rhs`, downwards."
)
trunc_divide = _binary(
    "trunc_divide", number_broadcast, _trunc_divide, "Return `lhs / rhs`, towards zero."
)
mod = _binary("mod", number_broadcast, np.fmod, "Return the remainder of `divide`.")
floor_mod = _binary(
    "floor_mod", number_broadcast, np.mod, "Return the remainder of `floor_divide`."
)
trunc_mod = _binary(
    "trunc_mod", number_broadcast, np.fmod, "Return the remainder of `trunc_divide`."
)
power = _binary(
    "power",
    number_broadcast,
    ieee754.power,
    "Return `lhs` to the power `rhs`; ints have no negative powers.",
)
maximum = _binary(
    "maximum",
    number_broadcast,
    ieee754.maximum,
    "Return the larger; NaN if one is, and 0.0 rather than -0.0.",
)
minimum = _binary(
    "minimum",
    number_broadcast,
    ieee754.minimum,
    "Return the smaller; NaN if one is, and -0.0 rather than 0.0.",
)

equal = _binary("equal", comparison, np.equal, "Return `lhs == rhs`.")
not_equal = _binary("not_equal", comparison, np.not_equal, "Return `lhs != rhs`.")
less = _binary("less", comparison, np.less, "Return `lhs < rhs`.")
less_equal = _binary("less_equal", comparison, np.less_equal, "Return `lhs <= rhs`.")
greater = _binary("greater", comparison, np.greater, "Return `lhs > rhs`.")
greater_equal = _binary(
    "greater_equal", comparison, np.greater_equal, "Return `lhs >= rhs`."
)

logical_and = _binary(
    "logical_and", bool_broadcast, np.logical_and, "Return `lhs and rhs`."
)
logical_or = _binary(
    "logical_or", bool_broadcast, np.logical_or, "Return `lhs or rhs`."
)
logical_xor = _binary(
    "logical_xor", bool_broadcast, np.logical_xor, "Return whether one alone holds."
)

bitwise_and = _binary(
    "bitwise_and", integral_broadcast, np.bitwise_and, "Return `lhs & rhs`."
)
bitwise_or = _binary(
    "bitwise_or", integral_broadcast, np.bitwise_or, "Return `lhs | rhs`."
)
bitwise_xor = _binary(
    "bitwise_xor", integral_broadcast, np.bitwise_xor, "Return `lhs ^ rhs`."
)
left_shift = _binary(
    "left_shift", integer_broadcast, np.left_shift, "Return `lhs << rhs`."
)
right_shift = _binary(
    "right_shift", integer_broadcast, np.right_shift, "Return `lhs >> rhs`."
)


def _where_relation(types: Sequence[Type], _attrs: None) -> TensorType:
    condition, x, y = tensors(types)
    require_same_dtype((x, y))
    return TensorType(broadcast_shape(condition.shape, x.shape, y.shape), x.dtype)


def _where(_attrs: None, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


@operator("where", _where_relation, _where, pattern=BROADCAST)
def where(condition: Operand, x: Operand, y: Operand) -> Call:
    """Return the elements of `x` where the condition is not 0, else those of `y`."""
    ...


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

    Its meaning is a function of an array, whose result is cast to `dtype`, or to the
    data's.
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
    """Return a rounding that skips integers: doubles cannot represent all of them."""
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

# Targets may approximate these; their meaning is the exact function.
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
    low, high = data.dtype.type(low), data.dtype.type(high)
    return ieee754.minimum(ieee754.maximum(data, low), high)


def limit_of(limit: float, dtype: str) -> float:
    """Return a limit of `clip` for a dtype.

    For an integer dtype it is cast as in TVM, and limited to the dtype's range.
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
