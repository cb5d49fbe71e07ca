"""The parts of a match that need no other patterns: leaves, attributes, types.

Sums, products and quotients also match in another association: `a * b / c` is
`a * (b / c)`, so the pattern of either matches both, as in TVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from parpass.ir.node import count_nodes
from parpass.ir.op.op_table import Op
from parpass.ir.structural import structural_equal
from parpass.ir.types import TensorType, Type
from parpass.relay.analysis.matchers import call_of
from parpass.relay.dataflow_pattern.pattern import (
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    Patterns,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from parpass.relay.expr import Call, Constant, Expr, Function, Var

Constraint = TypePattern | DataTypePattern | ShapePattern


def known_answer(pattern: DFPattern, expr: Expr) -> bool | None:
    """Return whether a pattern matches; None if that takes a look at its parts."""
    match pattern:
        case CallPattern():
            return None if _may_match(pattern, expr) else False
        case WildcardPattern():
            return True if pattern.redirected_to is None else None
        case ExprPattern():
            return is_equal(pattern.expr, expr)
        case VarPattern():
            return isinstance(expr, Var) and pattern.name in {"", expr.name_hint}
        case ConstantPattern():
            return isinstance(expr, Constant)
        case _:
            return None


def _may_match(pattern: CallPattern, expr: Expr) -> bool:
    """Return whether an expression is a call, and not of another operator."""
    if not isinstance(expr, Call):
        return False
    name = op_name(pattern.op)
    return name is None or name in ASSOCIATED or call_of(expr, name) is not None


def is_equal(wanted: Expr, expr: Expr) -> bool:
    """Return whether two expressions are structurally equal.

    It takes no longer than the first is large, however large the second may be.
    """
    if wanted is expr:
        return True
    if type(wanted) is not type(expr) or isinstance(wanted, Op | Var):
        return False
    if isinstance(wanted, Constant):
        return wanted.data == cast("Constant", expr).data
    size = count_nodes(wanted, limit=_MANY_NODES)
    return count_nodes(expr, size + 1) == size and structural_equal(wanted, expr)


_MANY_NODES = 1 << 62


def has_attrs(expr: Expr, wanted: Mapping[str, Any]) -> bool:
    """Return whether an operator, a call or a function has certain attributes."""
    if not wanted:
        return True
    if isinstance(expr, Op):
        return all(expr.get_attr(name) == value for name, value in wanted.items())
    found: Any = expr.attrs if isinstance(expr, Call | Function) else None
    if found is None:
        return False
    return all(
        name in found and _plain(found[name]) == _plain(value)
        for name, value in wanted.items()
    )


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in cast("Sequence[Any]", value))
    return value


def satisfies(constraint: Constraint, found: Type | None) -> bool:
    """Return whether a type is what a pattern wants."""
    match constraint:
        case TypePattern():
            return found == constraint.type
        case DataTypePattern():
            return isinstance(found, TensorType) and found.dtype == constraint.dtype
        case ShapePattern():
            shape = tuple(constraint.shape)
            return isinstance(found, TensorType) and found.shape == shape


# Calls of these match with their arguments in either order.
COMMUTATIVE = frozenset({"add", "multiply"})

# A call of one may match the pattern of the other.
ASSOCIATED = {"multiply": "divide", "divide": "multiply"}


def op_name(pattern: DFPattern) -> str | None:
    """Return the name of the operator that a pattern stands for, if it is one."""
    if isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op):
        return pattern.expr.name
    return None


def reassociated(pattern: CallPattern, call: Call) -> Iterator[CallPattern]:
    """Give the patterns of `a * (b / c)` for `a * b / c`, and the other way round."""
    args = pattern.args
    if args is None or len(args) != 2:
        return
    wanted = op_name(pattern.op)
    if wanted == "divide" and call_of(call, "multiply") is not None:
        product = _pair_of("multiply", args[0])
        if product and _any_call_of("divide", call.args):
            multiply, factors = product
            for factor, other in (factors, factors[::-1]):
                quotient = CallPattern(pattern.op, (factor, args[1]))
                yield CallPattern(multiply, (other, quotient))
    elif wanted == "multiply" and call_of(call, "divide") is not None:
        for one, factor in (args, args[::-1]):
            quotient = _pair_of("divide", one)
            if quotient and _any_call_of("multiply", call.args):
                divide, (dividend, divisor) = quotient
                product = CallPattern(pattern.op, (dividend, factor))
                yield CallPattern(divide, (product, divisor))


def _pair_of(name: str, pattern: DFPattern) -> tuple[DFPattern, Patterns] | None:
    """Return callee and arguments of the pattern of a call with two, else None."""
    if not isinstance(pattern, CallPattern) or op_name(pattern.op) != name:
        return None
    args = tuple(pattern.args or ())
    return (pattern.op, args) if len(args) == 2 else None


def _any_call_of(name: str, exprs: Sequence[Expr]) -> bool:
    return any(call_of(expr, name) is not None for expr in exprs)
