"""Values in other dtypes.

Ints wrap around. A float that becomes an int is rounded towards zero, is the nearest
int that there is where it is too large, and 0 where it is no number: the machine's own
answer would differ between machines. Floats of 16 bits are computed with as float32.
"""

from __future__ import annotations

from parpass.errors import CodeGenError
from parpass.runtime.dtypes import name_of
from parpass.target.emission.function_writer import FunctionWriter
from parpass.target.emission.llvm_type import constant, llvm_type, mangled
from parpass.tir.data_type import DataType, data_type


def is_narrow(dtype: str) -> bool:
    """Return whether values are floats of 16 bits."""
    found = data_type(dtype)
    return found.is_floating and found.bits == 16


def wide(dtype: str) -> str:
    """Return the dtype that values of this one are computed in."""
    return name_of("float", 32, data_type(dtype).lanes) if is_narrow(dtype) else dtype


def converted(writer: FunctionWriter, value: str, source: str, dtype: str) -> str:
    """Return a value in another dtype of as many lanes."""
    if source == dtype:
        return value
    old, new = data_type(source), data_type(dtype)
    if "handle" in (old.code, new.code) or "void" in (old.code, new.code):
        raise CodeGenError(f"a value of {source} cannot be cast to {dtype}")
    if new.code == "bool":
        return _is_not_zero(writer, value, source)
    if is_narrow(source):
        return converted(writer, _widened(writer, value, source), wide(source), dtype)
    if is_narrow(dtype):
        if old.is_floating and old.bits == 64:
            value = _rounded_to_odd(writer, value, source)
        else:
            value = converted(writer, value, source, wide(dtype))
        return _narrowed(writer, value, dtype)
    if old.is_floating and not new.is_floating:
        return _to_int(writer, value, source, dtype)
    word = _instruction(old, new)
    if not word:
        return value
    return writer.value(f"{word} {llvm_type(source)} {value} to {llvm_type(dtype)}")


def _instruction(old: DataType, new: DataType) -> str:
    if old.is_floating:
        return "fpext" if new.bits > old.bits else "fptrunc"
    if new.is_floating:
        return "sitofp" if old.code == "int" else "uitofp"
    if new.bits == old.bits:
        return ""
    if new.bits < old.bits:
        return "trunc"
    return "sext" if old.code == "int" else "zext"


def _is_not_zero(writer: FunctionWriter, value: str, source: str) -> str:
    value = converted(writer, value, source, wide(source))
    source = wide(source)
    word = "fcmp une" if data_type(source).is_floating else "icmp ne"
    zero = constant(0, source)
    return writer.value(f"{word} {llvm_type(source)} {value}, {zero}")


def _to_int(writer: FunctionWriter, value: str, source: str, dtype: str) -> str:
    letter = "s" if data_type(dtype).code == "int" else "u"
    name = f"llvm.fpto{letter}i.sat.{mangled(dtype)}.{mangled(source)}"
    return writer.call(name, llvm_type(dtype), (llvm_type(source), value))


def _widened(writer: FunctionWriter, value: str, source: str) -> str:
    """Return a float of 16 bits as a float32."""
    dtype, old = wide(source), llvm_type(source)
    new = llvm_type(dtype)
    if data_type(source).code == "float":
        _need_halves(writer)
        return writer.value(f"fpext {old} {value} to {new}")
    bits = name_of("int", 32, data_type(source).lanes)
    ints = llvm_type(bits)
    found = writer.value(f"zext {old} {value} to {ints}")
    found = writer.value(f"shl {ints} {found}, {constant(16, bits)}")
    return writer.value(f"bitcast {ints} {found} to {new}")


def _narrowed(writer: FunctionWriter, value: str, dtype: str) -> str:
    """Return a float32, rounded to the nearest float of 16 bits, ties to even."""
    source, new = wide(dtype), llvm_type(dtype)
    old = llvm_type(source)
    if data_type(dtype).code == "float":
        _need_halves(writer)
        return writer.value(f"fptrunc {old} {value} to {new}")
    bits = name_of("int", 32, data_type(dtype).lanes)
    ints = llvm_type(bits)
    found = writer.value(f"bitcast {old} {value} to {ints}")
    high = writer.value(f"lshr {ints} {found}, {constant(16, bits)}")
    odd = writer.value(f"and {ints} {high}, {constant(1, bits)}")
    more = writer.value(f"add {ints} {odd}, {constant(0x7FFF, bits)}")
    sum_ = writer.value(f"add {ints} {found}, {more}")
    rounded = writer.value(f"lshr {ints} {sum_}, {constant(16, bits)}")
    # A sum that carries would make a number of what is none.
    quiet = writer.value(f"or {ints} {high}, {constant(0x40, bits)}")
    is_none = writer.value(f"fcmp uno {old} {value}, {value}")
    mask = llvm_type(name_of("bool", 1, data_type(dtype).lanes))
    kept = writer.value(f"select {mask} {is_none}, {ints} {quiet}, {ints} {rounded}")
    return writer.value(f"trunc {ints} {kept} to {new}")


def _rounded_to_odd(writer: FunctionWriter, value: str, source: str) -> str:
    """Return a float64 as the float32 that is rounded rightly when it is rounded again.

    That is the one below it, its last bit set where it is not exact (Boldo, Melquiond:
    "Emulation of FMA and correctly rounded sums", 2008).
    """
    lanes = data_type(source).lanes
    single, bits = name_of("float", 32, lanes), name_of("int", 32, lanes)
    old, new, ints = llvm_type(source), llvm_type(single), llvm_type(bits)
    mask = llvm_type(name_of("bool", 1, lanes))
    found = writer.value(f"fptrunc {old} {value} to {new}")
    back = writer.value(f"fpext {new} {found} to {old}")
    size = writer.intrinsic("fabs", source, back)
    wanted = writer.intrinsic("fabs", source, value)
    above = writer.value(f"fcmp ogt {old} {size}, {wanted}")
    inexact = writer.value(f"fcmp one {old} {size}, {wanted}")
    as_bits = writer.value(f"bitcast {new} {found} to {ints}")
    step = writer.value(f"zext {mask} {above} to {ints}")
    below = writer.value(f"sub {ints} {as_bits}, {step}")
    odd = writer.value(f"zext {mask} {inexact} to {ints}")
    result = writer.value(f"or {ints} {below}, {odd}")
    return writer.value(f"bitcast {ints} {result} to {new}")


def _need_halves(writer: FunctionWriter) -> None:
    if not {"f16c", "fullfp16", "neon"} & writer.features:
        raise CodeGenError(
            "float16 needs feature 'f16c' of the target, which it does not have; cast "
            "to float32, or name the feature: -mattr=+f16c"
        )
