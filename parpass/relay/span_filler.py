"""Spans for what a pass makes in place of an expression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from parpass.diagnostic import Span
from parpass.relay.expr import Call, Constant, Expr, Tuple, TupleGetItem
from parpass.relay.functor import ExprMutator

_MADE = (Call, Tuple, TupleGetItem, Constant)


def with_span(expr: Expr, span: Span | None, kept: Iterable[Expr]) -> Expr:
    """Return an expression in which whatever has no span has this one.

    Builders of operators know no spans, so what a pass makes by them has none; the
    place of what it replaces is the best there is.

    Args:
        expr: What a pass made.
        span: The place of what it is made of; None leaves the expression as it is.
        kept: What was there before, and stays, with all that is below it.
    """
    if span is None:
        return expr
    filler = SpanFiller()
    for one in kept:
        filler.keep(one)
    return filler.filled(expr, span)


def with_span_of(replaced: Expr, expr: Expr) -> Expr:
    """Return an expression; a call or a projection without span has that of another.

    Args:
        replaced: The expression whose place the other takes.
        expr: The other.
    """
    span: Span | None = getattr(replaced, "span", None)
    if span is None or not isinstance(expr, Call | TupleGetItem) or expr.span:
        return expr
    return msgspec.structs.replace(expr, span=span)


class SpanFiller(ExprMutator):
    """Gives spans to what has none, except to what was there before."""

    _span: Span

    def keep(self, expr: Expr) -> None:
        """Leave an expression, and what is below it, as it is from now on."""
        self.memo_map[expr] = expr

    def filled(self, expr: Expr, span: Span | None) -> Expr:
        """Return an expression in which what has no span has this one, if it is one."""
        if span is None:
            return expr
        self._span = span
        return self.visit(expr)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return what is below an expression that was made; of others nothing."""
        # What has a span was there before, or was made with one on purpose.
        is_made = isinstance(expr, _MADE) and expr.span is None
        return super().visited_before(expr) if is_made else ()

    def visit_default(self, expr: Expr) -> Expr:
        """Return what is of another kind as it is."""
        return expr

    def visit_call(self, call: Call) -> Expr:
        """Fill a call."""
        return self._filled(call)

    def visit_tuple(self, tup: Tuple) -> Expr:
        """Fill a tuple."""
        return self._filled(tup)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Fill a projection."""
        return self._filled(op)

    def visit_constant(self, const: Constant) -> Expr:
        """Fill a constant."""
        return self._filled(const)

    def _filled(self, expr: Call | Tuple | TupleGetItem | Constant) -> Expr:
        if expr.span is not None:
            return expr
        new = super().visit_default(expr)
        return msgspec.structs.replace(new, span=self._span)
