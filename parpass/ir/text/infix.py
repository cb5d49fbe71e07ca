"""Infix expressions: operands and operators in a row, grouped by precedence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parpass.diagnostic import Span


class Operand(NamedTuple):
    """An expression, and the token at which its text begins.

    The span of the expression is not always that of the text: `%0` stands for a node
    that was read before.
    """

    expr: Any
    begin: int


class Operator(NamedTuple):
    """An operator of the language.

    Attributes:
        precedence: Which operators bind their operands more tightly: those of a larger
            number; of equal ones, the left one.
        make: Makes the expression of its operands, which is over a stretch of text.
        operands: How many it has: one that has one stands before it.
    """

    precedence: int
    make: Callable[[tuple[Any, ...], Span], Any]
    operands: int = 2


class Row:
    """Groups one row by two stacks, so that it may be as long as one likes.

    An operator is applied as soon as it is known that what follows does not bind its
    right operand more tightly; that operand ends with the last token that was read.

    Args:
        span: Returns the stretch of text from one token to another one.
    """

    def __init__(self, span: Callable[[int, int], Span]) -> None:
        self._span = span
        self._operands: list[Operand] = []
        self._waiting: list[tuple[Operator, int]] = []

    def sign(self, operator: Operator, place: int) -> None:
        """Take in an operator that stands before its operand."""
        self._waiting.append((operator, place))

    def operator(self, left: Operand, operator: Operator, place: int) -> None:
        """Take in an operand, and the operator that follows it."""
        self._operands.append(left)
        self._apply_down_to(operator.precedence, place - 1)
        self._waiting.append((operator, place))

    def end(self, operand: Operand, last: int) -> Operand:
        """Take in the last operand and its last token, and return the whole row."""
        self._operands.append(operand)
        self._apply_down_to(0, last)
        return self._operands.pop()

    def _apply_down_to(self, precedence: int, last: int) -> None:
        while self._waiting and self._waiting[-1][0].precedence >= precedence:
            operator, begin = self._waiting.pop()
            right = self._operands.pop()
            args = (right.expr,)
            if operator.operands == 2:
                left, begin = self._operands.pop()
                args = (left, right.expr)
            made = operator.make(args, self._span(begin, last))
            self._operands.append(Operand(made, begin))
