"""Infix expressions: operands and operators in a row, grouped by precedence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from parpass.diagnostic import Span
from parpass.ir.op_table import Op
from parpass.relay.expr import Call, Expr


class Operand(NamedTuple):
    """An expression, and the token at which its text begins.

    The span of the expression is not always that of the text: `%0` stands for a node
    that was read before.
    """

    expr: Expr
    begin: int


class _Operator(NamedTuple):
    precedence: int
    name: str
    place: int = 0


_NEGATIVE = _Operator(5, "negative")
OPERATORS = {
    "*": _Operator(4, "multiply"),
    "/": _Operator(4, "divide"),
    "+": _Operator(3, "add"),
    "-": _Operator(3, "subtract"),
    "<": _Operator(2, "less"),
    "<=": _Operator(2, "less_equal"),
    ">": _Operator(2, "greater"),
    ">=": _Operator(2, "greater_equal"),
    "==": _Operator(1, "equal"),
    "!=": _Operator(1, "not_equal"),
}


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
        self._waiting: list[_Operator] = []

    def sign(self, place: int) -> None:
        """Take in a minus before an operand."""
        self._waiting.append(_NEGATIVE._replace(place=place))

    def operator(self, left: Operand, text: str, place: int) -> None:
        """Take in an operand, and the operator that follows it."""
        operator = OPERATORS[text]
        self._operands.append(left)
        self._apply_down_to(operator.precedence, place - 1)
        self._waiting.append(operator)

    def end(self, operand: Operand, last: int) -> Operand:
        """Take in the last operand and its last token, and return the whole row."""
        self._operands.append(operand)
        self._apply_down_to(0, last)
        return self._operands.pop()

    def _apply_down_to(self, precedence: int, last: int) -> None:
        while self._waiting and self._waiting[-1].precedence >= precedence:
            _, name, begin = self._waiting.pop()
            right = self._operands.pop()
            args = (right.expr,)
            if name != _NEGATIVE.name:
                left, begin = self._operands.pop()
                args = (left, right.expr)
            call = Call(Op.get(name), args, span=self._span(begin, last))
            self._operands.append(Operand(call, begin))
