"""The polynomials that elementary functions are computed by.

Their coefficients were found by Remez's algorithm, those of `erf` by
linear least squares on Chebyshev's points, with 60 digits. Their errors, relative to
the function, are below 2**-28, where a float32 has 24 bits.
"""

from __future__ import annotations


def _floats(*texts: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, texts))


# (2**f - 1) / f for f from -1 / 2 to 1 / 2: 2**f is wrong by less than 2**-28.
EXP2 = _floats(
    *("0x1.62e430af60274p-1", "0x1.ebfbdc3b0a2dcp-3", "0x1.c6aee839e6e91p-5"),
    *("0x1.3b2d4d7a83e77p-7", "0x1.5f3e7f4ab3cbbp-10", "0x1.41fb9f5580f26p-13"),
)

# 2 * atanh(s) / s of s * s, for s from 3 - sqrt(8) down to minus that: by less than
# 2**-44. The logarithm of m is that of s = (m - 1) / (m + 1), times s.
LOG = _floats(
    *("0x1.fffffffffff0ep+0", "0x1.5555555675522p-1", "0x1.99999622ef541p-2"),
    *("0x1.24943bb062d38p-2", "0x1.c61fca8eb14f8p-3", "0x1.91a32b0f2606cp-3"),
)

# tanh(x) / x of x * x, for x from -9.25 to 9.25, is the first divided by the second: by
# less than 2**-28.
TANH = _floats(
    *("0x1.fffffff12746cp-1", "0x1.17f101754ce3dp-3", "0x1.f93d8976688e1p-9"),
    *("0x1.d1474cb07cc30p-16", "0x1.0115203ae24b4p-25", "-0x1.9c6721dd7f790p-37"),
)
TANH_BELOW = _floats(
    *("0x1.0000000000000p+0", "0x1.e14dd4f435df4p-2", "0x1.bd93b4acdf197p-6"),
    *("0x1.9a796f119c70ap-12", "0x1.546f8138f3c3dp-20"),
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
