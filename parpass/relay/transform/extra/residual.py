"""Residual code of partial evaluation: blocks of `let`s, and contents of references.

Also the functions of a module in A-normal form, with their effects, and the values of
operators on known arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import DiagnosticError, EvaluationError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op_table import Effect, Op
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
)
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.extra.partial_values import Fields, Partial, Reference
from parpass.relay.transform.extra.trampoline import Steps
from parpass.relay.transform.fold_constant import may_evaluate
from parpass.relay.transform.normal_forms import to_a_normal_form
from parpass.relay.typing.infer import typed_function


class ReferenceStore:
    """The known contents of references.

    Attributes:
        around: The contents before a branch, which does not change them.
        values: The contents that are known besides.
    """

    def __init__(self, around: ReferenceStore | None = None) -> None:
        self.around = around
        self.values: dict[Reference, Partial] = {}

    def __getitem__(self, ref: Reference) -> Partial | None:
        store: ReferenceStore | None = self
        while store is not None:
            if ref in store.values:
                found = self.values[ref] = store.values[ref]
                return found
            store = store.around
        return None

    def __setitem__(self, ref: Reference, value: Partial) -> None:
        self.values[ref] = value

    def forget(self) -> None:
        """Forget all: something unknown may have written."""
        self.values.clear()
        self.around = None


class Binding:
    """A `let` that may come to be written.

    Attributes:
        var: The variable.
        value: Returns its value, when all that can use it is known.
        is_wanted: Whether it is to be written.
        span: Where it comes from.
    """

    __slots__ = ("is_wanted", "span", "value", "var")

    def __init__(
        self, var: Var, value: Callable[[], Any], span: Any, *, is_wanted: bool
    ) -> None:
        self.var = var
        self.value = value
        self.span = span
        self.is_wanted = is_wanted


class Block:
    """A chain of `let`s that is written from the front, and read from the end.

    Attributes:
        store: What references have at the end so far.
    """

    def __init__(self, around: Block | None = None) -> None:
        self.store = ReferenceStore(around.store if around is not None else None)
        self._lines: list[Binding] = []

    def bind(
        self,
        name: str,
        value: Callable[[], Any],
        span: Any = None,
        *,
        kept: bool = False,
    ) -> Binding:
        """Bind a new variable.

        Args:
            name: Its name.
            value: Returns its value, or the steps to it.
            span: The span of its source.
            kept: Whether it is kept even if it is not used.
        """
        line = Binding(Var(name, None, span), value, span, is_wanted=kept)
        self._lines.append(line)
        return line

    def ending(self, result: Partial) -> Steps[Expr]:
        """Return the chain around its result."""
        expr = result.used()
        for line in reversed(self._lines):  # uses come behind what they use
            if line.is_wanted:
                value = line.value()
                if not isinstance(value, Expr):
                    value = yield value
                if line.var is expr and not isinstance(value, Function):
                    expr = value
                else:
                    expr = Let(line.var, value, expr, line.span)
        return expr


_NESTING = 16  # of tuples that are given to operators


def referred(
    value: RefCreate | RefRead | RefWrite,
    parts: Sequence[Partial],
    store: ReferenceStore,
) -> Any:
    """Evaluate an operation on a reference, which may write to the store.

    Returns:
        What is known of the value: the content for a read, None if it is not known.
    """
    if isinstance(value, RefCreate):
        created = Reference()
        store[created] = parts[0]
        return created
    ref = parts[0].known
    if isinstance(value, RefRead):
        return store[ref] if isinstance(ref, Reference) else None
    if isinstance(ref, Reference):
        store[ref] = parts[1]
    else:
        store.forget()
    return Fields(())


def evaluated_call(
    call: Call, op: Op, args: Sequence[Partial], evaluator: Evaluator
) -> Expr | None:
    """Return the value of a call of an operator, if it is known."""
    if not args or not may_evaluate(op):
        return None
    known = [_as_constant(arg, _NESTING) for arg in args]
    given = [one for one in known if one is not None]
    if len(given) < len(known):
        return None
    try:
        return evaluator.evaluate(op, call.attrs, given, call.span)
    except EvaluationError:
        return None  # it may never be run


def _as_constant(value: Partial, nesting: int) -> Expr | None:
    """Return a value that is known as a constant, or a tuple of such."""
    if isinstance(value.known, Constant):
        return value.known
    if not isinstance(value.known, Fields) or nesting == 0:
        return None
    fields = [_as_constant(one, nesting - 1) for one in value.known.values]
    found = [one for one in fields if one is not None]
    return Tuple(found) if len(found) == len(fields) else None


class NormalProgram:
    """Has each function of a module in A-normal form, with types, when it is needed."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._values: dict[Expr, Expr] = {}
        self._effects = Effects(self._values, mod)
        self._normal: dict[str, Function | None] = {}

    def normal(self, name: str) -> Function:
        """Return a function in A-normal form.

        Raises:
            DiagnosticError: It is ill-typed, or shares effects between branches.
        """
        known = self._normal.get(name)
        if known is not None:
            return known
        typed = typed_function(self._mod[name], self._mod)
        normal = self._normal[name] = to_a_normal_form(typed, self._mod)
        for node in post_order(normal):
            if isinstance(node, Let):
                self._values[node.var] = node.value
        return normal

    def to_call(self, name: str) -> Function | None:
        """Return a function that may be evaluated in the place of its calls."""
        if name not in self._normal:
            self._normal[name] = None
            function: Any = self._mod[name]
            if isinstance(function, Function) and not is_opaque(function):
                # What is wrong is told where the function itself is evaluated.
                with contextlib.suppress(DiagnosticError):
                    self.normal(name)
        return self._normal[name]

    def writes(self, expr: Expr) -> bool:
        """Return whether others may see that a part of a function was evaluated."""
        return self._effects.of(expr) is Effect.WRITES
