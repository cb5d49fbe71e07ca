"""`DataType`: a dtype in the parts that DLPack and TVM's binary formats have of it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from parpass.runtime.dtypes import name_of, parts_of


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
