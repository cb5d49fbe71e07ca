"""Weights as bytes, in the format of TVM's `.params` files: either side reads both.

All numbers are little-endian. A file begins with a number that says what it is, and
with one that is reserved; then come the names, and then the arrays, each with its own
such pair, device, rank, dtype, shape and bytes. Source: TVM 0.8,
`src/runtime/file_utils.cc` and `include/tvm/runtime/ndarray.h`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import ArgumentError, MalformedModelError
from parpass.errors.core import describe_kind
from parpass.runtime.array_like import as_number_array
from parpass.runtime.dtypes import DataType, numpy_dtype
from parpass.runtime.ndarray import NDArray

_LIST_MAGIC = 0xF7E58D4F05049CB7
_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_CPU = 1
_MOST_DIMS = 64  # as many as numpy has


def save_param_dict(params: Mapping[str, NDArray | npt.ArrayLike]) -> bytearray:
    """Return weights by name as the bytes of a `.params` file.

    Raises:
        ArgumentError: `params` is not a mapping, or DLPack lacks the dtype of a weight.
    """
    if not isinstance(cast("object", params), Mapping):
        raise ArgumentError(f"expected params by name, got {describe_kind(params)}")
    out = bytearray(struct.pack("<QQQ", _LIST_MAGIC, 0, len(params)))
    for name in params:
        encoded = name.encode()
        out += struct.pack("<Q", len(encoded)) + encoded
    out += struct.pack("<Q", len(params))
    for name, value in params.items():
        if not isinstance(value, NDArray):
            value = NDArray(as_number_array(value, f"params['{name}']"))
        _write(out, name, value)
    return out


def _write(out: bytearray, name: str, array: NDArray) -> None:
    try:
        kind = DataType(array.dtype)
    except ValueError as error:
        raise ArgumentError(f"params['{name}'] cannot be saved: {error}") from None
    shape = array.shape
    out += struct.pack("<QQiii", _ARRAY_MAGIC, 0, _CPU, 0, len(shape))
    out += struct.pack("<BBH", kind.type_code, kind.bits, kind.lanes)
    out += struct.pack(f"<{len(shape)}qq", *shape, array.nbytes)
    out += array.raw()


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """Return the weights by name in the bytes of a `.params` file.

    Raises:
        ArgumentError: The argument is not bytes.
        MalformedModelError: The bytes are truncated, or not in this format.
    """
    if not isinstance(cast("object", param_bytes), bytes | bytearray | memoryview):
        raise ArgumentError(
            "expected the bytes of a .params file, as save_param_dict gives them, got "
            f"{describe_kind(param_bytes)}"
        )
    try:
        return _Reader(param_bytes).params()
    except (struct.error, ValueError, OverflowError) as error:
        raise MalformedModelError(
            f"expected the bytes of a .params file; they are cut or of another format "
            f"({error})",
            source="param_bytes",
        ) from error


class _Reader:
    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._at = 0

    def params(self) -> dict[str, NDArray]:
        self._expect(_LIST_MAGIC)
        (count,) = self._numbers("<Q")
        names: list[str] = []
        for _ in range(count):
            (length,) = self._numbers("<Q")
            names.append(str(self._bytes(length), "utf-8"))
        if self._numbers("<Q") != (count,):
            raise ValueError("as many arrays as names")
        return {name: self._array() for name in names}

    def _array(self) -> NDArray:
        self._expect(_ARRAY_MAGIC)
        device, _, rank, code, bits, lanes = self._numbers("<iiiBBH")
        if device != _CPU or lanes != 1 or not 0 <= rank <= _MOST_DIMS:
            raise ValueError(f"device {device}, {lanes} lanes, rank {rank}")
        *shape, length = self._numbers(f"<{rank}qq")
        dtype = numpy_dtype(str(DataType.of_parts(code, bits)))
        if min(shape, default=0) < 0 or length != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{length} bytes for shape {tuple(shape)}")
        array = np.frombuffer(self._bytes(length), dtype).reshape(shape)
        return NDArray.owning(array.copy())

    def _expect(self, magic: int) -> None:
        found, _ = self._numbers("<QQ")
        if found != magic:
            raise ValueError(f"{found:#x} where {magic:#x} stands")

    def _numbers(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, length: int) -> memoryview:
        part = self._data[self._at : self._at + length]
        if len(part) != length:
            raise ValueError(f"{length} bytes at {self._at}, of {len(self._data)}")
        self._at += length
        return part
