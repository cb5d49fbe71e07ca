"""Loop expressions: immutable nodes, under TVM's names and fields.

Constructors check dtypes as TVM's do, and compute nothing. A tuple is made of any
sequence, a constant of any number; a condition is a bool.
"""

from parpass.tir.expr.computed import Call, Cast, Not, Select
from parpass.tir.expr.fields import convert_fields, set_dtype
from parpass.tir.expr.load import Load, check_access
from parpass.tir.expr.variable import Let, SizeVar, Var, check_bound, check_var, type_of
from parpass.tir.expr.vector import Broadcast, Ramp, Shuffle, const_true

__all__ = [
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
    "convert_fields",
    "set_dtype",
    "type_of",
]
