"""Polynomials near functions, and what is needed to come near where they are good.

Coefficients were found by Remez's algorithm, those of `erf` by linear least squares on
Chebyshev's points, with 60 digits. They are for values of float64 that become float32:
their errors, relative to the function, are below 2**-28, where a float32 has 24 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from parpass.tir.op import const
from parpass.tir.prim_expr import PrimExpr


def _floats(*texts: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, texts))


# (exp(r) - 1) / r for r from -log(2) / 2 to log(2) / 2: exp is wrong by less than
# 2**-40.
EXP = _floats(
    *("0x1.ffffffffdab23p-1", "0x1.0000000064e32p-1", "0x1.5555559c89f4cp-3"),
    *("0x1.5555543068aefp-5", "0x1.111086107eb6dp-7", "0x1.6c188a3995348p-10"),
    *("0x1.a1a4a3433c0c5p-13", "0x1.9ef4b054a7bebp-16"),
)

# 2 * atanh(s) / s of s * s, for s from 3 - sqrt(8) down to minus that: by less than
# 2**-44. The logarithm of m is that of s = (m - 1) / (m + 1), times s.
LOG = _floats(
    *("0x1.fffffffffff0ep+0", "0x1.5555555675522p-1", "0x1.99999622ef541p-2"),
    *("0x1.24943bb062d38p-2", "0x1.c61fca8eb14f8p-3", "0x1.91a32b0f2606cp-3"),
)

# erf(x) / x of x * x, for x from -4 to 4, is the first divided by the second: by less
# than 2**-28.
ERF = _floats(
    *("0x1.20dd751074717p+0", "0x1.7afd565590044p-3", "0x1.bd64e14b37dd7p-5"),
    *("0x1.f908463adac76p-9", "0x1.913e730640741p-12", "0x1.4000930b3232ep-18"),
    *("-0x1.d3f12efdc685dp-27",),
)
ERF_BELOW = _floats(
    *("0x1.0000000000000p+0", "0x1.fd44d1da87a40p-2", "0x1.d2c85c41504d5p-4"),
    *("0x1.fb3a78db7baabp-7", "0x1.580a8e27ee1e5p-10", "0x1.0c0c9d7cc304dp-14"),
)


def polynomial(x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
    """Return a polynomial by Horner's rule, the constant coefficient first."""
    *rest, last = coefficients
    found = const(last, x.dtype)
    for one in reversed(rest):
        found = found * x + const(one, x.dtype)
    return found
