"""Operators of which IEEE 754 says more than numpy does.

Numpy's results are the same but for zeros and infinities, where they depend on how many
elements there are and on the processor. These depend on values alone, so the passes,
the interpreters and machine code agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_where: Callable[..., Any] = np.where


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two: NaN if one is, and 0.0 rather than -0.0."""
    found = np.maximum(a, b)
    if found.dtype.kind != "f":
        return found
    return _with_zeros(found, np.signbit(a) & np.signbit(b))


def minimum(a: Any, b: Any) -> Any:
    """Return the lesser of two: NaN if one is, and -0.0 rather than 0.0."""
    found = np.minimum(a, b)
    if found.dtype.kind != "f":
        return found
    return _with_zeros(found, np.signbit(a) | np.signbit(b))


def max_along(data: Any, **how: Any) -> Any:
    """Return the `maximum` of all elements along axes; the arguments are numpy's."""
    found: Any = np.max(data, **how)
    if data.dtype.kind != "f" or not data.size:
        return found
    return _with_zeros(found, np.signbit(data).all(**how))


def min_along(data: Any, **how: Any) -> Any:
    """Return the `minimum` of all elements along axes; the arguments are numpy's."""
    found: Any = np.min(data, **how)
    if data.dtype.kind != "f" or not data.size:
        return found
    return _with_zeros(found, np.signbit(data).any(**how))


def _with_zeros(found: Any, is_negative: Any) -> Any:
    """Return results, those that are zeros with the sign that they have to have."""
    if np.all(found):
        return found
    one = found.dtype.type(1)
    return np.copysign(found, _where(is_negative, -one, one))


def power(a: Any, b: Any) -> Any:
    """Return `a` to the power `b`, of floats as C's `pow` has it.

    Numpy computes roots as such where all exponents are one 0.5; but of -0.0 and the
    negative infinity that power is positive.
    """
    if np.asarray(a).dtype.kind == "f":
        has_no_sign = (np.asarray(b) == 0.5) & ((a == 0) | np.isinf(a))
        a = _where(has_no_sign, np.abs(a), a)
    return np.power(a, b)
