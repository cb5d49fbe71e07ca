"""The common part of the loop IRs of TVM and parpass; a walk that needs no stack."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

# A conversion of one node: yields those of its parts, and is sent their results.
Steps = Generator[Any, Any, Any]

# Nodes that both call the same, and that are made of their parts alone; their fields.
_BINARY = """
    Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or"""
SAME_NODES = dict.fromkeys(_BINARY.split(), ("a", "b")) | {
    "Not": ("a",),
    "Select": ("condition", "true_value", "false_value"),
}

# Nodes of TVM's that are calls here, and the operators that are called.
CALLS_BY_NODE = {
    "BitwiseAnd": "bitwise_and",
    "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "LShift": "shift_left",
    "RShift": "shift_right",
}

# Operators whose names in TVM begin with `prim.`, and those with `tirx.`.
PRIM_CALLS = frozenset({"ceil", "clz", "if_then_else", "likely", "log2"})
_TIRX_CALLS = """
    acos acosh asin asinh atan atan2 atanh call_extern call_pure_extern copysign cos
    cosh erf exp exp10 exp2 fabs floor fma fmod hypot isnan ldexp log log10 log1p
    nearbyint nextafter popcount pow reinterpret round rsqrt sigmoid sin sinh sqrt tan
    tanh trunc"""
TIRX_CALLS = frozenset(_TIRX_CALLS.split())


def walked(steps: Steps) -> Any:
    """Return the result of a conversion, after those of its parts."""
    stack, value = [steps], None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
    return value
