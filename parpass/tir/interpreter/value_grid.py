"""What an expression comes to for all values of its variables, at once, on numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.node import children, post_order
from parpass.ir.operators.op_table import Op
from parpass.tir.binary_op import And, Or
from parpass.tir.expr import Call, Cast, Not, Select, Var
from parpass.tir.interpreter.lane_arithmetic import binary, intrinsic, typed
from parpass.tir.iteration import Range
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, as_prim_expr

_CHOICES: dict[type[Any], Callable[..., Any]] = {
    And: np.logical_and,
    Or: np.logical_or,
    Not: np.logical_not,
    Select: np.where,
}


def value_grid(expr: Any, ranges: Mapping[Var, Range]) -> Any:
    """Return the values of an expression as an array, an axis for each variable.

    An axis has one element where the expression does not mention the variable.

    Args:
        expr: The expression, which reads no memory. All of it is evaluated everywhere.
        ranges: What its variables are within, by constants.

    Raises:
        EvaluationError: It is of another kind, or a variable has no such range.
    """
    found: dict[Any, Any] = {}
    for axis, (var, within) in enumerate(ranges.items()):
        shape = [1] * len(ranges)
        shape[axis] = -1
        found[var] = typed(_values(within), var.dtype).reshape(shape)
    given = as_prim_expr(expr)
    for node in post_order(given):
        if node not in found and not isinstance(node, Op):
            below = [found.get(child) for child in children(node)]
            found[node] = _computed(node, below)
    return found[given]


def _values(within: Range) -> Any:
    low, count = within.min, within.extent
    if not (isinstance(low, IntImm) and isinstance(count, IntImm)):
        raise EvaluationError(f"expected a range of constants, got {within}")
    return np.arange(low.value, low.value + count.value)


def _computed(node: Any, below: list[Any]) -> Any:
    if isinstance(node, IntImm | FloatImm):
        return typed(node.value, node.dtype)
    if isinstance(node, Cast):
        return typed(below[0], node.dtype)
    if isinstance(node, Call) and isinstance(node.op, Op):
        return _called(node.op, below[1:], node.dtype)
    kind = cast("type[PrimExpr]", type(node))
    choice = _CHOICES.get(kind)
    if choice is not None:
        return choice(*below)
    compute = binary(kind, node.dtype)
    if compute is None:
        raise EvaluationError(
            f"expected arithmetic on variables with ranges, got {kind.__name__}: {node}"
        )
    return compute(*below)


def _called(op: Op, args: list[Any], dtype: str) -> Any:
    if op.name == "tir.if_then_else":
        return _CHOICES[Select](*args)
    return args[0] if op.name == "tir.likely" else intrinsic(op, args, dtype)
