"""What of a match needs no look at other patterns: leaves, attributes, types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from parpass.ir.node import count_nodes
from parpass.ir.operators.op_table import Op
from parpass.ir.structure.structural import structural_equal
from parpass.ir.types.ty import TensorType, Type
from parpass.relay.dataflow_pattern.pattern import (
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from parpass.relay.expr import Call, Constant, Expr, Function, Var

Constraint = TypePattern | DataTypePattern | ShapePattern


def matches_leaf(pattern: DFPattern, expr: Expr) -> bool | None:
    """Return whether a pattern without inputs matches; None for other patterns."""
    match pattern:
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
