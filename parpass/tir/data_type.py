"""Dtypes by name: `int32`, `float16x8`, `bool`, `handle`, `void`."""

from __future__ import annotations

import functools
from typing import NamedTuple

from parpass.errors import IRTypeError
from parpass.runtime.dtypes import name_of, parts_of


class DataType(NamedTuple):
    """The parts of a dtype.

    Attributes:
        code: `int`, `uint`, `float`, `bfloat`, `bool`, `handle` or `void`.
        bits: The bits of one lane; a `bool` has one, a `handle` 64.
        lanes: The number of values in a vector; 1 for a scalar.
    """

    code: str
    bits: int
    lanes: int

    @property
    def is_integral(self) -> bool:
        """Whether values are ints, signed or not, or bools."""
        return self.code in ("int", "uint", "bool")

    @property
    def is_floating(self) -> bool:
        """Whether values are floats."""
        return self.code in ("float", "bfloat")

    @property
    def element(self) -> str:
        """The dtype of one lane."""
        return name_of(self.code, self.bits, 1)

    def with_lanes(self, lanes: int) -> str:
        """Return the dtype of a vector of such values, or of a scalar for one lane."""
        return name_of(self.code, self.bits, lanes)


@functools.lru_cache(maxsize=4096)
def data_type(name: str) -> DataType:
    """Return what the name of a dtype says.

    Raises:
        IRTypeError: It is no dtype.
    """
    try:
        return DataType(*parts_of(name or "void"))
    except ValueError as error:
        raise IRTypeError(str(error)) from None


@functools.lru_cache(maxsize=4096)
def checked(name: object) -> str:
    """Return a dtype by its full name: `int` is `int32`, `uint1` is `bool`.

    Raises:
        IRTypeError: It is no dtype.
    """
    text = name if isinstance(name, str) else str(getattr(name, "name", name))
    return name_of(*data_type(text))


def int_range(name: str) -> range:
    """Return the values that an integral dtype has."""
    found = data_type(name)
    if found.code == "int":
        return range(-(1 << (found.bits - 1)), 1 << (found.bits - 1))
    return range(1 << found.bits)


# What most constants have; who makes one need not take its dtype apart.
COMMON_INTS = {
    name: int_range(name)
    for bits in (8, 16, 32, 64)
    for name in ("bool", f"int{bits}", f"uint{bits}")
}


def wrapped(value: int, name: str) -> int:
    """Return an int as what is left of it in a dtype, as two's complement has it."""
    values = int_range(name)
    if value in values:
        return value
    size = values.stop - values.start
    return (value - values.start) % size + values.start
