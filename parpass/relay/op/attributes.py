"""Attribute values, as builders accept them and as calls store them.

TVM's builders take an int where they mean a pair of equal ints, lists where they mean
tuples, and so on; a call always stores the one full form, so that equal calls have
equal attributes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np

from parpass.errors import IRTypeError

Ints = SupportsIndex | Iterable[SupportsIndex]


def int_tuple(value: Ints, what: str) -> tuple[int, ...]:
    """Return one int or several as a tuple.

    Raises:
        IRTypeError: The value is neither; `what` names the attribute.
    """
    several = value if isinstance(value, Iterable) else (value,)
    try:
        return tuple(operator.index(item) for item in several)
    except TypeError:
        raise IRTypeError(f"expected ints for {what}, got {value!r}") from None


def optional_int_tuple(value: Ints | None, what: str) -> tuple[int, ...] | None:
    """Return None as it is, anything else as `int_tuple` does."""
    return None if value is None else int_tuple(value, what)


def int_pair(value: Ints, what: str, *, at_least: int = 1) -> tuple[int, int]:
    """Return height and width; one int stands for both.

    Raises:
        IRTypeError: The value is not one or two ints, or one is below `at_least`.
    """
    ints = int_tuple(value, what)
    if len(ints) not in {1, 2} or min(ints) < at_least:
        raise IRTypeError(
            f"expected one or two ints of at least {at_least} for {what}, got {value!r}"
        )
    return ints[0], ints[-1]


def padding_2d(value: Ints) -> tuple[int, int, int, int]:
    """Return padding as top, left, bottom, right.

    One int stands for all sides, two stand for height and width.

    Raises:
        IRTypeError: The value is not one, two or four ints from 0 on.
    """
    ints = int_tuple(value, "padding")
    if len(ints) not in {1, 2, 4} or min(ints) < 0:
        raise IRTypeError(
            f"expected one, two or four ints from 0 on for padding, got {value!r}"
        )
    top, left, bottom, right = (ints * 4)[:4]
    return top, left, bottom, right


def dtype_name(dtype: str) -> str:
    """Return the name of a dtype that numpy knows, such as `float32`.

    Raises:
        IRTypeError: numpy knows no such dtype.
    """
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise IRTypeError(f"expected the name of a dtype, got {dtype!r}") from None


def require_choice(value: str, choices: tuple[str, ...], what: str) -> str:
    """Return a string that is one of some choices.

    Raises:
        IRTypeError: It is not.
    """
    if value not in choices:
        wanted = " or ".join(f"'{choice}'" for choice in choices)
        raise IRTypeError(f"expected {wanted} for {what}, got {value!r}")
    return value
