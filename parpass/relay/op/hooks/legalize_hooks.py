"""Rules by which users have operators replaced: for Legalize."""

from __future__ import annotations

from typing import Any

from parpass.ir.operators.op_attrs import FIRST_LEVEL, register_op_attr

LEGALIZE = "FTVMLegalize"


def register_legalize(
    op_name: str, legal_op: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register a rule of Legalize for an operator; without one, a decorator.

    A rule is a function of the call's attributes, its arguments, and the types of these
    and of the result. It returns an expression, or None.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, LEGALIZE, legal_op, level)
