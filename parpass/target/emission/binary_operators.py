"""Machine code of casts and of operators of two operands: nothing is undefined.

Ints wrap around. A division of ints by 0 ends the function with a message. The least
int divided by -1 is itself, as in two's complement, where the machine's division would
end the process.

A float that becomes an int is rounded towards zero. It becomes the nearest int that
there is where it is too large, and 0 where it is no number: the machine's own result
would differ between machines. Floats of 16 bits are computed with as float32.
"""

from __future__ import annotations

from typing import Any

from parpass.errors import CodeGenError
from parpass.runtime.dtypes import name_of
from parpass.target.emission.function_writer import (
    FunctionWriter,
    constant,
    llvm_type,
    mangled,
)
from parpass.tir.data_type import DataType, data_type
from parpass.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Broadcast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
    constant_int,
)
from parpass.tir.expr.binary_op import DIVISIONS


def is_narrow(dtype: str) -> bool:
    """Return whether values are floats of 16 bits."""
    found = data_type(dtype)
    return found.is_floating and found.bits == 16


def wide(dtype: str) -> str:
    """Return the dtype that values of this one are computed in."""
    return name_of("float", 32, data_type(dtype).lanes) if is_narrow(dtype) else dtype


_MOST_CLAMPED = 16  # bits of ints whose bounds all floats have


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
    """Return an int: what is too large or too small is the nearest one, and NaN is 0.

    LLVM's intrinsic has each lane by itself where ints are shorter than the floats, so
    those go through int32, of floats that are in their range.
    """
    new = data_type(dtype)
    if new.bits > _MOST_CLAMPED:
        letter = "s" if new.code == "int" else "u"
        name = f"llvm.fpto{letter}i.sat.{mangled(dtype)}.{mangled(source)}"
        return writer.call(name, llvm_type(dtype), (llvm_type(source), value))
    kind = llvm_type(source)
    signed = new.code == "int"
    low = -(1 << new.bits - 1) if signed else 0
    bounds = {"ogt": low, "olt": low + (1 << new.bits) - 1}
    if signed:  # the bound that NaN would become is not 0
        bounds = {"ord": 0, **bounds}
    for word, bound in bounds.items():
        other = constant(bound, source)
        is_in = writer.value(f"fcmp {word} {kind} {value}, {other}")
        value = _chosen(writer, source, is_in, value, other)
    ints = llvm_type(name_of("int", 32, new.lanes))
    found = writer.value(f"fptosi {kind} {value} to {ints}")
    return writer.value(f"trunc {ints} {found} to {llvm_type(dtype)}")


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


DIVIDED_BY_ZERO = "expected a divisor other than 0, got 0"

_OF_FLOATS = {Add: "fadd", Sub: "fsub", Mul: "fmul", Div: "fdiv"}
_OF_INTS = {Add: "add", Sub: "sub", Mul: "mul"}
_OF_BOOLS = {Add: "or", Mul: "and", Max: "or", Min: "and"}
_COMPARED = {EQ: "eq", NE: "ne", LT: "lt", LE: "le", GT: "gt", GE: "ge"}


def mask_type(dtype: str) -> str:
    """Return LLVM's type of bools, one for each lane of a dtype."""
    return llvm_type(name_of("bool", 1, data_type(dtype).lanes))


def compared(writer: FunctionWriter, node: Any, a: str, b: str) -> str:
    """Return whether a comparison holds, lane by lane."""
    dtype, word = node.a.dtype, _COMPARED[type(node)]
    a, b = (converted(writer, one, dtype, wide(dtype)) for one in (a, b))
    found = data_type(dtype)
    if found.is_floating:
        how = "fcmp une" if word == "ne" else f"fcmp o{word}"
    elif word in ("eq", "ne"):
        how = f"icmp {word}"
    else:
        how = f"icmp {'s' if found.code == 'int' else 'u'}{word}"
    return writer.value(f"{how} {llvm_type(wide(dtype))} {a}, {b}")


