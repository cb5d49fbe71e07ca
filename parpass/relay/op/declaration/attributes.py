"""Attribute values, as builders accept them and as calls store them.

TVM's builders take an int where they mean a pair of equal ints, lists where they mean
tuples, and so on; a call always stores the one full form, so that equal calls have
equal attributes. A field of an attribute class says in its annotation how a value gets
that form: `strides: Pair`, where `Pair` is a tuple of two ints, annotated with a
`Converter`. `normal.py` asks for it, whoever makes the call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any, SupportsFloat, SupportsIndex

from parpass.errors import IRTypeError
from parpass.relay.op.declaration.layout import layout_of
from parpass.runtime.dtypes import dtype_of

Ints = SupportsIndex | Iterable[SupportsIndex]
Widths = Iterable[Iterable[SupportsIndex]]
Converter = Callable[[Any, str], Any]
"""Gives a value its full form, or raises IRTypeError; is told the attribute's name."""

_WORDS = {2: "two", 3: "three", 4: "four", 6: "six"}


def int_tuple(value: Ints, what: str) -> tuple[int, ...]:
    """Return one int or several as a tuple.

    Raises:
        IRTypeError: The value is neither; `what` names the attribute.
    """
    several = value if isinstance(value, Iterable) else (value,)
    try:
        return tuple(map(operator.index, several))
    except TypeError:
        raise IRTypeError(f"expected ints for {what}, got {value!r}") from None


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


def int_pairs(value: Widths, what: str) -> tuple[tuple[int, int], ...]:
    """Return a pair of ints for each axis, those before and behind.

    Raises:
        IRTypeError: The value is none; `what` names the attribute.
    """
    pairs: list[tuple[int, int]] = []
    for pair in value:
        ints = int_tuple(pair, what)
        if len(ints) != 2:
            raise IRTypeError(f"expected pairs of ints, got {pair!r}")
        pairs.append((ints[0], ints[1]))
    return tuple(pairs)


def width_pairs(value: Widths, what: str) -> tuple[tuple[int, int], ...]:
    """Return a pair of ints from 0 on for each axis, those before and behind.

    Raises:
        IRTypeError: The value is none; `what` names the attribute.
    """
    pairs = int_pairs(value, what)
    for pair in pairs:
        if min(pair) < 0:
            raise IRTypeError(f"expected pairs of ints from 0 on, got {pair!r}")
    return pairs


def dtype_name(dtype: str, _what: str = "dtype") -> str:
    """Return the name of a dtype, such as `float32`; see `dtype_of`.

    Raises:
        IRTypeError: There is no such dtype.
    """
    try:
        return dtype_of(dtype)
    except ValueError:
        raise IRTypeError(f"expected the name of a dtype, got {dtype!r:.40}") from None


def optional_dtype(dtype: str | None, _what: str = "dtype") -> str:
    """Return the name of a dtype, an empty string for none."""
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


def real(value: SupportsFloat | str, what: str) -> float:
    """Return a number of any kind as a float.

    Raises:
        IRTypeError: It is none.
    """
    if isinstance(value, SupportsFloat):
        return float(value)
    raise IRTypeError(f"expected a number for {what}, got {value!r}")


def of_rank(rank: int, *, at_least: int = 1) -> Converter:
    """Return the converter to an int for each of `rank` axes; see `ints_of_rank`."""
    return lambda value, what: ints_of_rank(value, rank, what, at_least=at_least)


def sides(rank: int) -> Converter:
    """Return the converter to padding of `rank` axes; see `padding_of_rank`."""
    return lambda value, _what: padding_of_rank(value, rank)


def in_layout(axes: str) -> Converter:
    """Return the converter to a layout of these axes; see `layout_of`."""
    return lambda value, what: layout_of(value, axes, what)


def as_said(convert: Converter) -> Converter:
    """Return a converter that leaves an empty string, which says nothing, alone."""
    return lambda value, what: value and convert(value, what)


def one_of(*choices: str) -> Converter:
    """Return the converter to one of some strings; see `require_choice`."""
    return lambda value, what: require_choice(value, choices, what)


IntTuple = Annotated[tuple[int, ...], int_tuple]
Count = Annotated[int, one_int]
"""An int from 1 on."""
Real = Annotated[float, real]
DType = Annotated[str, dtype_name]
MaybeDType = Annotated[str, optional_dtype]
"""Empty where nothing is said."""
IntPairs = Annotated[tuple[tuple[int, int], ...], int_pairs]
WidthPairs = Annotated[tuple[tuple[int, int], ...], width_pairs]

One = Annotated[tuple[int], of_rank(1)]
Pair = Annotated[tuple[int, int], of_rank(2)]
Triple = Annotated[tuple[int, int, int], of_rank(3)]
Sides1D = Annotated[tuple[int, int], sides(1)]
Sides2D = Annotated[tuple[int, int, int, int], sides(2)]
Sides3D = Annotated[tuple[int, int, int, int, int, int], sides(3)]

NCW = Annotated[str, in_layout("NCW")]
NCHW = Annotated[str, in_layout("NCHW")]
NCDHW = Annotated[str, in_layout("NCDHW")]
MaybeNCW = Annotated[str, as_said(in_layout("NCW"))]
MaybeNCHW = Annotated[str, as_said(in_layout("NCHW"))]
MaybeNCDHW = Annotated[str, as_said(in_layout("NCDHW"))]
