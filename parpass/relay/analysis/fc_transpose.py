"""Dense layers whose weight is transposed each time that they are computed."""

from __future__ import annotations

from typing import cast

from parpass.ir.node import post_order
from parpass.ir.types.ty import TensorType
from parpass.relay.analysis.calls import call_of
from parpass.relay.expr import Expr, Var


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

    Those are `w` of `nn.dense(x, transpose(w))`, a name for each such layer, which is
    what SimplifyFCTranspose is given.
    """
    found = map(transposed_weight, cast("list[Expr]", post_order(expr)))
    return [var.name_hint for var in found if var is not None]
