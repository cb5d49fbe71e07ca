"""The constants of a text that are no scalars, in a section at its end.

The text says `meta[relay.Constant][2]`; the section is JSON, in which entry 2 has the
dtype, the shape and the bytes of the array in base64, those of one element under
`repeat` if all are the same.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import msgspec
import numpy as np

from parpass.relay.ndarray import NDArray
from parpass.relay.text.dtypes import numpy_dtype
from parpass.relay.text.literals import scalar_text


class ConstantPool:
    """Numbers constants by content, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[NDArray, int] = {}

    def text_of(self, data: NDArray) -> str:
        """Return a scalar as it is, anything else as a reference to the section."""
        scalar = scalar_text(data)
        if scalar is not None:
            return scalar
        number = self._numbers.setdefault(data, len(self._numbers))
        return f"meta[relay.Constant][{number}]"

    def section(self) -> str:
        """Return the section, nothing if it would be empty."""
        if not self._numbers:
            return ""
        entries = ",\n".join(json.dumps(_entry(data)) for data in self._numbers)
        return f'\n#[metadata]\n{{"relay.Constant": [\n{entries}\n]}}\n'


def _entry(data: NDArray) -> dict[str, Any]:
    array, key = data.numpy(), "data"
    if data.is_uniform:
        array, key = array.reshape(-1)[:1], "repeat"
    encoded = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": data.dtype, "shape": data.shape, key: encoded}


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes | None = None  # msgspec reads base64
    repeat: bytes | None = None


class _Section(msgspec.Struct, rename={"constants": "relay.Constant"}):
    constants: list[_Entry]


def read_section(text: str) -> list[NDArray]:
    """Return the arrays of the section, given what follows its heading.

    Raises:
        ValueError: The section is malformed; the message of broken JSON has the place
            as `(byte 12)`.
    """
    # A lone surrogate has no encoding; a question mark in its place is refused as well.
    encoded = text.encode("utf-8", "replace")
    section = msgspec.json.decode(encoded, type=_Section)
    arrays: list[NDArray] = []
    for number, entry in enumerate(section.constants):
        try:
            arrays.append(_array(entry))
        except ValueError as error:
            raise ValueError(f"constant {number}: {error}") from None
    return arrays


def _array(entry: _Entry) -> NDArray:
    dtype, shape = numpy_dtype(entry.dtype), entry.shape
    if any(dim < 0 for dim in shape):
        raise ValueError(f"expected a shape without negative dimensions, got {shape}")
    data = entry.data if entry.data is not None else entry.repeat
    if data is None or None not in {entry.data, entry.repeat}:
        raise ValueError("expected either 'data' or 'repeat'")
    count = math.prod(shape) if entry.data is not None else 1
    if len(data) != count * dtype.itemsize:
        raise ValueError(
            f"expected {count * dtype.itemsize} bytes for shape {list(shape)} and "
            f"dtype {entry.dtype}, got {len(data)}"
        )
    values = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
    if entry.data is not None:
        return NDArray(values.reshape(shape))
    return NDArray(np.broadcast_to(values[0], shape))
