"""Dense layers whose weight is transposed each time that they are computed."""

from __future__ import annotations

from parpass.ir.node import post_order
from parpass.ir.operators.op_table import Op
from parpass.ir.types.ty import TensorType
from parpass.relay.expr import Call, Expr, Var


def transposed_weight(call: Expr) -> Var | None:
    """Return `w` of `nn.dense(x, transpose(w))`, a variable of known rank 2.

    None for every other expression.
    """
    weight = call.args[1] if _calls(call, "nn.dense") else None
    if not isinstance(weight, Call) or not _calls(weight, "transpose"):
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
    found = map(transposed_weight, post_order(expr))
    return [var.name_hint for var in found if var is not None]


def _calls(expr: object, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name
