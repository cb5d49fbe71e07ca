"""Loop expressions: immutable nodes, under TVM's names and fields.

Constructors check dtypes as TVM's do, and compute nothing. A tuple is made of any
sequence, a constant of any number; a condition is a bool.
"""

from typing import TYPE_CHECKING

from parpass.lazy_loader import attach_lazy, homes
from parpass.tir.expr.scalar import AnyExpr as Any
from parpass.tir.expr.scalar import (
    Call,
    Cast,
    Let,
    Not,
    Select,
    SizeVar,
    Var,
    check_bound,
    check_var,
    convert_fields,
    set_dtype,
    type_of,
)
from parpass.tir.expr.vector import (
    Broadcast,
    Load,
    Ramp,
    Shuffle,
    check_access,
    const_true,
    constant_int,
    is_true,
)

__all__ = [
    "Any",
    "Broadcast",
    "Call",
    "Cast",
    "Let",
    "Load",
    "Not",
    "Ramp",
    "Select",
    "Shuffle",
    "SizeVar",
    "Var",
    "check_access",
    "check_bound",
    "check_var",
    "const_true",
    "constant_int",
    "convert_fields",
    "is_true",
    "set_dtype",
    "type_of",
]

# What is an expression, too, but is made further up; TVM has all of them here.
_ABOVE = {
    "tir.binary_op": """
        Add And BinaryOpExpr CmpExpr Div EQ FloorDiv FloorMod GE GT LE LT LogicalExpr
        Max Min Mod Mul NE Or Sub""",
    "tir.buffer": "BufferLoad",
    "tir.builtin": "CallEffectKind",
    "tir.iteration": "IterVar",
    "tir.prim_expr": "EqualOp ExprOp FloatImm IntImm NotEqualOp PrimExpr StringImm",
    "tir.reduction": "CommReducer Reduce",
    "tir.tensor": "ProducerLoad",
}
if not TYPE_CHECKING:
    __getattr__, __dir__ = attach_lazy(__name__, homes(_ABOVE))
