"""The dtypes that programs may name, and what numpy has for them.

`DataType`: a dtype in the parts that DLPack and TVM's binary formats have of it.
"""

from __future__ import annotations

import functools
import re
from enum import IntEnum
from importlib import import_module
from typing import Any

import numpy as np

NUMPY_DTYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
_ML_DTYPES = (
    *("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e8m0fnu"),
)

# TVM's other names of dtypes, mostly those without a width.
WIDTHS = {"int": "int32", "uint": "uint32", "float": "float32", "uint1": "bool"}
_MOST_LANES = 1 << 15

# What a dtype's name says: of numbers how many bits, and of vectors how many lanes.
_NAME = re.compile(
    r"(?:(int|uint|float|bfloat)(\d{1,2})?|(bool))(?:x(\d{1,5}))?|(handle|void)"
)
_BITS = {"bool": 1, "handle": 64, "void": 0}

DTYPES = NUMPY_DTYPES | {*_ML_DTYPES}

# What has too few digits, or no arithmetic in numpy, is computed in these.
_WIDER = {
    **dict.fromkeys(
        (name for name in DTYPES if name.startswith(("float8", "float4"))), "float32"
    ),
    "bfloat16": "float32",
    "float16": "float32",
    "int2": "int8",
    "int4": "int8",
    "uint2": "uint8",
    "uint4": "uint8",
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return numpy's dtype of that name.

    Raises:
        ValueError: There is none, or it needs the package ml_dtypes.
    """
    if name in NUMPY_DTYPES:
        return np.dtype(name)
    if name not in DTYPES:
        raise ValueError(f"no dtype named '{name[:40]}'")
    found = _of_ml_dtypes(name)
    if found is None:
        raise ValueError(f"arrays of dtype '{name}' need the package ml_dtypes")
    return found


@functools.cache
def _of_ml_dtypes(name: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(getattr(import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        return None


def is_float_dtype(name: str) -> bool:
    """Return whether this names a dtype of floats, of any width."""
    return name.startswith(("float", "bfloat"))


def is_int_dtype(name: str) -> bool:
    """Return whether this names a dtype of ints, signed or not; bools are none."""
    return name.startswith(("int", "uint"))


def is_vector_dtype(name: str) -> bool:
    """Return whether this names the dtype of vectors, such as `int8x4`.

    Programs may be typed with these; no array has one.
    """
    of, _, lanes = name.rpartition("x")
    is_count = lanes.isascii() and lanes.isdigit() and len(lanes) <= 5
    if not is_count or lanes[0] == "0" or not 1 < int(lanes) <= _MOST_LANES:
        return False
    return of in DTYPES or of == "uint1"


def dtype_of(given: object, *, or_vector: bool = False) -> str:
    """Return the name of what a caller gives as a dtype, such as `float32`.

    That is a name, one of TVM's without a width, or what numpy takes for a dtype. Where
    the package that has it is installed, numpy knows the dtype from now on.

    Args:
        given: The dtype.
        or_vector: Whether it may be the dtype of vectors.

    Raises:
        ValueError: There is no such dtype.
    """
    if isinstance(given, str):
        name = WIDTHS.get(given, given)
    else:
        try:
            name = np.dtype(given).name  # pyright: ignore -- anything that a user gives
        except TypeError:
            raise ValueError(f"no dtype is {given!r:.40}") from None
    if name not in DTYPES:
        if or_vector and is_vector_dtype(name):
            return name
        raise ValueError(f"no dtype named '{name[:40]}'")
    if name not in NUMPY_DTYPES:
        _of_ml_dtypes(name)
    return name


def parts_of(name: str) -> tuple[str, int, int]:
    """Return what the name of a dtype of TVM's says: its kind, its bits, its lanes.

    The kind is `int`, `uint`, `float`, `bfloat`, `bool`, `handle` or `void`. Numbers
    have 32 bits where the name does not say how many.

    Raises:
        ValueError: It is no name of a dtype.
    """
    found = _NAME.fullmatch(name)
    if found is not None:
        number, bits, of_bool, lanes, other = found.groups()
        code = number or of_bool or other
        width, count = int(bits or _BITS.get(code, 32)), int(lanes or 1)
        if count and (number is None or _is_width(code, width)):
            return ("bool" if (code, width) == ("uint", 1) else code), width, count
    raise ValueError(
        "expected a dtype such as 'int32', 'float32x4', 'bool' or 'handle', got "
        f"'{name:.40}'"
    )


def _is_width(code: str, bits: int) -> bool:
    if code == "bfloat":
        return bits == 16
    return bits in (8, 16, 32, 64) if code == "float" else 1 <= bits <= 64


def name_of(code: str, bits: int, lanes: int) -> str:
    """Return the name of a dtype of these parts; vectors of bools are `uint1x4`."""
    if code == "bool" and lanes > 1:
        code, bits = "uint", 1
    one = code if code in _BITS else f"{code}{bits}"
    return one if lanes == 1 else f"{one}x{lanes}"


@functools.cache
def float_range(name: str) -> tuple[float, float]:
    """Return the least and the greatest positive float that has all of its digits."""
    dtype = numpy_dtype(name)
    info: Any = np.finfo if dtype.kind == "f" else import_module("ml_dtypes").finfo
    found = info(dtype)
    return float(found.smallest_normal), float(found.max)


def converted(array: Any, dtype: Any) -> Any:
    """Return an array in another dtype.

    Ints wrap around. Of floats an int is what they are towards zero: the nearest there
    is where they are too large, and 0 where they are no number. Processors differ in
    that, and numpy gives what the processor does.
    """
    wanted: Any = np.dtype(dtype)
    if wanted.kind not in "iu" or array.dtype.kind not in "fV":
        return array.astype(wanted, copy=False)
    wide: Any = array.astype(computed_in(array.dtype.name), copy=False)
    if wide.dtype.kind != "f":
        return wide.astype(wanted)
    info: Any = np.iinfo(wanted)
    with np.errstate(invalid="ignore"):
        inside: Any = wide.astype(wanted)
    # The greatest int may be no float: what is as large as its nearest is too large.
    most, least = wide.dtype.type(info.max), wide.dtype.type(info.min)
    beyond: list[Any] = [wide >= most, wide <= least, np.isnan(wide)]
    instead: list[Any] = [wanted.type(one) for one in (info.max, info.min, 0)]
    return np.select(beyond, instead, inside)


def computed_in(dtype: str) -> str:
    """Return the dtype that operators compute in where values have this one.

    Floats of half the width or less are computed as float32 and the results rounded,
    as TVM's BF16Legalize has it: in their own arithmetic a sum of a thousand ones is
    256, and the squares of small numbers overflow. Ints below 8 bits are computed in 8.
    """
    return _WIDER.get(dtype, dtype)


class DataTypeCode(IntEnum):
    """The kinds of dtypes, by DLPack's numbers."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


class DataType:
    """A dtype: the kind of number, its bits, and the number of lanes of a vector.

    Args:
        type_str: Its name, such as `float32` or `int8x4`, or numpy's dtype.

    Attributes:
        type_code: The kind, by DLPack's number.
        bits: The bits of one lane.
        lanes: The number of lanes; 1 for a scalar.

    Raises:
        ValueError: DLPack 0.6, which TVM 0.8 has, lacks such a dtype.
    """

    __slots__ = ("bits", "lanes", "type_code")

    def __init__(self, type_str: str | np.dtype[Any]) -> None:
        name = type_str if isinstance(type_str, str) else np.dtype(type_str).name
        kind, self.bits, self.lanes = parts_of(name)
        if kind == "void":
            raise ValueError("expected a dtype of values, got 'void'")
        self.type_code = DataTypeCode["UINT" if kind == "bool" else kind.upper()]

    @classmethod
    def of_parts(cls, type_code: int, bits: int, lanes: int = 1) -> DataType:
        """Return a dtype of these parts.

        Raises:
            ValueError: There is no such kind.
        """
        made = cls.__new__(cls)
        made.type_code = DataTypeCode(type_code)
        made.bits, made.lanes = bits, lanes
        return made

    def __str__(self) -> str:
        is_bool = (self.type_code, self.bits, self.lanes) == (DataTypeCode.UINT, 1, 1)
        code = "bool" if is_bool else self.type_code.name.lower()
        return name_of(code, self.bits, self.lanes)

    def __repr__(self) -> str:
        return f"DataType('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
