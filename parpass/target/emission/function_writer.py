"""Writes the instructions of one function of LLVM IR, block by block.

A bool is `i1`, and a byte in memory. `bfloat16` is its bits, an `i16`: few machines
have its arithmetic, and LLVM's own would call functions that do not exist.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
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
    """Return a constant of a dtype; of a vector dtype, each lane has the value."""
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


class FunctionWriter:
    """The text of a function while it is written.

    A function returns 0, or the number of a message if it finds a fault.

    Args:
        features: What the machine has, by LLVM's names.

    Attributes:
        block: The label of the block that is being written.
        messages: What the function may say, by number less one.
    """

    def __init__(self, features: Sequence[str]) -> None:
        self.features = frozenset(features)
        self.block = "begin"
        self.messages: list[str] = []
        self._lines: list[str] = []
        self._at_entry: list[str] = []
        self._declared: dict[str, str] = {}
        self._failing: dict[str, str] = {}
        self._count = 0

    def value(self, text: str) -> str:
        """Write an instruction and return the name of its value."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction that has no value."""
        self._lines.append(f"  {text}")

    def at_entry(self, text: str) -> str:
        """Write an instruction where the function begins; return its value's name."""
        self._count += 1
        name = f"%v{self._count}"
        self._at_entry.append(f"  {name} = {text}")
        return name

    def new_label(self, hint: str) -> str:
        """Return a label that no block has yet."""
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block: go on at a label."""
        self.do(f"br label %{label}")

    def branch(self, condition: str, true: str, false: str) -> None:
        """End the block: go on at one of two labels."""
        self.do(f"br i1 {condition}, label %{true}, label %{false}")

    def end(self) -> None:
        """End the function; what is written behind this is not run."""
        self.do("ret i32 0")
        self.begin(self.new_label("behind"))

    def fail_unless(self, condition: str, message: str) -> None:
        """End the function with a message, unless a condition holds."""
        if message not in self._failing:
            self.messages.append(message)
            self._failing[message] = f"fail{len(self.messages)}"
        on = self.new_label("on")
        self.branch(condition, on, self._failing[message])
        self.begin(on)

    def phi(self, dtype: str, *incoming: tuple[str, str]) -> str:
        """Return a value that depends on the block from which one came."""
        pairs = ", ".join(f"[ {value}, %{block} ]" for value, block in incoming)
        return self.value(f"phi {llvm_type(dtype)} {pairs}")

    def call(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Call a function, by types and values; return its value."""
        types = ", ".join(kind for kind, _ in args)
        self._declared[name] = f"declare {result} @{name}({types})"
        given = ", ".join(f"{kind} {value}" for kind, value in args)
        text = f"call {result} @{name}({given})"
        if result == "void":
            self.do(text)
            return ""
        return self.value(text)

    def intrinsic(self, name: str, dtype: str, *args: str) -> str:
        """Call one of LLVM's that has values of one dtype, and gives one."""
        kind = llvm_type(dtype)
        whole = f"llvm.{name}.{mangled(dtype)}"
        return self.call(whole, kind, *((kind, one) for one in args))

    def lanes_of(self, value: str, dtype: str) -> list[str]:
        """Return the lanes of a vector, or a scalar as the only one."""
        lanes = data_type(dtype).lanes
        if lanes == 1:
            return [value]
        kind = llvm_type(dtype)
        return [
            self.value(f"extractelement {kind} {value}, i32 {at}")
            for at in range(lanes)
        ]

    def vector_of(self, lanes: Sequence[str], dtype: str) -> str:
        """Return a vector of these lanes, or the only one."""
        if data_type(dtype).lanes == 1:
            return lanes[0]
        found, kind = "poison", llvm_type(dtype)
        one = llvm_type(data_type(dtype).element)
        for at, lane in enumerate(lanes):
            found = self.value(f"insertelement {kind} {found}, {one} {lane}, i32 {at}")
        return found

    def shuffled(self, values: Sequence[str], dtype: str, places: Sequence[int]) -> str:
        """Return a vector of lanes of one vector or two, by their numbers in both."""
        first, second = values if len(values) == 2 else (*values, "poison")
        kind = llvm_type(dtype)
        chosen = ", ".join(f"i32 {at}" for at in places)
        return self.value(
            f"shufflevector {kind} {first}, {kind} {second}, "
            f"<{len(places)} x i32> <{chosen}>"
        )

    def repeated(self, value: str, dtype: str) -> str:
        """Return a vector of a dtype that has a scalar in each lane."""
        kind, lanes = llvm_type(dtype), data_type(dtype).lanes
        one = llvm_type(data_type(dtype).element)
        if not value.startswith("%"):  # a constant
            return f"splat ({one} {value})"
        first = self.value(f"insertelement {kind} poison, {one} {value}, i32 0")
        return self.value(
            f"shufflevector {kind} {first}, {kind} poison, "
            f"<{lanes} x i32> zeroinitializer"
        )

    def text(self, name: str, params: Sequence[str]) -> str:
        """Return the function, with what it declares."""
        failing = [
            line
            for at, label in enumerate(self._failing.values())
            for line in (f"{label}:", f"  ret i32 {at + 1}")
        ]
        return "\n".join(
            [
                *(self._declared[one] for one in sorted(self._declared)),
                f"define i32 @{name}({', '.join(params)}) #0 {{",
                "entry:",
                *self._at_entry,
                "  br label %begin",
                "begin:",
                *self._lines,
                "  ret i32 0",
                *failing,
                "}",
                "",
            ]
        )
