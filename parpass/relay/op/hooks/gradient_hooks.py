"""How operators are differentiated, as users say it of theirs."""

from __future__ import annotations

from typing import Any

from parpass.ir.operators.op_attrs import FIRST_LEVEL, register_op_attr

PRIMAL_GRADIENT = "FPrimalGradient"


def register_gradient(
    op_name: str, fgradient: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register the gradient of an operator; without a function, a decorator.

    The function takes a typed call of the operator and what the gradient of its result
    is, and returns that of each argument. It may use the call itself for its value. For
    an argument that is a tuple it returns a tuple.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, PRIMAL_GRADIENT, fgradient, level)
