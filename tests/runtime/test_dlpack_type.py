from __future__ import annotations

import numpy as np
import pytest

from parpass.runtime import DataType, DataTypeCode


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("float32", (DataTypeCode.FLOAT, 32, 1)),
        ("int8x4", (DataTypeCode.INT, 8, 4)),
        ("bool", (DataTypeCode.UINT, 1, 1)),
        ("bfloat16", (DataTypeCode.BFLOAT, 16, 1)),
        ("handle", (DataTypeCode.HANDLE, 64, 1)),
    ],
)
def test_a_name_has_parts_and_the_parts_a_name(
    name: str, parts: tuple[int, int, int]
) -> None:
    found = DataType(name)
    assert (found.type_code, found.bits, found.lanes) == parts
    assert str(DataType.of_parts(*parts)) == name
    assert found == DataType.of_parts(*parts)


def test_numpys_dtypes_are_taken() -> None:
    assert DataType(np.dtype("uint16")) == DataType("uint16")
    assert hash(DataType(np.dtype(bool))) == hash(DataType("bool"))


def test_a_number_without_bits_has_32() -> None:
    assert str(DataType("floatx4")) == "float32x4"


@pytest.mark.parametrize("name", ["flaot32", "int0", "int8x0", "float33", "bool8"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"expected a dtype such as .*, got '{name}'"):
        DataType(name)


def test_no_value_is_no_dtype_of_values() -> None:
    with pytest.raises(ValueError, match="expected a dtype of values, got 'void'"):
        DataType("void")
