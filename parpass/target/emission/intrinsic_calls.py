"""Calls of operators: LLVM's own intrinsics, or functions of C's mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import CodeGenError
from parpass.ir.op.op_table import Op
from parpass.runtime.dtypes import name_of
from parpass.target.emission.binary_operators import (
    converted,
    lane_by_lane,
    shifted,
    wide,
)
from parpass.target.emission.function_writer import FunctionWriter, constant, llvm_type
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, IntImm, StringImm

Args = Sequence[str]
Emit = Callable[[FunctionWriter, Any, Args], str]

# Those that LLVM has, for floats; the first is TVM's name.
_OF_LLVM = {
    "ceil": "ceil",
    "copysign": "copysign",
    "fabs": "fabs",
    "floor": "floor",
    "nearbyint": "rint",
    "round": "rint",
    "sqrt": "sqrt",
    "trunc": "trunc",
}

# Those of C's mathematics (ISO C, 7.12), called for each lane.
_OF_C = (
    *[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cos",
        "cosh",
        "erf",
        "exp",
        "exp2",
        "exp10",
    ],
    *[
        "fmod",
        "hypot",
        "log",
        "log10",
        "log1p",
        "log2",
        "nextafter",
        "pow",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ],
)


def called(writer: FunctionWriter, node: Call, args: Args) -> str:
    """Return what a call gives for values.

    Raises:
        CodeGenError: There is no machine code for it.
    """
    if not isinstance(node.op, Op):
        raise CodeGenError(
            f"a call of the global '{node.op.name_hint}' cannot be compiled: a kernel "
            "calls no other one"
        )
    name = node.op.name.removeprefix("tir.")
    emit = _CALLS.get(name)
    if emit is None:
        raise CodeGenError(f"a call of '{node.op.name}' cannot be compiled")
    return emit(writer, node, args)


def _of_floats(compute: Callable[[FunctionWriter, str, Args], str]) -> Emit:
    """Return what computes with floats of 32 bits at least."""

    def emit(writer: FunctionWriter, node: Call, args: Args) -> str:
        dtype, kind = node.dtype, data_type(node.dtype)
        if not kind.is_floating:
            raise CodeGenError(f"expected floats for '{node.op.name}', got {dtype}")
        given = [
            converted(writer, value, arg.dtype, wide(dtype))
            for value, arg in zip(args, node.args, strict=True)
        ]
        found = compute(writer, wide(dtype), given)
        return converted(writer, found, wide(dtype), dtype)

    return emit


def _of_llvm(name: str) -> Emit:
    def compute(writer: FunctionWriter, dtype: str, args: Args) -> str:
        return writer.intrinsic(name, dtype, *args)

    return _of_floats(compute)


def _of_c(name: str) -> Emit:
    def compute(writer: FunctionWriter, dtype: str, args: Args) -> str:
        return lane_by_lane(writer, name, dtype, *args)

    return _of_floats(compute)


def _fma(writer: FunctionWriter, dtype: str, args: Args) -> str:
    # Elsewhere LLVM would call a function of C, which takes hundreds of steps.
    if {"fma", "neon"} & writer.features:
        return writer.intrinsic("fma", dtype, *args)
    kind = llvm_type(dtype)
    product = writer.value(f"fmul {kind} {args[0]}, {args[1]}")
    return writer.value(f"fadd {kind} {product}, {args[2]}")


def _rsqrt(writer: FunctionWriter, dtype: str, args: Args) -> str:
    root = writer.intrinsic("sqrt", dtype, args[0])
    return writer.value(f"fdiv {llvm_type(dtype)} {constant(1, dtype)}, {root}")


def _sigmoid(writer: FunctionWriter, dtype: str, args: Args) -> str:
    kind, one = llvm_type(dtype), constant(1, dtype)
    negated = writer.value(f"fneg {kind} {args[0]}")
    power = lane_by_lane(writer, "exp", dtype, negated)
    more = writer.value(f"fadd {kind} {one}, {power}")
    return writer.value(f"fdiv {kind} {one}, {more}")


def _ldexp(writer: FunctionWriter, node: Call, args: Args) -> str:
    # Two factors, as one power of two may have no float while the result has one.
    dtype = wide(node.dtype)
    value = converted(writer, args[0], node.dtype, dtype)
    ints = name_of("int", 32, data_type(dtype).lanes)
    by = converted(writer, args[1], node.args[1].dtype, ints)
    lanes = zip(writer.lanes_of(value, dtype), writer.lanes_of(by, ints), strict=True)
    one = data_type(dtype).element
    name = "ldexpf" if data_type(one).bits == 32 else "ldexp"
    found = [
        writer.call(name, llvm_type(one), (llvm_type(one), x), ("i32", n))
        for x, n in lanes
    ]
    return converted(writer, writer.vector_of(found, dtype), dtype, node.dtype)


def _isnan(writer: FunctionWriter, node: Call, args: Args) -> str:
    dtype = node.args[0].dtype
    value = converted(writer, args[0], dtype, wide(dtype))
    return writer.value(f"fcmp uno {llvm_type(wide(dtype))} {value}, {value}")


def _same(writer: FunctionWriter, node: Call, args: Args) -> str:
    del writer, node
    return args[0]


def _reinterpreted(writer: FunctionWriter, node: Call, args: Args) -> str:
    old, new = llvm_type(node.args[0].dtype), llvm_type(node.dtype)
    if old == new:
        return args[0]
    word = "bitcast"
    if "ptr" in (old, new):
        word = "inttoptr" if new == "ptr" else "ptrtoint"
    return writer.value(f"{word} {old} {args[0]} to {new}")


def _bitwise(word: str) -> Emit:
    def emit(writer: FunctionWriter, node: Call, args: Args) -> str:
        return writer.value(f"{word} {llvm_type(node.dtype)} {args[0]}, {args[1]}")

    return emit


def _bitwise_not(writer: FunctionWriter, node: Call, args: Args) -> str:
    ones = constant(True if data_type(node.dtype).code == "bool" else -1, node.dtype)
    return writer.value(f"xor {llvm_type(node.dtype)} {args[0]}, {ones}")


def _shift(word: str) -> Emit:
    def emit(writer: FunctionWriter, node: Call, args: Args) -> str:
        return shifted(writer, word, node.dtype, args[0], args[1])

    return emit


def _popcount(writer: FunctionWriter, node: Call, args: Args) -> str:
    dtype = node.args[0].dtype
    found = writer.intrinsic("ctpop", dtype, args[0])
    return converted(writer, found, dtype, node.dtype)


def _clz(writer: FunctionWriter, node: Call, args: Args) -> str:
    dtype = node.args[0].dtype
    kind = llvm_type(dtype)
    whole = f"llvm.ctlz.{kind}" if data_type(dtype).lanes == 1 else ""
    if not whole:
        raise CodeGenError(f"expected a scalar for '{node.op.name}', got {dtype}")
    found = writer.call(whole, kind, (kind, args[0]), ("i1", "false"))
    unsigned = name_of("uint", data_type(dtype).bits, 1)
    return converted(writer, found, unsigned, node.dtype)


def _multiplied_and_shifted(writer: FunctionWriter, node: Call, args: Args) -> str:
    lanes = data_type(node.dtype).lanes
    wider = name_of("int", 64, lanes)
    kind = llvm_type(wider)
    x, y, q, s = (
        converted(
            writer, value, arg.dtype, name_of("int", 64, data_type(arg.dtype).lanes)
        )
        for value, arg in zip(args, node.args, strict=True)
    )
    product = writer.value(f"mul {kind} {x}, {y}")
    scalars = [
        value if data_type(arg.dtype).lanes == lanes else writer.repeated(value, wider)
        for value, arg in zip((q, s), node.args[2:], strict=True)
    ]
    by = writer.value(f"add {kind} {scalars[0]}, {scalars[1]}")
    less = writer.value(f"sub {kind} {by}, {constant(1, wider)}")
    half = writer.value(f"shl {kind} {constant(1, wider)}, {less}")
    rounded = writer.value(f"add {kind} {product}, {half}")
    return converted(
        writer, shifted(writer, "right", wider, rounded, by), wider, node.dtype
    )


# Instructions of x86, by how many int32 they give: the feature, and LLVM's name.
_DOT_PAIRS = {
    16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    4: ("sse3", "llvm.x86.sse2.pmadd.wd"),
}


def _dot_pairs(writer: FunctionWriter, node: Call, args: Args) -> str:
    """Return sums of two products: of neighbours, which are int16, as int32."""
    dtype, source = node.dtype, node.args[0].dtype
    lanes, kind = data_type(dtype).lanes, llvm_type(dtype)
    feature, name = _DOT_PAIRS.get(lanes, ("", ""))
    if feature in writer.features:
        given = [(llvm_type(source), value) for value in args]
        return writer.call(name, kind, *given)
    products: list[str] = []
    for first in (0, 1):
        places = range(first, 2 * lanes, 2)
        half = name_of("int", 16, lanes)
        a, b = (
            converted(writer, writer.shuffled([one], source, [*places]), half, dtype)
            for one in args
        )
        products.append(writer.value(f"mul {kind} {a}, {b}"))
    return writer.value(f"add {kind} {', '.join(products)}")


def _large_uint(writer: FunctionWriter, node: Call, args: Args) -> str:
    del writer, args
    low, high = node.args
    if not (isinstance(low, IntImm) and isinstance(high, IntImm)):
        raise CodeGenError(f"expected two constants for '{node.op.name}'")
    return constant(low.value + (high.value << 32), node.dtype)


def _halves(is_low: bool) -> Emit:
    def emit(writer: FunctionWriter, node: Call, args: Args) -> str:
        dtype = node.args[0].dtype
        half = data_type(dtype).lanes // 2
        lanes = writer.lanes_of(args[0], dtype)
        return writer.vector_of(lanes[:half] if is_low else lanes[half:], node.dtype)

    return emit


def _combined(writer: FunctionWriter, node: Call, args: Args) -> str:
    lanes = [
        lane
        for value, arg in zip(args, node.args, strict=True)
        for lane in writer.lanes_of(value, arg.dtype)
    ]
    return writer.vector_of(lanes, node.dtype)


def _is_null(writer: FunctionWriter, node: Call, args: Args) -> str:
    del node
    return writer.value(f"icmp eq ptr {args[0]}, null")


def _nothing(writer: FunctionWriter, node: Call, args: Args) -> str:
    del writer, args
    return constant(0, node.dtype) if node.dtype != "void" else ""


def _extern(writer: FunctionWriter, node: Call, args: Args) -> str:
    name, *given = node.args
    if not isinstance(name, StringImm):
        raise CodeGenError(f"expected a name first for '{node.op.name}'")
    result = "void" if node.dtype == "void" else llvm_type(node.dtype)
    pairs = [
        (llvm_type(arg.dtype), value)
        for value, arg in zip(args[1:], given, strict=True)
    ]
    return writer.call(name.value, result, *pairs)


_CALLS: dict[str, Emit] = {
    **{name: _of_llvm(ours) for name, ours in _OF_LLVM.items()},
    **{name: _of_c(name) for name in _OF_C},
    "bitwise_and": _bitwise("and"),
    "bitwise_not": _bitwise_not,
    "bitwise_or": _bitwise("or"),
    "bitwise_xor": _bitwise("xor"),
    "call_extern": _extern,
    "call_pure_extern": _extern,
    "clz": _clz,
    "dot_pairs": _dot_pairs,
    "fma": _of_floats(_fma),
    "isnan": _isnan,
    "isnullptr": _is_null,
    "large_uint_imm": _large_uint,
    "ldexp": _ldexp,
    "likely": _same,
    "popcount": _popcount,
    "prefetch": _nothing,
    "q_multiply_shift": _multiplied_and_shifted,
    "reinterpret": _reinterpreted,
    "rsqrt": _of_floats(_rsqrt),
    "shift_left": _shift("left"),
    "shift_right": _shift("right"),
    "sigmoid": _of_floats(_sigmoid),
    "tvm_storage_sync": _nothing,
    "vectorcombine": _combined,
    "vectorhigh": _halves(is_low=False),
    "vectorlow": _halves(is_low=True),
}
