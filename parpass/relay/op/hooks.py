"""Registration of users' rules for operators, by the pass that applies them.

Gradients, and layouts (AlterOpLayout and ConvertLayout).
"""

from __future__ import annotations

from typing import Any

from parpass.ir.op.op_registration import FIRST_LEVEL, register_op_attr

PRIMAL_GRADIENT = "FPrimalGradient"


def register_gradient(
    op_name: str, fgradient: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register the gradient of an operator; without a function, a decorator.

    The function takes a typed call of the operator and the gradient of its result, and
    returns the gradient of each argument, as a tuple for an argument that is one. It
    may use the call itself as its value.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, PRIMAL_GRADIENT, fgradient, level)


ALTER_OP_LAYOUT = "FTVMAlterOpLayout"
CONVERT_OP_LAYOUT = "FTVMConvertOpLayout"
INFER_CORRECT_LAYOUT = "FInferCorrectLayout"


def register_alter_op_layout(
    op_name: str, alter_layout: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register a rule of AlterOpLayout for an operator; without one, a decorator.

    A rule is a function of the call's attributes, its arguments, their types and the
    type of its result. It returns a call in other layouts, or None.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, ALTER_OP_LAYOUT, alter_layout, level)


def register_convert_op_layout(
    op_name: str, convert_layout: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register a rule of ConvertLayout for an operator; without one, a decorator.

    A rule is a function of the call's attributes, its arguments, their types and the
    desired layouts. It returns a call in these layouts, or None.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, CONVERT_OP_LAYOUT, convert_layout, level)


def register_infer_correct_layout(
    op_name: str, infer_layout: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register a layout inference rule of an operator; without a rule, a decorator.

    A rule is a function of the call's attributes, the new layouts of its arguments, the
    old ones and their types. It returns an `InferCorrectLayoutOutput`, or None if the
    operator needs its arguments in the old layouts.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, INFER_CORRECT_LAYOUT, infer_layout, level)
