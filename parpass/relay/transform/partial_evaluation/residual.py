"""The code that is left: blocks of `let`s, and what references have in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.relay.expr import Expr, Function, Let, Var
from parpass.relay.transform.partial_evaluation.partial_values import (
    Partial,
    Reference,
)
from parpass.relay.transform.trampoline import Steps


class Store:
    """What references have, as far as it is known.

    Attributes:
        around: What is known around a branch, which does not change it.
        values: What is known besides.
    """

    def __init__(self, around: Store | None = None) -> None:
        self.around = around
        self.values: dict[Reference, Partial] = {}

    def __getitem__(self, ref: Reference) -> Partial | None:
        store: Store | None = self
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


class Line:
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
        self.store = Store(around.store if around is not None else None)
        self._lines: list[Line] = []

    def bind(
        self,
        name: str,
        value: Callable[[], Any],
        span: Any = None,
        *,
        kept: bool = False,
    ) -> Line:
        """Bind a new variable.

        Args:
            name: Its name.
            value: Returns its value, or the steps to it.
            span: Where it comes from.
            kept: Whether it is written even if nobody uses it.
        """
        line = Line(Var(name, None, span), value, span, is_wanted=kept)
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
