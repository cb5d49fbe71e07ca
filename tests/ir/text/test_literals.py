"""Each number comes back from a text, and from JSON, as it was, to the bit."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parpass import IRModule, load_json, relay, save_json, tir
from parpass.errors import ParseError
from parpass.ir.attrs import DictAttrs
from parpass.ir.structural import structural_equal
from parpass.runtime.dtypes import DTYPES, numpy_dtype
from parpass.runtime.ndarray import NDArray
from parpass.tir.data_type import int_range

DOUBLES = {
    "a zero": 0,
    "a negative zero": 1 << 63,
    "the least one": 1,
    "the greatest below normal ones": (1 << 52) - 1,
    "the greatest": (0x7FF << 52) - 1,
    "infinity": 0x7FF << 52,
    "negative infinity": 0xFFF << 52,
    "a NaN": 0x7FF8 << 48,
    "a negative NaN": 0xFFF8 << 48,
    "a NaN that carries something": (0x7FF8 << 48) + 12345,
    "a NaN that signals": (0xFFF << 52) + 1,
    "an int of many digits": int.from_bytes(struct.pack(">d", 2.0**63), "big"),
    "a large number": int.from_bytes(struct.pack(">d", 1e22), "big"),
}
LOOP_FLOATS = ["float8", "float16", "bfloat16", "float32", "float64"]
LOOP_INTS = [
    *("bool", "int1", "int2", "int4", "int7", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint7", "uint8", "uint16", "uint32", "uint64"),
]


def double(bits: int) -> float:
    return struct.unpack("<d", bits.to_bytes(8, "little"))[0]


def bits_of(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def from_loop_text(value: tir.PrimExpr) -> Any:
    func = tir.PrimFunc((), tir.Evaluate(value))
    return relay.parse(IRModule({"f": func}).astext())["f"].body.value


def from_json(value: Any) -> Any:
    return load_json(save_json(value))


def from_relay_text(value: relay.Expr) -> Any:
    return relay.parse_expr(relay.astext(value))


def attribute_from_relay_text(value: Any) -> Any:
    func = relay.Function((), relay.const(1), attrs=DictAttrs({"k": [value]}))
    return relay.parse(IRModule({"f": func}).astext())["f"].attrs["k"][0]


def attribute_from_loop_text(value: Any) -> Any:
    func = tir.PrimFunc((), tir.Evaluate(0)).with_attr("k", value)
    return relay.parse(IRModule({"f": func}).astext())["f"].attrs["k"]


def attribute_from_json(value: Any) -> Any:
    return from_json(DictAttrs({"k": value}))["k"]


# Of numpy's dtypes as they are stored; those below a byte have values of their own.
def patterns(dtype: np.dtype[Any]) -> list[bytes]:
    if dtype.name == "bool":
        return [b"\0", b"\1"]
    size = dtype.itemsize
    if size == 1:
        return [bytes([value]) for value in range(256)]
    edges = [
        *(b"\0" * size, b"\0" * (size - 1) + b"\x80", b"\1" + b"\0" * (size - 1)),
        *(b"\xff" * size, b"\xff" * (size - 1) + b"\x7f", b"\xff" + b"\0" * (size - 1)),
    ]
    others = np.random.default_rng(0)
    return [*edges, *(others.bytes(size) for _ in range(20))]


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_a_constant_of_any_dtype_comes_back_from_relays_text_and_json(name: str):
    dtype = numpy_dtype(name)
    values = np.frombuffer(b"".join(patterns(dtype)), dtype)
    scalars = [values[at : at + 1].reshape(()) for at in range(len(values))]
    for array in [values, *scalars]:
        constant = relay.Constant(NDArray(array.copy()))
        for found in (from_relay_text(constant), from_json(constant)):
            again = found.data.numpy()
            assert (again.dtype, again.tobytes()) == (dtype, array.tobytes())
            assert structural_equal(found, constant)


@pytest.mark.parametrize("bits", DOUBLES.values(), ids=DOUBLES)
@pytest.mark.parametrize("dtype", LOOP_FLOATS)
def test_a_float_of_any_dtype_comes_back_from_the_loops_text_and_json(
    dtype: str, bits: int
):
    constant = tir.FloatImm(dtype, double(bits))
    for found in (from_loop_text(constant), from_json(constant)):
        assert (found.dtype, bits_of(found.value)) == (dtype, bits)
        assert structural_equal(found, constant)


@pytest.mark.parametrize("dtype", LOOP_INTS)
def test_an_int_of_any_dtype_comes_back_from_the_loops_text_and_json(dtype: str):
    values = int_range(dtype)
    for value in {values[0], values[-1], 0, *values[:2]}:
        constant = tir.IntImm(dtype, value)
        for found in (from_loop_text(constant), from_json(constant)):
            assert (found.dtype, found.value) == (dtype, value)


def test_vectors_come_back_lane_by_lane():
    zero = tir.FloatImm("bfloat16", -0.0)
    lanes = [zero, tir.FloatImm("bfloat16", double(DOUBLES["a negative NaN"]))]
    for value in (tir.Shuffle(lanes, [0, 1]), tir.Broadcast(zero, 4)):
        for found in (from_loop_text(value), from_json(value)):
            assert structural_equal(found, value)


@given(st.integers(0, 2**64 - 1))
@example(DOUBLES["a negative zero"])
@example(DOUBLES["a negative NaN"])
@example(DOUBLES["a NaN that carries something"])
@example(DOUBLES["a NaN that signals"])
@example(DOUBLES["an int of many digits"])
@example(DOUBLES["negative infinity"])
def test_a_float_among_attributes_comes_back(bits: int):
    for read in (
        attribute_from_relay_text,
        attribute_from_loop_text,
        attribute_from_json,
    ):
        assert bits_of(read(double(bits))) == bits


@pytest.mark.parametrize("value", [-(2**63), 2**63, 2**64 - 1, 0, True, False])
def test_an_int_among_attributes_comes_back(value: int):
    for read in (
        attribute_from_relay_text,
        attribute_from_loop_text,
        attribute_from_json,
    ):
        assert read(value) is value or read(value) == value
        assert type(read(value)) is type(value)


@pytest.mark.parametrize(
    "word", ["nan(0)", "nan(4503599627370496)", "nan(1.5)", "nan(1i8)"]
)
def test_what_a_nan_cannot_carry_is_refused(word: str):
    with pytest.raises(ParseError, match="NaN"):
        relay.parse(f"@f = primfn() -> () {{ float32({word}); }}")
    named = word.replace("nan", "nanf")
    with pytest.raises(ParseError, match="NaN"):
        relay.parse(f"def @f(%x, k={named}) {{ %x }}")
