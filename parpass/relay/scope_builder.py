"""ScopeBuilder: programs with `let`s and `if`s, written in the order of evaluation.

And loops, which are functions that call themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from parpass.errors import IRTypeError, ScopeBuilderError
from parpass.ir.types import Type
from parpass.relay.expr import (
    Expr,
    Function,
    If,
    Let,
    Operand,
    Tuple,
    Var,
    as_expr,
)


class _Scope:
    def __init__(self) -> None:
        self.lets: list[tuple[Var, Expr]] = []
        self.result: Expr | None = None
        self.cond: Expr | None = None  # of an `if` that still has no `else`
        self.true_branch: Expr | None = None


class ScopeBuilder:
    """Builds an expression statement by statement.

    ::

        builder = relay.ScopeBuilder()
        with builder.if_scope(cond):
            a = builder.let("a", relay.exp(x))
            builder.ret(a)
        with builder.else_scope():
            builder.ret(x)
        func = relay.Function([x], builder.get())
    """

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, var: Var | str | tuple[str, Type], value: Operand) -> Var:
        """Bind a variable in this scope, and return it.

        Args:
            var: The variable, its name, or its name and type.
            value: Its value.

        Raises:
            IRTypeError: `var` or `value` is of another kind.
        """
        self._open("let")
        if isinstance(var, str):
            var = Var(var)
        elif isinstance(var, tuple | list):
            if len(var) != 2:
                raise IRTypeError(f"expected a name and a type, got {var!r}")
            var = Var(*var)
        self._scopes[-1].lets.append((var, as_expr(value)))
        return var

    @contextmanager
    def if_scope(self, cond: Operand) -> Generator[None]:
        """Open the branch that is evaluated if `cond` is true."""
        outer = self._open("if_scope")
        outer.cond = as_expr(cond)
        self._scopes.append(_Scope())
        yield
        outer.true_branch = self._close()

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """Open the second branch, directly after that of `if_scope`.

        Raises:
            ScopeBuilderError: There was no `if_scope` before.
        """
        outer = self._scopes[-1]
        if outer.cond is None or outer.true_branch is None:
            raise ScopeBuilderError("expected else_scope() right after an if_scope")
        self._scopes.append(_Scope())
        yield
        outer.result = If(outer.cond, outer.true_branch, self._close())
        outer.cond = outer.true_branch = None

    def type_of(self, expr: Expr) -> Type:
        """Return the type of an expression that refers to no globals.

        Raises:
            DiagnosticError: It is ill-typed, or a variable in it has no type.
        """
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        # Inference is loaded when first used, which is not by importing relay.
        from parpass.relay.type_inference.infer import infer_type

        return infer_type(expr).checked_type

    def ret(self, value: Operand) -> None:
        """Set the value of this scope.

        Raises:
            ScopeBuilderError: It is set already.
        """
        self._open("ret").result = as_expr(value)

    def get(self) -> Expr:
        """Return the expression that was built.

        Raises:
            ScopeBuilderError: The scope has no value yet.
        """
        return _expression(self._scopes[-1])

    def _open(self, what: str) -> _Scope:
        scope = self._scopes[-1]
        if scope.cond is not None:
            raise ScopeBuilderError(f"expected else_scope() before {what}()")
        if scope.result is not None:
            raise ScopeBuilderError(
                f"{what}() in a scope that already has a value; expected a single "
                "ret() or if, at the end"
            )
        return scope

    def _close(self) -> Expr:
        return _expression(self._scopes.pop())


def while_loop(
    cond: Callable[..., Operand],
    loop_vars: Sequence[Expr],
    loop_bodies: Callable[..., Sequence[Operand]],
) -> Let:
    """Return a function that repeats a body while a condition holds.

    Call it with the first values. Its result is the tuple of the last ones::

        i = relay.var("i", shape=(), dtype="int32")
        is_small = lambda i: relay.less(i, relay.const(9))
        loop = while_loop(is_small, [i], lambda i: [i + 1])
        nine = loop(relay.const(0))

    Args:
        cond: Returns the condition, given the variables of the loop.
        loop_vars: For each variable an expression of its type; of a `Var` it has the
            name, too.
        loop_bodies: Returns the values for the next round, given the variables.

    Raises:
        DiagnosticError: An expression of `loop_vars` has no type.
    """
    builder = ScopeBuilder()
    variables = [
        Var(one.name_hint if isinstance(one, Var) else f"arg{i}", builder.type_of(one))
        for i, one in enumerate(loop_vars)
    ]
    loop = Var("while_loop")
    again = loop(*map(as_expr, loop_bodies(*variables)))
    body = If(as_expr(cond(*variables)), again, Tuple(variables))
    return Let(loop, Function(variables, body), loop)


def _expression(scope: _Scope) -> Expr:
    if scope.cond is not None:
        raise ScopeBuilderError("expected an else_scope() after if_scope()")
    if scope.result is None:
        raise ScopeBuilderError("expected ret() in a scope without a value")
    result = scope.result
    for var, value in reversed(scope.lets):
        result = Let(var, value, result)
    return result
