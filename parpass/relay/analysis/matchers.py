"""Predicates on one expression or type: calls, static shapes, constants, weights."""

from __future__ import annotations

from typing import cast

from parpass.ir.node import post_order
from parpass.ir.op_table import Op
from parpass.ir.types import TensorType, Type
from parpass.relay.expr import Call, Constant, Expr, Tuple, Var


def call_of(expr: Expr, *names: str) -> Call | None:
    """Return an expression if it calls one of some operators, else None."""
    if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names:
        return expr
    return None


def static_tensor(found: Type | None) -> TensorType | None:
    """Return a type if it is a tensor type of known shape, else None."""
    if not isinstance(found, TensorType):
        return None
    return found if all(isinstance(dim, int) for dim in found.shape) else None


def check_constant(expr: Expr) -> bool:
    """Return whether an expression is a constant, or a tuple of constants.

    Tuples may be nested to any depth.
    """
    seen: set[Expr] = set()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Tuple):
            waiting += [field for field in node.fields if field not in seen]
            seen.update(node.fields)
        elif not isinstance(node, Constant):
            return False
    return True


def transposed_weight(call: Expr) -> Var | None:
    """Return `w` of `nn.dense(x, transpose(w))`, a variable of known rank 2.

    None for every other expression.
    """
    dense = call_of(call, "nn.dense")
    weight = call_of(dense.args[1], "transpose") if dense is not None else None
    if weight is None:
        return None
    var = weight.args[0]
    if not isinstance(var, Var) or not isinstance(var.type_annotation, TensorType):
        return None
    rank, axes = len(var.type_annotation.shape), weight.attrs.axes
    swaps = not axes or [axis % 2 for axis in axes] == [1, 0]
    return var if rank == 2 and swaps else None


def search_fc_transpose(expr: Expr) -> list[str]:
    """Return the names of the weights that dense layers of an expression transpose.

    These are `w` of `nn.dense(x, transpose(w))`, one name for each such layer: the
    argument of SimplifyFCTranspose.
    """
    found = map(transposed_weight, cast("list[Expr]", post_order(expr)))
    return [var.name_hint for var in found if var is not None]
