"""Calls of packed functions, those that `MakePackedAPI` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parpass.errors import EvaluationError
from parpass.tir.function import PrimFunc
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.interpreter.structures import PackedValues
from parpass.tir.packed_abi import PACKED_PARAMS, ArgTypeCode


def evaluate_packed(
    func: PrimFunc, args: Sequence[Any] = (), *, max_steps: int | None = None
) -> Any:
    """Call a packed function as TVM's runtime does; arrays are written to.

    Args:
        func: The function.
        args: Those of the function that it was: arrays, numbers, pointers. The last
            ones are passed by themselves, as many as are not packed.
        max_steps: How many statements and rounds of loops it may take; None for any
            number.

    Returns:
        What the function returned before it was packed, as an int or a float; None
        where it returns nothing.

    Raises:
        EvaluationError: An argument is refused, or what else `evaluate` raises.
    """
    unpacked = len(func.params) - PACKED_PARAMS
    if not 0 <= unpacked <= len(args):
        raise EvaluationError(
            f"expected a packed function, and {max(unpacked, 0)} arguments or more, "
            f"got one of {len(func.params)} parameters and {len(args)} arguments"
        )
    packed = len(args) - unpacked
    values = PackedValues(args[:packed])
    result, code = np.zeros(1, np.int64), np.full(1, int(ArgTypeCode.NULL), np.int32)
    given = (values, values.codes, packed, *args[packed:], result, code, None)
    evaluate(func, given, max_steps=max_steps)
    if code[0] == ArgTypeCode.NULL:
        return None
    is_float = code[0] == ArgTypeCode.FLOAT
    return (result.view(np.float64) if is_float else result)[0].item()
