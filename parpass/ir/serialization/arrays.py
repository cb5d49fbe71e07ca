"""JSON format of arrays, also in the metadata of texts: base64, little-endian.

{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}
{"dtype": "int64", "shape": [4, 5], "repeat": "AQAAAAAAAAA="}
"""

from __future__ import annotations

import binascii
import math
from typing import Any, cast

import numpy as np

from parpass.runtime.dtypes import numpy_dtype
from parpass.runtime.ndarray import NDArray

_MAX_RANK = 64  # numpy's own


def array_as_json(data: NDArray) -> dict[str, Any]:
    """Return an array as plain values; a repeated value is written once."""
    name, shape, key, values = array_parts(data)
    text = binascii.b2a_base64(values, newline=False).decode("ascii")
    return {"dtype": name, "shape": list(shape), key: text}


def array_parts(data: NDArray) -> tuple[str, tuple[int, ...], str, bytes]:
    """Return the dtype, the shape, "data" or "repeat", and the bytes of an array.

    It is "repeat" if the bytes are those of a value that is repeated.
    """
    array, key = data.numpy(), "data"
    if data.is_uniform:
        array, key = array.reshape(-1)[:1], "repeat"
    # A foreign byte order is written before the name.
    native = array.dtype.isnative
    name = data.dtype if native else f"{array.dtype.byteorder}{data.dtype}"
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return name, data.shape, key, little.tobytes()


def array_from_json(form: Any) -> NDArray:
    """Return the array encoded by `array_as_json`.

    Raises:
        ValueError: The values make no array. Nothing is allocated for a size that
            `form` only claims.
    """
    fields = cast("dict[str, Any]", form if isinstance(form, dict) else {})
    key = "data" if "data" in fields else "repeat"
    if fields.keys() != {"dtype", "shape", key}:
        raise ValueError("expected either 'data' or 'repeat', beside dtype and shape")
    return array_of_parts(fields["dtype"], fields["shape"], key, _bytes(fields[key]))


def array_of_parts(name: Any, dims: Any, key: str, data: bytes) -> NDArray:
    """Return the array that has these parts; see `array_parts`.

    Raises:
        ValueError: They are no parts of an array.
    """
    if key not in ("data", "repeat"):
        raise ValueError("expected 'data' or 'repeat'")
    dtype, shape = _dtype(name), _shape(dims)
    count = math.prod(shape) if key == "data" else 1
    if len(data) != count * dtype.itemsize:
        raise ValueError(
            f"expected {count * dtype.itemsize} bytes for shape {list(shape)} and "
            f"dtype {name}, got {len(data)}"
        )
    stored = dtype.newbyteorder("<")
    values = np.frombuffer(data, stored) if data else np.empty(0, stored)
    values = values.astype(dtype, copy=False)
    if key == "data":
        return NDArray(values.reshape(shape))
    return NDArray(np.broadcast_to(values[0], shape))


def _dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str):
        raise ValueError("expected the name of a dtype")
    if name.startswith(("<", ">")):
        dtype = numpy_dtype(name[1:]).newbyteorder("<" if name[0] == "<" else ">")
        if dtype.isnative:
            raise ValueError(f"expected dtype '{name[1:]}' without a byte order")
        return dtype
    return numpy_dtype(name)


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(cast("list[Any]", shape)) > _MAX_RANK:
        raise ValueError(f"expected a shape of at most {_MAX_RANK} dimensions")
    dims = tuple(cast("list[Any]", shape))
    if any(type(dim) is not int or dim >= 1 << 63 for dim in dims):
        raise ValueError("expected a shape of ints that have 64 bits")
    if any(dim < 0 for dim in dims):
        raise ValueError(f"expected a shape without negative dimensions, got {dims}")
    return dims


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str):
        raise ValueError("expected text in base64")
    return binascii.a2b_base64(text, strict_mode=True)
