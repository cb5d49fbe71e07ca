"""The common part of the loop IRs of TVM and parpass, and of conversions between them.

A walk needs no stack, however deep a function is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, ClassVar

from parpass.errors import ArgumentError

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


def callee_name(call: Any) -> str:
    """Return the name of what a call of either IR calls."""
    op = call.op
    return str(getattr(op, "name", getattr(op, "name_hint", op)))


class Conversion:
    """Converts one function, each node by the method that is called as its class.

    Args:
        name: The function's name.
    """

    expected: ClassVar[str]  # what it can convert, in messages
    nodes: ClassVar[Any]  # the module of the nodes that it makes

    def __init__(self, name: str) -> None:
        self._name = name
        self._exprs: dict[Any, Any] = {}

    def _has_no(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"expected {self.expected}, got {what} in function '{self._name}'"
        )

    def _converted(self, node: Any, kind: str) -> Any:
        """Return what the method of a kind of node gives: a result, or steps to it."""
        convert = getattr(self, f"_{kind}", None)
        if convert is None:
            raise self._has_no(kind)
        return convert(node)

    def _AttrStmt(self, stmt: Any) -> Any:
        raise self._has_no(f"AttrStmt '{stmt.attr_key}'")

    def _key(self, expr: Any) -> Any:
        """Return what tells an expression from all others of the function."""
        return expr

    def _expr(self, expr: Any) -> Steps:
        """Convert an expression, once wherever it stands."""
        key = self._key(expr)
        if key not in self._exprs:
            made = yield self._new_expr(expr)
            self._exprs[key] = made
            return made
        return self._exprs[key]

    def _new_expr(self, expr: Any) -> Steps:
        kind = type(expr).__name__
        if kind in SAME_NODES:
            parts = yield self._all(getattr(expr, name) for name in SAME_NODES[kind])
            return getattr(self.nodes, kind)(*parts)
        made = self._converted(expr, kind)
        return (yield made) if isinstance(made, Generator) else made

    def _all(self, exprs: Iterable[Any]) -> Steps:
        made: list[Any] = []
        for expr in exprs:
            made.append((yield self._expr(expr)))  # noqa: PERF401 -- it yields
        return made