def computed(writer: FunctionWriter, node: Any, a: str, b: str) -> str:
    """Return what a node of two operands is."""
    dtype = node.dtype
    if is_narrow(dtype):
        a, b = (converted(writer, one, dtype, wide(dtype)) for one in (a, b))
        return converted(writer, _float(writer, node, a, b), wide(dtype), dtype)
    kind = data_type(dtype)
    if kind.is_floating:
        return _float(writer, node, a, b)
    if kind.code == "bool":
        if type(node) not in _OF_BOOLS:
            raise CodeGenError(f"{type(node).__name__} of bools has no meaning")
        return writer.value(f"{_OF_BOOLS[type(node)]} {llvm_type(dtype)} {a}, {b}")
    if isinstance(node, Min | Max):
        return _extreme_int(writer, node, a, b)
    if isinstance(node, DIVISIONS):
        return _division(writer, node, a, b)
    return writer.value(f"{_OF_INTS[type(node)]} {llvm_type(dtype)} {a}, {b}")


def _extreme_int(writer: FunctionWriter, node: Any, a: str, b: str) -> str:
    sign = "u" if data_type(node.dtype).code == "uint" else "s"
    word = "min" if isinstance(node, Min) else "max"
    return writer.intrinsic(f"{sign}{word}", node.dtype, a, b)


def _float(writer: FunctionWriter, node: Any, a: str, b: str) -> str:
    dtype = wide(node.dtype)
    kind = llvm_type(dtype)
    if isinstance(node, Min | Max):
        return _extreme_float(writer, node, dtype, a, b)
    if isinstance(node, Mod):
        return lane_by_lane(writer, "fmod", dtype, a, b)
    if isinstance(node, FloorDiv | FloorMod):
        quotient = writer.value(f"fdiv {kind} {a}, {b}")
        floor = writer.intrinsic("floor", dtype, quotient)
        if isinstance(node, FloorDiv):
            return floor
        whole = writer.value(f"fmul {kind} {floor}, {b}")
        return writer.value(f"fsub {kind} {a}, {whole}")
    return writer.value(f"{_OF_FLOATS[type(node)]} {kind} {a}, {b}")


def _extreme_float(
    writer: FunctionWriter, node: Any, dtype: str, a: str, b: str
) -> str:
    """Return the lesser or the greater of two; NaN if one is, and -0.0 below 0.0.

    LLVM's own intrinsics are good beside a constant, and take three times as long where
    maxima follow each other: there, of operands that are equal, or one of which is NaN,
    the bits are put together.
    """
    if _is_constant(node.a) or _is_constant(node.b):
        name = "minimum" if isinstance(node, Min) else "maximum"
        return writer.intrinsic(name, dtype, a, b)
    kind, mask = llvm_type(dtype), mask_type(dtype)
    word = "lt" if isinstance(node, Min) else "gt"
    is_first = writer.value(f"fcmp o{word} {kind} {a}, {b}")
    unlike = writer.value(f"select {mask} {is_first}, {kind} {a}, {kind} {b}")
    like = _bitwise(writer, "or", dtype, a, b)
    if isinstance(node, Max):
        signs = _bitwise(writer, "and", dtype, a, b)
        like = writer.intrinsic("copysign", dtype, like, signs)
    is_like = writer.value(f"fcmp ueq {kind} {a}, {b}")
    return writer.value(f"select {mask} {is_like}, {kind} {like}, {kind} {unlike}")


def _is_constant(expr: Any) -> bool:
    return isinstance(expr.value if isinstance(expr, Broadcast) else expr, FloatImm)


def _bitwise(writer: FunctionWriter, word: str, dtype: str, a: str, b: str) -> str:
    found, kind = data_type(dtype), llvm_type(dtype)
    ints = llvm_type(name_of("int", found.bits, found.lanes))
    x, y = (writer.value(f"bitcast {kind} {one} to {ints}") for one in (a, b))
    bits = writer.value(f"{word} {ints} {x}, {y}")
    return writer.value(f"bitcast {ints} {bits} to {kind}")


