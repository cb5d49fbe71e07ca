"""Where an expression comes from: which node of which model."""

from __future__ import annotations

import msgspec
import onnx

from parpass.diagnostic import Span
from parpass.relay.expr import Call, Constant, Expr, Tuple, TupleGetItem
from parpass.relay.frontend.onnx.model import operator_name
from parpass.relay.functor import ExprMutator


def title(node: onnx.NodeProto) -> str:
    """Return a node's operator and its name, or its first output where it has none."""
    names = [name for name in (node.name, *node.output) if name]
    return operator_name(node) + (f" '{names[0]}'" if names else "")


def listing_line(node: onnx.NodeProto) -> str:
    """Return a node as one line of the listing that diagnostics show."""
    comment = f"  # {node.name}" if node.name else ""
    results, inputs = ", ".join(node.output), ", ".join(node.input)
    return f"{results} = {operator_name(node)}({inputs}){comment}"


def span_of(node: onnx.NodeProto, index: int, source: str) -> Span:
    """Return the span of a node: its line in the listing of the model's nodes."""
    return Span(source, index + 1, index + 1, 1, len(listing_line(node)) + 1)


class SpanMarker(ExprMutator):
    """Gives what a converter built the span of its node; builders know no spans."""

    span: Span

    def keep(self, expr: Expr) -> None:
        """Leave an expression, and what is below it, as it is from now on."""
        self.memo_map[expr] = expr

    def mark(self, expr: Expr) -> Expr:
        """Return an expression with the span, down to the expressions that are kept."""
        return self.visit(expr)

    def visit_call(self, call: Call) -> Expr:
        """Mark a call."""
        return self._marked(super().visit_call(call))

    def visit_tuple(self, tup: Tuple) -> Expr:
        """Mark a tuple."""
        return self._marked(super().visit_tuple(tup))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """Mark a projection."""
        return self._marked(super().visit_tuple_getitem(op))

    def visit_constant(self, const: Constant) -> Expr:
        """Mark a constant."""
        return self._marked(const)

    def _marked(self, expr: Expr) -> Expr:
        return msgspec.structs.replace(expr, span=self.span)
