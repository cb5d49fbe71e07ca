"""LowerIntrin: divisions that round down become those that machines have."""

from __future__ import annotations

from typing import Any

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.tir.analysis.function_contents import contents
from parpass.tir.binary_op import Div, FloorDiv, FloorMod, Mod
from parpass.tir.data_type import data_type
from parpass.tir.expr import Let, Select, Var, constant_int
from parpass.tir.function import PrimFunc
from parpass.tir.op import (
    add,
    bitwise_and,
    const,
    floor,
    logical_and,
    logical_or,
    multiply,
    right_shift,
    subtract,
)
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr
from parpass.tir.stmt import Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.tir.transform.ssa import convert_ssa
from parpass.transform import PassContext, PassInfo, register_pass

_SHIFTED = ("int32", "int64")  # of which TVM takes the sign by a shift


@register_pass("tir.transform.LowerIntrin")
class LowerIntrin(PrimFuncPass):
    """Compute `floordiv` and `floormod` by divisions that round towards zero.

    ::

        B[0] = floordiv(x, 8) + floormod(y, 3)

    becomes::

        B[0] = (x >> 3) + (truncmod(y, 3) + (3 & (truncmod(y, 3) >> 31)))

    What is used twice is bound to a variable first. Of floats the quotient is rounded.
    TVM's pass also asks the function's target for its own operators; there is none
    here, so all others stay.
    """

    pass_info = PassInfo(0, "tir.LowerIntrin")

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without divisions that round down."""
        if ctx.get_analysis(contents, func).kinds.isdisjoint((FloorDiv, FloorMod)):
            return func
        body = IntrinInjecter().visit(func.body)
        assert isinstance(body, Stmt)
        return func if body is func.body else func.with_body(convert_ssa(body))


class IntrinInjecter(StmtExprMutator):
    """Rewrites divisions, those in operands first."""

    def visit_floor_div_(self, op: FloorDiv) -> Node:
        """Divide and round down."""
        return self._lowered(op, _divided, _floored)

    def visit_floor_mod_(self, op: FloorMod) -> Node:
        """Return what is left."""
        return self._lowered(op, _left, _left_of_floats)

    def _lowered(self, op: Any, of_ints: Any, of_floats: Any) -> Node:
        new: Any = self.visit_default(op)
        if constant_int(new.b) == 0:
            return new  # an error where it is run, here as there
        bound: list[tuple[Var, PrimExpr]] = []
        a, b = (_named(one, name, bound) for one, name in ((new.a, "a"), (new.b, "b")))
        is_float = data_type(new.dtype).is_floating
        result = (of_floats if is_float else of_ints)(a, b, bound)
        for var, value in reversed(bound):
            result = Let(var, value, result)
        return result


Bound = list[tuple[Var, PrimExpr]]


def _named(expr: PrimExpr, name: str, bound: Bound) -> PrimExpr:
    """Return what may be written twice: a variable, where that would be long."""
    if isinstance(expr, Var | IntImm | FloatImm) or constant_int(expr) is not None:
        return expr
    bound.append((Var(name, expr.dtype), expr))
    return bound[-1][0]


def _divided(a: PrimExpr, b: PrimExpr, bound: Bound) -> PrimExpr:
    dtype, divisor = a.dtype, constant_int(b)
    if data_type(dtype).code != "int":
        return Div(a, b)
    shift = _power_of_two(divisor)
    if shift is not None:
        return right_shift(a, const(shift, dtype)) if shift else a
    rest = _named(Mod(a, b), "rmod", bound)
    quotient = _named(Div(a, b), "rdiv", bound)
    if divisor is not None and divisor > 0 and dtype in _SHIFTED:
        return add(quotient, _sign(rest))
    less = subtract(quotient, const(1, dtype))
    return Select(_has_sign_of(rest, b, divisor), quotient, less)


def _left(a: PrimExpr, b: PrimExpr, bound: Bound) -> PrimExpr:
    dtype, divisor = a.dtype, constant_int(b)
    if data_type(dtype).code != "int":
        return Mod(a, b)
    shift = _power_of_two(divisor)
    if shift is not None:
        return bitwise_and(a, const((1 << shift) - 1, dtype))
    rest = _named(Mod(a, b), "rmod", bound)
    if divisor is not None and divisor > 0 and dtype in _SHIFTED:
        return add(rest, bitwise_and(b, _sign(rest)))
    return Select(_has_sign_of(rest, b, divisor), rest, add(rest, b))


def _floored(a: PrimExpr, b: PrimExpr, bound: Bound) -> PrimExpr:
    del bound
    return floor(Div(a, b))


def _left_of_floats(a: PrimExpr, b: PrimExpr, bound: Bound) -> PrimExpr:
    return subtract(a, multiply(_floored(a, b, bound), b))


def _power_of_two(divisor: int | None) -> int | None:
    is_one = divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0
    return divisor.bit_length() - 1 if is_one and divisor else None


def _sign(rest: PrimExpr) -> PrimExpr:
    """Return -1 for what is negative, 0 for the others."""
    bits = data_type(rest.dtype).bits
    return right_shift(rest, const(bits - 1, rest.dtype))


def _has_sign_of(rest: PrimExpr, b: PrimExpr, divisor: int | None) -> PrimExpr:
    """Return whether the quotient is rounded down already."""
    zero = const(0, b.dtype)
    if divisor is not None:
        return rest >= zero if divisor > 0 else rest <= zero
    positive, negative = logical_and(b >= zero, rest >= zero), rest <= zero
    return logical_or(positive, logical_and(b < zero, negative))
