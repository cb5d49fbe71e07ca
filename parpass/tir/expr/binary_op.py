"""Expressions of two operands of one dtype, and what is made like them."""

from __future__ import annotations

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import FieldKind, reflected
from parpass.runtime.dtypes import name_of
from parpass.tir.data_type import data_type
from parpass.tir.expr.prim_expr import EXPR_KINDS, Operand, PrimExpr, as_prim_expr

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryOpExpr",
    "CmpExpr",
    "Div",
    "FloorDiv",
    "FloorMod",
    "LogicalExpr",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Sub",
]


class BinaryOpExpr(PrimExpr, frozen=True, eq=False):
    """The base of arithmetic: operands and value have the same dtype.

    The constructors neither compute nor cast; Python's operators and the functions of
    `tir` do.

    Raises:
        IRTypeError: The dtypes differ.
    """

    a: Operand
    b: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        dtype = _common_dtype(self)
        if self.dtype != dtype:
            force_setattr(self, "dtype", dtype)


class CmpExpr(PrimExpr, frozen=True, eq=False):
    """The base of comparisons: operands have the same dtype, the value is a bool.

    Raises:
        IRTypeError: The dtypes differ.
    """

    a: Operand
    b: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        dtype = bool_like(_common_dtype(self))
        if self.dtype != dtype:
            force_setattr(self, "dtype", dtype)


class LogicalExpr(PrimExpr, frozen=True, eq=False):
    """The base of `And` and `Or`: operands and value are bools.

    Raises:
        IRTypeError: An operand is not a bool, or the numbers of lanes differ.
    """

    a: Operand
    b: Operand
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        dtype = _common_dtype(self)
        check_bool(self, self.a)
        if self.dtype != dtype:
            force_setattr(self, "dtype", dtype)


def _common_dtype(node: BinaryOpExpr | CmpExpr | LogicalExpr) -> str:
    a, b = node.a, node.b
    if type(a) not in EXPR_KINDS:
        a = as_prim_expr(a)
        force_setattr(node, "a", a)
    if type(b) not in EXPR_KINDS:
        b = as_prim_expr(b)
        force_setattr(node, "b", b)
    dtype = a.dtype
    if dtype != b.dtype:
        raise IRTypeError(
            f"mismatched types: expected operands of one dtype for "
            f"{type(node).__name__}, got {a.dtype} and {b.dtype}; cast one of them "
            "with astype, or use Python's operators, which do"
        )
    return dtype


def bool_like(dtype: str) -> str:
    """Return the dtype of bools with as many lanes as a dtype."""
    return "bool" if "x" not in dtype else name_of("bool", 1, data_type(dtype).lanes)


def check_bool(node: object, operand: PrimExpr) -> None:
    """Check that an operand of a node is a bool, or a vector of them.

    Raises:
        IRTypeError: It is none.
    """
    if operand.dtype != "bool" and data_type(operand.dtype).code != "bool":
        raise IRTypeError(
            f"expected a bool for {type(node).__name__}, got {operand.dtype}; compare "
            "it with something"
        )


_operands = reflected(
    is_graph=False, a=FieldKind.CHILD, b=FieldKind.CHILD, dtype=FieldKind.DERIVED
)


@_operands
class Add(BinaryOpExpr, frozen=True, eq=False):
    """`a + b`."""


@_operands
class Sub(BinaryOpExpr, frozen=True, eq=False):
    """`a - b`."""


@_operands
class Mul(BinaryOpExpr, frozen=True, eq=False):
    """`a * b`."""


@_operands
class Div(BinaryOpExpr, frozen=True, eq=False):
    """`a / b`; ints are rounded towards zero."""


@_operands
class Mod(BinaryOpExpr, frozen=True, eq=False):
    """The remainder of `Div` of ints, with the sign of `a`."""


@_operands
class FloorDiv(BinaryOpExpr, frozen=True, eq=False):
    """`a / b`, rounded down."""


@_operands
class FloorMod(BinaryOpExpr, frozen=True, eq=False):
    """The remainder of `FloorDiv`, with the sign of `b`."""


@_operands
class Min(BinaryOpExpr, frozen=True, eq=False):
    """The smaller of two; for floats NaN if either is, and -0.0 rather than 0.0."""


@_operands
class Max(BinaryOpExpr, frozen=True, eq=False):
    """The larger of two; for floats NaN if either is, and 0.0 rather than -0.0."""


@_operands
class EQ(CmpExpr, frozen=True, eq=False):
    """`a == b`."""


@_operands
class NE(CmpExpr, frozen=True, eq=False):
    """`a != b`."""


@_operands
class LT(CmpExpr, frozen=True, eq=False):
    """`a < b`."""


@_operands
class LE(CmpExpr, frozen=True, eq=False):
    """`a <= b`."""


@_operands
class GT(CmpExpr, frozen=True, eq=False):
    """`a > b`."""


@_operands
class GE(CmpExpr, frozen=True, eq=False):
    """`a >= b`."""


@_operands
class And(LogicalExpr, frozen=True, eq=False):
    """Both; `b` is evaluated only if `a` is true."""


@_operands
class Or(LogicalExpr, frozen=True, eq=False):
    """Either; `b` is evaluated only if `a` is false."""


DIVISIONS = (Div, Mod, FloorDiv, FloorMod)
ARITHMETIC = (Add, Sub, Mul, *DIVISIONS, Min, Max)
COMPARISONS = (EQ, NE, LT, LE, GT, GE)
