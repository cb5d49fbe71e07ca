"""Powers of e whose sum divides them, as in softmax.

The last digit of a sum is not promised, nor is that of a quotient by it. So its terms
need not be as accurate as `exp` by itself, which is computed in float64.
"""

from __future__ import annotations

import math

from parpass.target.elementary_polynomials import EXP2
from parpass.tir import op
from parpass.tir.expr import Call, Let, PrimExpr, Select, Var

_LEAST = -104.0  # of what is less, the power is nearer to 0 than to any other float32
_LOG2_E = 1 / math.log(2)
_EXP = [one * _LOG2_E**at for at, one in enumerate(EXP2, 1)]  # (e**x - 1) / x
# They add up to the logarithm of 2. The first has so few bits that products are exact.
_LN2 = float.fromhex("0x1.63p-1"), math.log(2) - float.fromhex("0x1.63p-1")
_LAST_IS_ONE = 1.5 * 2.0**23  # at which neighbours of float32 differ by one
_MANTISSA, _BIAS = 23, 127  # of a float32: bits, and the exponent of 1
_RAISED = 64  # exponents, by which a power is no subnormal before the last product


def power(x: PrimExpr) -> PrimExpr:
    """Return `exp(x)` of what is at most 0, or NaN.

    Of float32 it is wrong by up to two units of the last digit.
    """
    if x.dtype != "float32":
        return op.exp(x)
    bound: list[tuple[Var, PrimExpr]] = []

    def named(name: str, value: PrimExpr) -> Var:
        bound.append((Var(name, value.dtype), value))
        return bound[-1][0]

    x = named("x", x)
    is_low = x < _float(_LEAST)
    x = named("within", Select(is_low, _float(0), x))
    shifted = named("shifted", _fused(x, _LOG2_E, _LAST_IS_ONE))
    exponent = named("exponent", op.subtract(shifted, _float(_LAST_IS_ONE)))
    rest = _fused(exponent, -_LN2[1], _fused(exponent, -_LN2[0], x))
    rest = named("rest", rest)
    near: PrimExpr = _float(_EXP[-1])
    for one in (*reversed(_EXP[:-1]), 1.0):
        near = _fused(near, rest, one)
    bits = op.left_shift(op.reinterpret("int32", shifted), _MANTISSA)
    bits = op.add(bits, (_BIAS + _RAISED) << _MANTISSA)
    raised = op.multiply(near, op.reinterpret("float32", bits))
    lowered = op.multiply(raised, _float(2.0**-_RAISED))
    result: PrimExpr = Select(is_low, _float(0), lowered)
    for var, value in reversed(bound):
        result = Let(var, value, result)
    return result


def _fused(a: PrimExpr, b: float | PrimExpr, c: float | PrimExpr) -> PrimExpr:
    return Call("float32", "fma", (a, _float(b), _float(c)))


def _float(value: float | PrimExpr) -> PrimExpr:
    return value if isinstance(value, PrimExpr) else op.const(value, "float32")
