"""The dtypes that a text may name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

_NUMPY = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
_ML_DTYPES = (
    *("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e8m0fnu"),
)

# TVM's names of dtypes without a width.
WIDTHS = {"int": "int32", "uint": "uint32", "float": "float32"}

DTYPES = frozenset(_NUMPY + _ML_DTYPES)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return numpy's dtype of that name.

    Raises:
        ValueError: There is none, or it needs the package ml_dtypes.
    """
    if name in _NUMPY:
        return np.dtype(name)
    if name not in DTYPES:
        raise ValueError(f"no dtype named '{name[:40]}'")
    try:
        return np.dtype(getattr(import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):
        raise ValueError(
            f"arrays of dtype '{name}' need the package ml_dtypes"
        ) from None
