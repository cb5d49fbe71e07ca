"""Dtypes, and what becomes of values in another one."""

from __future__ import annotations

import numpy as np
import pytest

from parpass.runtime import DataType, DataTypeCode
from parpass.runtime.dtypes import converted, numpy_dtype


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_floats_that_no_int_is_near_are_the_nearest_or_0(
    source: str, dtype: str
) -> None:
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        floats = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.75, -0.5, 1.0])
        floats = floats.astype(numpy_dtype(source))
    wanted = [0, info.max, info.min, info.max, info.min, 2, 0, 1]
    found = converted(floats, dtype)
    assert found.dtype == dtype
    assert found.tolist() == wanted


def test_ints_wrap_around() -> None:
    assert converted(np.array([-1, 256, 300]), "uint8").tolist() == [255, 0, 44]


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
