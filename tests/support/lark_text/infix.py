"""Infix expressions: a flat row of operands and operators, grouped by precedence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parpass.diagnostic import Span
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Expr

_NEGATE = (5, "negative")
_OPERATORS = {
    "*": (4, "multiply"),
    "/": (4, "divide"),
    "+": (3, "add"),
    "-": (3, "subtract"),
    "<": (2, "less"),
    "<=": (2, "less_equal"),
    ">": (2, "greater"),
    ">=": (2, "greater_equal"),
    "==": (1, "equal"),
    "!=": (1, "not_equal"),
}


class Read(NamedTuple):
    """An expression and the text that it was read from.

    The span is not always the node's: `%0` stands for a node that was read before.
    """

    expr: Expr
    span: Span


class Sign(NamedTuple):
    """The sign of an operator, and where it is."""

    text: str
    span: Span


class Grouping:
    """Groups one row by two stacks, so that it may be as long as one likes."""

    def __init__(self) -> None:
        self._operands: list[Read] = []
        self._waiting: list[tuple[int, str, Span]] = []

    def group(self, row: Sequence[Read | Sign]) -> Read:
        """Return the expression of a row: operands, and signs before and between."""
        after_operand = False
        for item in row:
            if isinstance(item, Read):
                self._operands.append(item)
            else:
                meaning = _OPERATORS[item.text] if after_operand else _NEGATE
                self._operator(meaning, item.span)
            after_operand = isinstance(item, Read)
        self._apply_down_to(0)
        return self._operands.pop()

    def _operator(self, meaning: tuple[int, str], span: Span) -> None:
        precedence, name = meaning
        if meaning != _NEGATE:  # those before a sign still lack their operand
            self._apply_down_to(precedence)
        self._waiting.append((precedence, name, span))

    def _apply_down_to(self, precedence: int) -> None:
        while self._waiting and self._waiting[-1][0] >= precedence:
            _, name, first = self._waiting.pop()
            right, last = self._operands.pop()
            args = (right,)
            if name != _NEGATE[1]:
                left, first = self._operands.pop()
                args = (left, right)
            span = joined(first, last)
            self._operands.append(Read(Call(Op.get(name), args, span=span), span))


def joined(first: Span, last: Span) -> Span:
    """Return the stretch from the beginning of one span to the end of another."""
    return Span(
        first.source_name, first.line, last.end_line, first.column, last.end_column
    )
