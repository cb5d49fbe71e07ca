"""Expressions that are computed of others: casts, selections, calls."""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Role, reflected
from parpass.ir.operators.op_table import Op
from parpass.ir.relay_expr import GlobalVar
from parpass.tir.binary_op import (
    check_bool,
)
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr.fields import convert_fields, set_dtype
from parpass.tir.prim_expr import (
    Operand,
    Operands,
    PrimExpr,
    as_prim_exprs,
)


@reflected(is_graph=False, value=Role.CHILD)
class Cast(PrimExpr, frozen=True, eq=False):
    """A value in another dtype, of as many lanes."""

    dtype: str
    value: Operand
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        set_dtype(self, checked(self.dtype))
        if data_type(self.dtype).lanes != data_type(self.value.dtype).lanes:
            raise IRTypeError(
                f"expected a dtype with the lanes of {self.value.dtype} for a cast, "
                f"got {self.dtype}"
            )


@reflected(is_graph=False, a=Role.CHILD, dtype=Role.DERIVED)
class Not(PrimExpr, frozen=True, eq=False):
    """`not a`."""

    a: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "a")
        check_bool(self, self.a)
        set_dtype(self, self.a.dtype)


@reflected(
    is_graph=False,
    condition=Role.CHILD,
    true_value=Role.CHILD,
    false_value=Role.CHILD,
    dtype=Role.DERIVED,
)
class Select(PrimExpr, frozen=True, eq=False):
    """One of two values, both of which are evaluated."""

    condition: Operand
    true_value: Operand
    false_value: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "condition", "true_value", "false_value")
        check_bool(self, self.condition)
        found, lanes = self.true_value.dtype, data_type(self.condition.dtype).lanes
        if found != self.false_value.dtype:
            raise IRTypeError(
                f"mismatched types: expected values of one dtype for Select, got "
                f"{found} and {self.false_value.dtype}"
            )
        if lanes not in (1, data_type(found).lanes):
            raise IRTypeError(
                f"expected a condition of one lane or of those of {found}, got "
                f"{self.condition.dtype}"
            )
        set_dtype(self, found)


@reflected(is_graph=False, op=Role.CHILD, args=Role.CHILDREN)
class Call(PrimExpr, frozen=True, eq=False):
    """A call of an operator of the table, `tir.exp` or such, or of a global function.

    Args:
        dtype: That of the value; "void" where there is none.
        op: The operator, or its name.
        args: The arguments; strings become `StringImm`s.
    """

    dtype: str
    op: Any
    args: Operands
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.dtype != checked(self.dtype):
            force_setattr(self, "dtype", checked(self.dtype))
        op = self.op
        if isinstance(op, str):
            name = op if op.startswith("tir.") else f"tir.{op}"
            force_setattr(self, "op", Op.get(name))
        elif not isinstance(op, Op | GlobalVar):
            raise IRTypeError(
                "expected an operator, its name or a GlobalVar for a call, got "
                f"{type(op).__name__}"
            )
        force_setattr(self, "args", as_prim_exprs(self.args))
