"""What LLVM's text has for dtypes and for constants.

A bool is `i1`, and a byte in memory. `bfloat16` is its bits, an `i16`: few machines
have its arithmetic, and LLVM's own would call functions that nobody has.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from parpass.errors import CodeGenError
from parpass.tir.data_type import data_type, wrapped

_FLOATS = {16: "half", 32: "float", 64: "double"}
_INTS = {8, 16, 32, 64}


@functools.cache
def llvm_type(dtype: str) -> str:
    """Return the type of a value of a dtype.

    Raises:
        CodeGenError: There is none.
    """
    found = data_type(dtype)
    if found.code == "handle":
        return "ptr"
    if found.code == "bool":
        one = "i1"
    elif found.code == "float" and found.bits in _FLOATS:
        one = _FLOATS[found.bits]
    elif found.code == "bfloat":
        one = "i16"
    elif found.code in ("int", "uint") and found.bits in _INTS:
        one = f"i{found.bits}"
    else:
        raise CodeGenError(
            f"expected bools, ints of 8 to 64 bits, floats of 16 to 64 bits or "
            f"bfloat16, got '{dtype}'"
        )
    return one if found.lanes == 1 else f"<{found.lanes} x {one}>"


@functools.cache
def memory_type(dtype: str) -> str:
    """Return the type that values of a dtype have in memory."""
    found = data_type(dtype)
    if found.code != "bool":
        return llvm_type(dtype)
    return "i8" if found.lanes == 1 else f"<{found.lanes} x i8>"


def element_bytes(dtype: str) -> int:
    """Return how many bytes one lane takes in memory."""
    return max(1, data_type(dtype).bits // 8)


@functools.cache
def mangled(dtype: str) -> str:
    """Return what stands for a type in the names of LLVM's intrinsics: `v4f32`."""
    found = data_type(dtype)
    letter = "f" if found.code == "float" else "i"
    one = f"{letter}{found.bits}"
    return one if found.lanes == 1 else f"v{found.lanes}{one}"


def constant(value: Any, dtype: str) -> str:
    """Return a constant of a dtype; of a vector's, each lane has it."""
    one = _scalar(value, data_type(dtype).element)
    if data_type(dtype).lanes == 1:
        return one
    return f"splat ({llvm_type(data_type(dtype).element)} {one})"


def _scalar(value: Any, dtype: str) -> str:
    kind = data_type(dtype)
    if kind.code == "handle":
        return "null"
    if kind.code == "bool":
        return "true" if value else "false"
    if kind.is_integral:
        # Two's complement, as LLVM reads it.
        return str(wrapped(int(value), f"int{kind.bits}"))
    with np.errstate(over="ignore"):  # what is too large is infinite
        single = float(np.float32(value))
    if kind.code == "bfloat":
        return str(_bfloat_bits(single))
    if kind.bits == 16:
        with np.errstate(over="ignore"):
            return f"0xH{np.float16(value).view(np.uint16):04X}"
    exact = single if kind.bits == 32 else float(value)
    return f"0x{struct.unpack('>Q', struct.pack('>d', exact))[0]:016X}"


def _bfloat_bits(value: float) -> int:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return 0x7FC0
    return wrapped((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, "int16")
