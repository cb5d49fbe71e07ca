"""Attribute values, as builders accept them and as calls store them.

TVM's builders take an int where they mean a pair of equal ints, lists where they mean
tuples, and so on; a call always stores the one full form, so that equal calls have
equal attributes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

from parpass.errors import IRTypeError
from parpass.runtime.dtypes import dtype_of

Ints = SupportsIndex | Iterable[SupportsIndex]

_WORDS = {2: "two", 3: "three", 4: "four", 6: "six"}


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


def ints_of_rank(
    value: Ints, rank: int, what: str, *, at_least: int = 1
) -> tuple[int, ...]:
    """Return an int for each of `rank` axes; one int stands for all.

    Raises:
        IRTypeError: The value is not one int or `rank` ints, or one is too small.
    """
    ints = int_tuple(value, what)
    if len(ints) not in {1, rank} or min(ints) < at_least:
        counts = "one int" if rank == 1 else f"one or {_WORDS[rank]} ints"
        raise IRTypeError(
            f"expected {counts} of at least {at_least} for {what}, got {value!r}"
        )
    return ints if len(ints) == rank else ints * rank


def one_int(value: SupportsIndex, what: str, *, at_least: int = 1) -> int:
    """Return an int.

    Raises:
        IRTypeError: The value is none, or is too small.
    """
    return ints_of_rank(value, 1, what, at_least=at_least)[0]


def padding_of_rank(value: Ints, rank: int) -> tuple[int, ...]:
    """Return padding before each axis, then behind each.

    One int stands for all sides, one for each axis for both of its sides.

    Raises:
        IRTypeError: The value is none of these, or an int is below 0.
    """
    ints = int_tuple(value, "padding")
    if len(ints) not in {1, rank, 2 * rank} or min(ints) < 0:
        counts = (
            f"one, {_WORDS[rank]} or {_WORDS[2 * rank]}" if rank > 1 else "one or two"
        )
        raise IRTypeError(
            f"expected {counts} ints from 0 on for padding, got {value!r}"
        )
    return (ints * (2 * rank))[: 2 * rank]


def dtype_name(dtype: str) -> str:
    """Return the name of a dtype, such as `float32`; see `dtype_of`.

    Raises:
        IRTypeError: There is no such dtype.
    """
    try:
        return dtype_of(dtype)
    except ValueError:
        raise IRTypeError(f"expected the name of a dtype, got {dtype!r:.40}") from None


def optional_dtype(dtype: str) -> str:
    """Return the name of a dtype, or an empty string as it is."""
    return dtype_name(dtype) if dtype else ""


def require_choice(value: str, choices: tuple[str, ...], what: str) -> str:
    """Return a string that is one of some choices.

    Raises:
        IRTypeError: It is not.
    """
    if value not in choices:
        wanted = " or ".join(f"'{choice}'" for choice in choices)
        raise IRTypeError(f"expected {wanted} for {what}, got {value!r}")
    return value
