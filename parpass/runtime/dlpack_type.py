"""`DataType`: a dtype in the parts that DLPack and TVM's binary formats have of it."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

import numpy as np

_TEXT = re.compile(r"(bfloat|float|uint|int|bool|handle)(\d*)(?:x(\d+))?")
_BITS = {"bool": 1, "handle": 64}  # of those without a number; of others 32


class DataTypeCode(IntEnum):
    """The kinds of dtypes, by DLPack's numbers."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


class DataType:
    """A dtype: what kind of number it is, its bits, and how many lanes a vector has.

    Args:
        type_str: Its name, such as `float32` or `int8x4`, or numpy's dtype.

    Attributes:
        type_code: The kind, by DLPack's number.
        bits: Of one lane.
        lanes: 1 for what is no vector.

    Raises:
        ValueError: DLPack has no such dtype, as of version 0.6, which TVM 0.8 has.
    """

    __slots__ = ("bits", "lanes", "type_code")

    def __init__(self, type_str: str | np.dtype[Any]) -> None:
        name = type_str if isinstance(type_str, str) else np.dtype(type_str).name
        found = _TEXT.fullmatch(name)
        if found is None:
            raise ValueError(f"expected a dtype such as 'float32', got '{name:.40}'")
        kind, bits, lanes = found.groups()
        code = "uint" if kind == "bool" else kind
        self.type_code = DataTypeCode[code.upper()]
        self.bits = int(bits or _BITS.get(kind, 32))
        self.lanes = int(lanes or 1)

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
        if (self.type_code, self.bits, self.lanes) == (DataTypeCode.UINT, 1, 1):
            return "bool"
        lanes = "" if self.lanes == 1 else f"x{self.lanes}"
        bits = "" if self.type_code is DataTypeCode.HANDLE else self.bits
        return f"{self.type_code.name.lower()}{bits}{lanes}"

    def __repr__(self) -> str:
        return f"DataType('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
