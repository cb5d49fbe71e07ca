"""Substitution: expressions for variables, and copies with fresh variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.errors.core import describe_kind, did_you_mean
from parpass.ir.node import Node, bindings, children, post_order, reflection
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
    as_expr,
    const,
)
from parpass.relay.functor import ExprMutator
from parpass.runtime.ndarray import NDArray

ExprT = TypeVar("ExprT", bound=Expr)
NodeT = TypeVar("NodeT", bound=Node)
OldT = TypeVar("OldT", Var, Constant)


def bind(expr: ExprT, binds: Mapping[Any, Any]) -> ExprT:
    """Return an expression with values substituted for free variables or parameters.

    A function loses the parameters that are bound, and gets one for each new free
    variable of the values.

    Args:
        expr: A function, or another expression.
        binds: Values by variable or by name: expressions, arrays, numbers. A name
            stands for a parameter of the function, or for a free variable.

    Raises:
        IRTypeError: A key is neither, a name means none or several of the variables, or
            a value cannot be an expression.
    """
    # Analyses are loaded when first used, which is not by importing relay.
    from parpass.relay.analysis import free_vars

    free = free_vars(expr)
    params = expr.params if isinstance(expr, Function) else ()
    named = [*params, *(var for var in free if var not in params)]
    values = {_variable(key, named): _value(value) for key, value in binds.items()}
    if not isinstance(expr, Function):
        return substitute(expr, values)
    body = substitute(expr.body, values)
    kept = tuple(param for param in params if param not in values)
    if body is expr.body and len(kept) == len(params):
        return expr
    bound = Function(kept, body, expr.ret_type, expr.type_params, expr.attrs, expr.span)
    known = {*free, *values}
    new = tuple(var for var in free_vars(bound) if var not in known)
    if new:
        bound = Function(
            (*kept, *new),
            body,
            expr.ret_type,
            expr.type_params,
            expr.attrs,
            expr.span,
        )
    return cast("ExprT", bound)


def bind_params_by_name(
    func: Function, params: Mapping[str, NDArray | npt.ArrayLike]
) -> Function:
    """Return a function with constants in place of the named parameters.

    As in TVM, unknown names are ignored: `params` may hold values for several
    functions.

    Args:
        func: The function.
        params: Values by parameter name, as `from_onnx` returns them.

    Raises:
        IRTypeError: `func` is not a function, `params` is not a mapping, two parameters
            have the same name, or a value does not have its parameter's shape. Its
            dtype may differ.
    """
    if not isinstance(cast("object", func), Function):
        raise IRTypeError(
            f"expected a relay.Function to bind parameters of, got "
            f"{type(func).__name__}; of a module it may be mod['main']"
        )
    if not isinstance(cast("object", params), Mapping):
        raise IRTypeError(f"expected params by name, got {describe_kind(params)}")
    wanted = {param.name_hint for param in func.params} & {*params}
    binds = {_variable(name, [*func.params]): const(params[name]) for name in wanted}
    for param, value in binds.items():
        _check_fits(param, value.data)
    return bind(func, binds)


def _check_fits(param: Var, value: NDArray) -> None:
    wanted = param.type_annotation
    if not isinstance(wanted, TensorType):
        return
    fits = len(wanted.shape) == len(value.shape) and all(
        dim == there or not isinstance(dim, int)
        for dim, there in zip(wanted.shape, value.shape, strict=True)
    )
    if not fits:
        found = TensorType(value.shape, value.dtype)
        raise IRTypeError(
            f"expected {wanted} for parameter '{param.name_hint}', got {found}"
        )


def substitute(expr: ExprT, values: Mapping[OldT, Expr]) -> ExprT:
    """Return an expression with variables or constants replaced by expressions."""
    mutator = ExprMutator()
    for old, value in values.items():
        mutator.memo_map[old] = value
    return cast("ExprT", mutator.visit(expr))


def with_new_variables(expr: NodeT, values: Mapping[Var, Expr] | None = None) -> NodeT:
    """Return a copy with fresh variables, which may be used beside the original.

    Calls with effects are copied even where nothing in them changes; otherwise one call
    would stand for the effects of two places.

    Args:
        expr: The expression, or a clause.
        values: The expressions to substitute for some variables.
    """
    bound = {var for node in post_order(expr) for var in bindings(node)}
    new = {
        var: Var(var.name_hint, var.type_annotation, var.span, var.checked_type_)
        for var in bound
    }
    copier = _Copier()
    for var, value in {**new, **(values or {})}.items():
        copier.memo_map[var] = value
    return cast("NodeT", copier.visit(cast("Any", expr)))


class _Copier(ExprMutator):
    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        if new is not call or (isinstance(call.op, Op) and not call.op.effect):
            return new
        return reflection(Call).rebuild(call, children(call))

    def visit_ref_create(self, ref_create: RefCreate) -> Expr:
        return self._own(ref_create)

    def visit_ref_read(self, ref_read: RefRead) -> Expr:
        return self._own(ref_read)

    def visit_ref_write(self, ref_write: RefWrite) -> Expr:
        return self._own(ref_write)

    def _own(self, expr: Expr) -> Expr:
        new = self.visit_default(expr)
        return (
            reflection(type(expr)).rebuild(expr, children(expr)) if new is expr else new
        )


def _variable(key: Any, named: list[Var]) -> Var:
    if isinstance(key, Var):
        return key
    if not isinstance(key, str):
        raise IRTypeError(
            f"expected a variable or a name to bind, got {type(key).__name__}"
        )
    found = [var for var in named if var.name_hint == key]
    if len(found) != 1:
        names = [var.name_hint for var in named]
        raise IRTypeError(
            f"expected one variable named '{key}' to bind, got {len(found)}"
            f"{'' if found else did_you_mean(key, names)}"
        )
    return found[0]


def _value(value: Any) -> Expr:
    return const(value) if isinstance(value, NDArray) else as_expr(value)
