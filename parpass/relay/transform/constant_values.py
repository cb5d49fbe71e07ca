"""Constants in programs: which expressions are, and what they are as numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from parpass.diagnostic import Span
from parpass.ir.operators.op_table import Op
from parpass.relay.expr import Call, Constant, Expr, Tuple
from parpass.relay.functor import ExprVisitor
from parpass.runtime.ndarray import NDArray


class ConstantChecker(ExprVisitor):
    """Tells constants, and tuples of such, from other expressions."""

    def __init__(self) -> None:
        super().__init__()
        self._constant: dict[Expr, bool] = {}

    def check(self, expr: Expr) -> bool:
        """Return whether an expression is a constant."""
        if expr not in self._constant:
            self.visit(expr)
        return self._constant.get(expr, False)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the fields of a tuple; nothing else can make a constant."""
        return expr.fields if isinstance(expr, Tuple) else ()

    def visit_tuple(self, tup: Tuple) -> None:
        """Note whether the fields of a tuple are constants."""
        self._constant[tup] = all(map(self.check, tup.fields))

    def visit_default(self, expr: Expr) -> None:
        """Note a constant."""
        if is_simple_constant(expr):
            self._constant[expr] = True


def is_simple_constant(expr: Expr) -> bool:
    """Return whether this is one tensor, which may be annotated by `on_device`."""
    return isinstance(without_device(expr), Constant)


def without_device(expr: Expr) -> Expr:
    """Return what an `on_device` annotation is put on, else the expression itself."""
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        return expr.args[0] if expr.op.name == "on_device" else expr
    return expr


def with_device_of(annotated: Expr, expr: Expr) -> Expr:
    """Return `expr` with the `on_device` annotation of another, if that has one."""
    if without_device(annotated) is annotated:
        return expr
    call = cast("Call", annotated)
    return Call(call.op, (expr,), call.attrs, span=call.span)


def value_of(expr: Expr) -> Any:
    """Return a constant as an array, a tuple of constants as a tuple of arrays."""
    known: dict[Expr, Any] = {}

    def visit(expr: Expr) -> Any:
        if expr not in known:
            plain = without_device(expr)
            known[expr] = (
                tuple(map(visit, plain.fields))
                if isinstance(plain, Tuple)
                else cast("Constant", plain).data.numpy()
            )
        return known[expr]

    return visit(expr)


def constant_of(value: Any, span: Span | None) -> Expr:
    """Return an array as a constant, a tuple of arrays as a tuple of constants."""
    known: dict[int, Expr] = {}

    def visit(value: Any) -> Expr:
        if not isinstance(value, tuple):
            return Constant(NDArray(value), span)
        fields = cast("tuple[Any, ...]", value)
        if id(fields) not in known:
            known[id(fields)] = Tuple(tuple(map(visit, fields)), span)
        return known[id(fields)]

    return visit(value)
