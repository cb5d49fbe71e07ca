"""What signs between expressions mean: calls of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.diagnostic import Span
from parpass.ir.operators.op_table import Op
from parpass.ir.text.infix import Operator
from parpass.relay.expr import Call


def _calls(name: str) -> Callable[[tuple[Any, ...], Span], Call]:
    def make(args: tuple[Any, ...], span: Span) -> Call:
        return Call(Op.get(name), args, span=span)

    return make


NEGATIVE = Operator(5, _calls("negative"), operands=1)
OPERATORS = {
    "*": Operator(4, _calls("multiply")),
    "/": Operator(4, _calls("divide")),
    "+": Operator(3, _calls("add")),
    "-": Operator(3, _calls("subtract")),
    "<": Operator(2, _calls("less")),
    "<=": Operator(2, _calls("less_equal")),
    ">": Operator(2, _calls("greater")),
    ">=": Operator(2, _calls("greater_equal")),
    "==": Operator(1, _calls("equal")),
    "!=": Operator(1, _calls("not_equal")),
}
