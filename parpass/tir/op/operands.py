"""What operands become before they make a node: of one dtype, and folded."""

from __future__ import annotations

from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.tir.binary_op import (
    BinaryOpExpr,
    CmpExpr,
)
from parpass.tir.const_fold import fold
from parpass.tir.data_type import DataType, data_type
from parpass.tir.expr import Broadcast
from parpass.tir.op.conversion import cast_to
from parpass.tir.prim_expr import PrimExpr, as_prim_expr


def match_types(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands in one dtype, which is cast to where they differ.

    A scalar beside a vector is repeated. Of floats the wider counts, as of ints; a
    float counts beside an int, and of an int and an unsigned one of one width the
    unsigned one.

    Raises:
        IRTypeError: There is no such dtype.
    """
    lhs, rhs = as_prim_expr(a), as_prim_expr(b)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    left, right = data_type(lhs.dtype), data_type(rhs.dtype)
    if left.lanes == 1 and right.lanes != 1:
        lhs = Broadcast(lhs, right.lanes)
    elif right.lanes == 1 and left.lanes != 1:
        rhs = Broadcast(rhs, left.lanes)
    elif left.lanes != right.lanes:
        raise _unmatched(lhs, rhs)
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    if _is_cast(left, right, lhs, rhs):
        return cast_to(lhs, rhs.dtype), rhs
    return lhs, cast_to(rhs, lhs.dtype)


def _is_cast(left: DataType, right: DataType, lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether the left operand is the one that is cast."""
    kinds = {"bool": "uint"}
    mine, theirs = (kinds.get(one.code, one.code) for one in (left, right))
    if {mine, theirs} - {"int", "uint", "float", "bfloat"}:
        raise _unmatched(lhs, rhs)
    if left.is_floating != right.is_floating:
        return right.is_floating
    if left.bits != right.bits:
        return left.bits < right.bits
    return theirs in ("uint", "float") and mine != theirs


def _unmatched(lhs: PrimExpr, rhs: PrimExpr) -> IRTypeError:
    return IRTypeError(
        f"Cannot match type {lhs.dtype} vs {rhs.dtype}: expected operands of one "
        "dtype, or of ones that can be cast to each other"
    )


def binary(
    kind: type[BinaryOpExpr | CmpExpr], a: Any, b: Any, span: Span | None
) -> PrimExpr:
    """Return a node of two operands of one dtype, or what constants fold it to."""
    lhs, rhs = match_types(a, b)
    found = fold(kind, lhs, rhs)
    return kind(lhs, rhs, span) if found is None else found


def two_ints(name: str, a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands of an operator of ints; see `int_operand`."""
    return int_operand(name, a), int_operand(name, b)


def int_operand(name: str, value: Any) -> PrimExpr:
    """Return an operand of an operator of ints.

    Raises:
        IRTypeError: It is of another dtype.
    """
    expr = as_prim_expr(value)
    if not data_type(expr.dtype).is_integral:
        raise IRTypeError(f"expected ints for {name}, got {expr.dtype}")
    return expr
