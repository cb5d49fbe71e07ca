"""Operator-precedence parser of infix expressions (shunting yard)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parpass.diagnostic import Span


class Operand(NamedTuple):
    """An expression, and the token at which its text begins.

    The span of the expression may differ from that of the text: `%0` stands for a node
    that was parsed before.
    """

    expr: Any
    begin: int


class Operator(NamedTuple):
    """An operator of the language.

    Attributes:
        precedence: Operators of a larger number bind more tightly; of equal ones, the
            left one.
        make: Makes the expression from its operands and its span.
        operands: The number of operands: a unary operator precedes its operand.
    """

    precedence: int
    make: Callable[[tuple[Any, ...], Span], Any]
    operands: int = 2


class PrecedenceParser:
    """Groups one expression by two stacks, so that its length is unlimited.

    An operator is applied as soon as the next one does not bind its right operand more
    tightly; that operand ends with the last token that was read.

    Args:
        span: Returns the span from one token to another.
    """

    def __init__(self, span: Callable[[int, int], Span]) -> None:
        self._span = span
        self._operands: list[Operand] = []
        self._waiting: list[tuple[Operator, int]] = []

    def push_prefix(self, operator: Operator, place: int) -> None:
        """Push an operator that precedes its operand."""
        self._waiting.append((operator, place))

    def push_infix(self, left: Operand, operator: Operator, place: int) -> None:
        """Push an operand and the operator that follows it."""
        self._operands.append(left)
        self._apply_down_to(operator.precedence, place - 1)
        self._waiting.append((operator, place))

    def finish(self, operand: Operand, last: int) -> Operand:
        """Push the last operand and its last token, and return the whole expression."""
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
