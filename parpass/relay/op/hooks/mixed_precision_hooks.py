"""Which operators ToMixedPrecision computes in fewer bits, as users say it."""

from __future__ import annotations

from typing import Any

from parpass.ir.operators.op_attrs import FIRST_LEVEL, register_op_attr

MIXED_PRECISION = "FTVMMixedPrecisionConversionType"


def register_mixed_precision_conversion(
    op_name: str, func: Any = None, level: int = FIRST_LEVEL
) -> Any:
    """Register how ToMixedPrecision treats an operator; without a rule, a decorator.

    A rule is a function of a call and the dtype of fewer bits. It returns one of
    `relay.transform.mixed_precision`'s categories, the dtype to sum in and that of the
    result.

    Raises:
        UnknownOpError: There is no such operator.
    """
    return register_op_attr(op_name, MIXED_PRECISION, func, level)
