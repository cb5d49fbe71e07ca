"""Attribute values: conversion to the one canonical form that calls store.

TVM's builders take an int where they mean a pair of equal ints, lists where they mean
tuples, and so on; a call always stores the canonical form, so that equal calls have
equal attributes. A field of an attribute class declares its conversion by its
annotation: `strides: Pair`, where `Pair` is a tuple of two ints, annotated with a
`Converter`.

Builders and the text parser both convert by `attr_fields`, which also checks each value
against the field's type. Builders then check the values against each other
(`Attrs.check`). JSON holds canonical forms only.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import types
from collections.abc import Callable, Iterable
from typing import (
    Annotated,
    Any,
    SupportsFloat,
    SupportsIndex,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec
import numpy as np

from parpass.errors import IRError, IRTypeError
from parpass.ir.attrs import Attrs
from parpass.relay.op.declaration.layout import layout_of
from parpass.runtime.dtypes import dtype_of

Ints = SupportsIndex | Iterable[SupportsIndex]
Widths = Iterable[Iterable[SupportsIndex]]
Converter = Callable[[Any, str], Any]
"""Converts a value to canonical form, or raises IRTypeError naming the attribute."""

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
    """Return padding before each axis, then after each.

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
    """Return a pair of ints for each axis: before and after.

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
    """Return a pair of nonnegative ints for each axis: before and after.

    Raises:
        IRTypeError: The value is none; `what` names the attribute.
    """
    pairs = int_pairs(value, what)
    for pair in pairs:
        if min(pair) < 0:
            raise IRTypeError(f"expected pairs of ints from 0 on, got {pair!r}")
    return pairs


def dtype_name(dtype: str, what: str = "dtype") -> str:
    """Return the name of a dtype, such as `float32`; see `dtype_of`.

    Raises:
        IRTypeError: There is no such dtype; `what` names the attribute.
    """
    try:
        return dtype_of(dtype)
    except ValueError:
        of = "" if what == "dtype" else f" for {what}"
        raise IRTypeError(
            f"expected the name of a dtype{of}, got {dtype!r:.40}"
        ) from None


def optional_dtype(dtype: str | None, what: str = "dtype") -> str:
    """Return the name of a dtype, an empty string for none."""
    return dtype_name(dtype, what) if dtype else ""


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
        IRTypeError: It is not a number.
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
    """Return a converter that keeps an empty string, for an unspecified value."""
    return lambda value, what: value and convert(value, what)


class OneOf:
    """The converter to one of some strings; see `require_choice`.

    Attributes:
        choices: The strings.
    """

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def __call__(self, value: str, what: str) -> str:
        """Return a string that is one of them."""
        return require_choice(value, self.choices, what)


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


class AttrField(msgspec.Struct, frozen=True):
    """A field of an attribute class: its type and conversion.

    Attributes:
        name: The field's name.
        kind: Its type.
        convert: Converts a value to canonical form; None if it has only one.
        is_optional: Whether None is valid and kept.
    """

    name: str
    kind: Any
    convert: Converter | None = None
    is_optional: bool = False

    def normal(self, value: Any, owner: str) -> Any:
        """Return a value in canonical form.

        Args:
            value: The value.
            owner: The operator that has the attribute.

        Raises:
            IRTypeError: It has none.
        """
        if value is None and self.is_optional:
            return None
        found = value
        try:
            if self.convert is not None:
                found = self.convert(value, self.name)
            if type(found) is self.kind or (found is None and self.is_optional):
                return found
            return msgspec.convert(_plain(found, self.kind), self.kind)
        except IRError:
            raise
        # A converter may raise anything on a meaningless value.
        except (msgspec.ValidationError, TypeError, ValueError):
            kind = self.kind | None if self.is_optional else self.kind
            wanted = kind.__name__ if isinstance(kind, type) else kind
            raise IRTypeError(
                f"'{owner}': expected {wanted} for {self.name}, got {found!r}"
            ) from None

    def stored(self, value: Any, owner: str) -> Any:
        """Return a parsed value, in canonical form if it has one.

        A program may hold values that no builder makes; they are read as written.

        Raises:
            IRTypeError: It has none, nor is it of the field's type.
        """
        try:
            kept = msgspec.convert(value, self.kind)
        except msgspec.ValidationError:
            return self.normal(value, owner)
        # Of values of the right type, only names have more than one form.
        if self.convert is not None and type(kept) is str:
            with contextlib.suppress(IRTypeError):
                return self.convert(kept, self.name)
        return kept


@functools.cache
def attr_fields(kind: type[Attrs]) -> dict[str, AttrField]:
    """Return the fields of an attribute class by name."""
    return {
        one.name: _field(one.name, one.type) for one in msgspec.structs.fields(kind)
    }


def _field(name: str, kind: Any) -> AttrField:
    if get_origin(kind) is Annotated:
        inner, convert, *_ = get_args(kind)
        return AttrField(name, inner, convert)
    if get_origin(kind) in (Union, types.UnionType):
        some = [one for one in get_args(kind) if one is not types.NoneType]
        if len(some) == 1:
            return msgspec.structs.replace(_field(name, some[0]), is_optional=True)
    return AttrField(name, kind)


def _plain(value: Any, kind: Any) -> Any:
    """Return numpy's scalars as Python's; TVM's builders accept 0 and 1 for flags."""
    if isinstance(value, np.generic):
        value = cast("Any", value.item())
    return bool(value) if kind is bool and value in (0, 1) else value
