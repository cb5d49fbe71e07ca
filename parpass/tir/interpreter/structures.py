"""The C structures that packed functions read, as values of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.runtime.dlpack_type import DataType
from parpass.tir.interpreter.memory import Array, Memory, Pointer
from parpass.tir.packed_abi import ArgTypeCode, StructField

_CPU = 1  # its number in DLPack


class Structure:
    """What `tvm_struct_get` reads parts of."""

    def field(self, index: int, field: StructField) -> Any:
        """Return a part.

        Raises:
            EvaluationError: There is no such part.
        """
        raise EvaluationError(f"expected a structure with '{field.name}', got another")


class PackedValues(Structure):
    """The values of a packed call, and their codes.

    Args:
        values: Numbers, arrays and pointers.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        found = [_packed(value) for value in values]
        self._values = [value for value, _ in found]
        self.codes = np.array([code for _, code in found], np.int32)

    def field(self, index: int, field: StructField) -> Any:
        """Return the value with an index."""
        if field != StructField.VALUE or not 0 <= index < len(self._values):
            raise EvaluationError(
                f"expected one of {len(self._values)} values, got '{field.name}' of "
                f"number {index}"
            )
        return self._values[index]


def _packed(value: Any) -> tuple[Any, ArgTypeCode]:
    if isinstance(value, np.ndarray):
        return TensorStructure(cast("Array", value)), ArgTypeCode.NDARRAY_HANDLE
    if isinstance(value, Pointer):
        return value, ArgTypeCode.HANDLE
    if value is None:
        return None, ArgTypeCode.NULL
    is_float = isinstance(value, float | np.floating)
    return value, ArgTypeCode.FLOAT if is_float else ArgTypeCode.INT


class TensorStructure(Structure):
    """A `DLTensor`: an array with its shape, and with strides if it has gaps."""

    def __init__(self, array: Array) -> None:
        kind = DataType(array.dtype)
        width = array.itemsize
        gaps = not array.flags.c_contiguous
        steps = [step // width for step in array.strides]
        if any(step < 0 for step in array.strides):
            raise EvaluationError("expected an array with steps forward, got others")
        ends = zip(array.shape, steps, strict=True)
        span = 1 + sum((dim - 1) * step for dim, step in ends) if array.size else 0
        flat = np.lib.stride_tricks.as_strided(array, (span,), (width,))
        self._fields: dict[StructField, Any] = {
            StructField.DATA: Pointer(Memory("data", flat, is_defined=True)),
            StructField.SHAPE: _ints("shape", array.shape),
            StructField.STRIDES: _ints("strides", steps) if gaps else None,
            StructField.NDIM: array.ndim,
            StructField.TYPE_CODE: int(kind.type_code),
            StructField.TYPE_BITS: kind.bits,
            StructField.TYPE_LANES: kind.lanes,
            StructField.BYTE_OFFSET: 0,
            StructField.DEVICE_ID: 0,
            StructField.DEVICE_TYPE: _CPU,
        }

    def field(self, index: int, field: StructField) -> Any:
        """Return a part of the tensor, which is one alone."""
        if index != 0 or field not in self._fields:
            return super().field(index, field)
        return self._fields[field]


def _ints(name: str, values: Sequence[int]) -> Pointer:
    return Pointer(Memory(name, np.array(values, np.int64), is_defined=True))