def lane_by_lane(writer: FunctionWriter, name: str, dtype: str, *args: str) -> str:
    """Call a function of C's mathematics on floats, for each lane."""
    one = data_type(dtype).element
    kind = llvm_type(one)
    name = f"{name}f" if data_type(one).bits == 32 else name
    rows = zip(*(writer.lanes_of(arg, dtype) for arg in args), strict=True)
    found = [writer.call(name, kind, *((kind, x) for x in row)) for row in rows]
    return writer.vector_of(found, dtype)


def _division(writer: FunctionWriter, node: Any, a: str, b: str) -> str:
    dtype, divisor = node.dtype, constant_int(node.b)
    kind, zero = llvm_type(dtype), constant(0, node.dtype)
    _need_not_zero(writer, dtype, b, divisor)
    if data_type(dtype).code == "uint":
        word = "udiv" if isinstance(node, Div | FloorDiv) else "urem"
        return writer.value(f"{word} {kind} {a}, {b}")
    # By -1 the quotient is what is left of 0, and there is no rest.
    minus, is_minus, safe = constant(-1, dtype), "", b
    if divisor is None:
        is_minus = writer.value(f"icmp eq {kind} {b}, {minus}")
        safe = _chosen(writer, dtype, is_minus, constant(1, dtype), b)
    if divisor == -1:
        is_quotient = isinstance(node, Div | FloorDiv)
        return writer.value(f"sub {kind} {zero}, {a}") if is_quotient else zero

    def quotient() -> str:
        found = writer.value(f"sdiv {kind} {a}, {safe}")
        if not is_minus:
            return found
        negated = writer.value(f"sub {kind} {zero}, {a}")
        return _chosen(writer, dtype, is_minus, negated, found)

    if isinstance(node, Div):
        return quotient()
    rest = writer.value(f"srem {kind} {a}, {safe}")
    if isinstance(node, Mod):
        return rest
    # Rounded down: one less where a rest has another sign than the divisor.
    differs = writer.value(f"xor {kind} {rest}, {safe}")
    is_other = writer.value(f"icmp slt {kind} {differs}, {zero}")
    has_rest = writer.value(f"icmp ne {kind} {rest}, {zero}")
    both = writer.value(f"and {mask_type(dtype)} {is_other}, {has_rest}")
    if isinstance(node, FloorMod):
        more = writer.value(f"add {kind} {rest}, {b}")
        return _chosen(writer, dtype, both, more, rest)
    found = quotient()
    less = writer.value(f"add {kind} {found}, {minus}")
    return _chosen(writer, dtype, both, less, found)


def _chosen(writer: FunctionWriter, dtype: str, mask: str, a: str, b: str) -> str:
    kind = llvm_type(dtype)
    return writer.value(f"select {mask_type(dtype)} {mask}, {kind} {a}, {kind} {b}")


def _need_not_zero(
    writer: FunctionWriter, dtype: str, b: str, divisor: int | None
) -> None:
    if divisor:
        return
    found = writer.value(f"icmp ne {llvm_type(dtype)} {b}, {constant(0, dtype)}")
    lanes = data_type(dtype).lanes
    if lanes > 1:
        name = f"llvm.vector.reduce.and.v{lanes}i1"
        found = writer.call(name, "i1", (f"<{lanes} x i1>", found))
    writer.fail_unless(found, DIVIDED_BY_ZERO)


def shifted(writer: FunctionWriter, word: str, dtype: str, a: str, b: str) -> str:
    """Return a shift to the `left` or to the `right`.

    As numpy has it: by as many bits as there are, or more, or by less than none,
    nothing is left, of a negative int that goes to the right -1.
    """
    kind, found = llvm_type(dtype), data_type(dtype)
    is_left = word == "left"
    how = "shl" if is_left else ("ashr" if found.code == "int" else "lshr")
    inside = writer.value(f"icmp ult {kind} {b}, {constant(found.bits, dtype)}")
    most = constant(found.bits - 1, dtype)
    by = _chosen(writer, dtype, inside, b, most)
    result = writer.value(f"{how} {kind} {a}, {by}")
    if how == "ashr":
        return result
    return _chosen(writer, dtype, inside, result, constant(0, dtype))
