"""What a dtype's name says: `int32`, `float16x8`, `bool`, `handle`, `void`."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from parpass.errors import IRTypeError
from parpass.runtime.dtypes import WIDTHS

_NAME = re.compile(r"(int|uint|float|bfloat)(\d{1,2})?(?:x(\d{1,5}))?")
_BOOL = re.compile(r"bool(?:x(\d{1,5}))?")


class DataType(NamedTuple):
    """A dtype taken apart.

    Attributes:
        code: `int`, `uint`, `float`, `bfloat`, `bool`, `handle` or `void`.
        bits: Of one lane; a `bool` has one, a `handle` 64.
        lanes: How many values a vector has; 1 for a scalar.
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
        return named(self.code, self.bits, 1)

    def with_lanes(self, lanes: int) -> str:
        """Return the dtype of a vector of such values; of a scalar for one lane."""
        return named(self.code, self.bits, lanes)


@functools.lru_cache(maxsize=4096)
def data_type(name: str) -> DataType:
    """Return what the name of a dtype says.

    Raises:
        IRTypeError: It is no dtype.
    """
    if name in ("void", ""):
        return DataType("void", 0, 1)
    if name == "handle":
        return DataType("handle", 64, 1)
    of_bools = _BOOL.fullmatch(name)
    if of_bools:
        return DataType("bool", 1, int(of_bools[1] or 1))
    found = _NAME.fullmatch(name)
    bits = int((found and found[2]) or 32)
    if found is None or not _is_width(found[1], bits) or found[3] == "0":
        raise IRTypeError(
            "expected a dtype such as 'int32', 'float32x4', 'bool' or 'handle', got "
            f"'{str(name)[:40]}'"
        )
    return DataType(found[1], bits, int(found[3] or 1))


def _is_width(code: str, bits: int) -> bool:
    if code == "bfloat":
        return bits == 16
    return bits in (8, 16, 32, 64) if code == "float" else 1 <= bits <= 64


def named(code: str, bits: int, lanes: int) -> str:
    """Return the name of a dtype."""
    one = code if code in ("bool", "handle", "void") else f"{code}{bits}"
    return one if lanes == 1 else f"{one}x{lanes}"


@functools.lru_cache(maxsize=4096)
def checked(name: object) -> str:
    """Return a dtype by its full name: `int` is `int32`, `uint1` is `bool`.

    Raises:
        IRTypeError: It is no dtype.
    """
    text = name if isinstance(name, str) else str(getattr(name, "name", name))
    found = data_type(WIDTHS.get(text, text))
    if found.code == "uint" and found.bits == 1:
        found = DataType("bool", 1, found.lanes)
    return named(*found)


def int_range(name: str) -> range:
    """Return the values that an integral dtype has."""
    found = data_type(name)
    if found.code == "int":
        return range(-(1 << (found.bits - 1)), 1 << (found.bits - 1))
    return range(1 << found.bits)


def wrapped(value: int, name: str) -> int:
    """Return an int as what is left of it in a dtype, as two's complement has it."""
    values = int_range(name)
    if value in values:
        return value
    size = values.stop - values.start
    return (value - values.start) % size + values.start
