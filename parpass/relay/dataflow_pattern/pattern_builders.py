"""Functions that build patterns, under TVM's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parpass.ir.op.op_table import Op
from parpass.ir.types import Dim, Type
from parpass.relay.dataflow_pattern.pattern import (
    AttrPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from parpass.relay.expr import Expr

__all__ = [
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "wildcard",
]


def wildcard() -> WildcardPattern:
    """Return a pattern that matches anything."""
    return WildcardPattern()


def is_op(op_name: str) -> ExprPattern:
    """Return the pattern of an operator; call it for the pattern of its calls.

    Raises:
        UnknownOpError: No operator has this name.
    """
    # Known where the operators are: a pattern may be the first to ask for one.
    from parpass.relay.op import get

    found: Op = get(op_name)
    return ExprPattern(found)


def is_expr(expr: Expr) -> ExprPattern:
    """Return the pattern of expressions structurally equal to a given one."""
    return ExprPattern(expr)


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable, by default of any name."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Return the pattern of a constant."""
    return ConstantPattern()


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Return the pattern of a tuple; fields None match any."""
    return TuplePattern(fields)


def is_tuple_get_item(
    tuple_value: DFPattern, index: int | None = None
) -> TupleGetItemPattern:
    """Return the pattern of a field of a tuple; index None matches any."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(
    cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern
) -> IfPattern:
    """Return the pattern of an `if`."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Return the pattern of a `let`."""
    return LetPattern(var, value, body)


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """Return a pattern, by default of anything, of a type."""
    return TypePattern(pattern or wildcard(), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return a pattern, by default of anything, of tensors of a dtype."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape: Sequence[Dim], pattern: DFPattern | None = None) -> ShapePattern:
    """Return a pattern, by default of anything, of tensors of a shape."""
    return ShapePattern(pattern or wildcard(), shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Return a pattern, by default of anything, with attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Return the pattern of a diamond, or a chain; see `DominatorPattern`."""
    return DominatorPattern(parent, path, child)
