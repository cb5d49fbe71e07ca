"""What evaluating an expression does, besides giving a value."""

from __future__ import annotations

from parpass.ir.node import post_order
from parpass.ir.operators.op_table import Op
from parpass.tir.binary_op import Div, FloorDiv, FloorMod, Mod
from parpass.tir.buffer import BufferLoad
from parpass.tir.builtin import CallEffectKind, call_effect
from parpass.tir.expr import Call, Load
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr

_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def side_effect(expr: PrimExpr) -> CallEffectKind:
    """Return what evaluating an expression does at most, as TVM's `SideEffect`."""
    found = CallEffectKind.Pure
    for node in post_order(expr):
        if isinstance(node, Load | BufferLoad):
            found = max(found, CallEffectKind.ReadState)
        elif isinstance(node, Call):
            is_known = isinstance(node.op, Op)
            kind = call_effect(node.op) if is_known else CallEffectKind.Opaque
            found = max(found, kind)
    return found


def may_be_speculated(expr: PrimExpr) -> bool:
    """Return whether an expression may be evaluated earlier, or where it was not.

    It reads no memory then, and divides by nothing that may be 0.
    """
    if side_effect(expr) > CallEffectKind.Pure:
        return False
    divisions = [node for node in post_order(expr) if isinstance(node, _DIVISIONS)]
    return all(
        isinstance(one.b, IntImm | FloatImm) and one.b.value != 0 for one in divisions
    )
