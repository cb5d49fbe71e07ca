"""Arithmetic on numpy's scalars, and on vectors of them.

Ints wrap around and floats are rounded to their dtype, as in machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parpass.errors import EvaluationError, IRError
from parpass.ir.op.op_table import Op
from parpass.runtime import ieee754
from parpass.runtime.dtypes import computed_in
from parpass.tir.data_type import data_type
from parpass.tir.expr import PrimExpr, binary_op
from parpass.tir.interpreter.memory import element_dtype

Value = Any  # numpy's scalar or vector, a Pointer, a string, or None
Compute = Callable[[Any, Any], Any]


def _divisible(b: Any) -> None:
    if b.dtype.kind in "iub" and not np.all(b):
        raise EvaluationError("expected a divisor other than 0, got 0")


def _is_int(a: Any) -> bool:
    return a.dtype.kind in "iub"


def _div(a: Any, b: Any) -> Any:
    _divisible(b)
    return (a - np.fmod(a, b)) // b if _is_int(a) else a / b


def _mod(a: Any, b: Any) -> Any:
    _divisible(b)
    return np.fmod(a, b)


def _floor_div(a: Any, b: Any) -> Any:
    _divisible(b)
    return np.floor_divide(a, b) if _is_int(a) else np.floor(a / b)


def _floor_mod(a: Any, b: Any) -> Any:
    _divisible(b)
    return np.remainder(a, b) if _is_int(a) else a - np.floor(a / b) * b


_BINARY: dict[type[PrimExpr], Compute] = {
    binary_op.Add: lambda a, b: a + b,
    binary_op.Sub: lambda a, b: a - b,
    binary_op.Mul: lambda a, b: a * b,
    binary_op.Div: _div,
    binary_op.Mod: _mod,
    binary_op.FloorDiv: _floor_div,
    binary_op.FloorMod: _floor_mod,
    binary_op.Min: ieee754.minimum,
    binary_op.Max: ieee754.maximum,
}
_COMPARED: dict[type[PrimExpr], Compute] = {
    binary_op.EQ: lambda a, b: a == b,
    binary_op.NE: lambda a, b: a != b,
    binary_op.LT: lambda a, b: a < b,
    binary_op.LE: lambda a, b: a <= b,
    binary_op.GT: lambda a, b: a > b,
    binary_op.GE: lambda a, b: a >= b,
}


def typed(value: Any, dtype: str) -> Value:
    """Return what numpy computed as a scalar, or a vector, of a dtype."""
    found = np.asarray(value).astype(element_dtype(dtype), copy=False)
    return found[()] if data_type(dtype).lanes == 1 else found


def binary(kind: type[PrimExpr], dtype: str) -> Compute | None:
    """Return what nodes of a kind compute of operands of a dtype; None for others."""
    if kind in _COMPARED:
        return _COMPARED[kind]
    compute = _BINARY.get(kind)
    if compute is None:
        return None
    wide = computed_in(data_type(dtype).element)
    if wide == data_type(dtype).element:
        return lambda a, b: typed(compute(a, b), dtype)
    return lambda a, b: typed(compute(a.astype(wide), b.astype(wide)), dtype)


def intrinsic(op: Op, args: list[Any], dtype: str) -> Value:
    """Return what an operator of the table computes of numbers.

    Raises:
        EvaluationError: It is no function of its arguments on numpy.
    """
    try:
        values = [_widened(one) for one in args]
        return typed(op.compute(None, *values), dtype)
    except IRError:
        raise EvaluationError(f"'{op.name}' cannot be evaluated on numpy") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise EvaluationError(f"'{op.name}' cannot be evaluated: {error}") from error


def _widened(value: Any) -> Any:
    wide = computed_in(value.dtype.name)
    return value if wide == value.dtype.name else value.astype(wide)


def reinterpreted(value: Any, dtype: str) -> Value:
    """Return the bits of a scalar or a vector as another dtype."""
    array = np.atleast_1d(np.asarray(value)).view(element_dtype(dtype))
    return array[0] if data_type(dtype).lanes == 1 else array


def multiplied_and_shifted(x: Any, y: Any, q: Any, s: Any) -> Any:
    """Return `x * y` of fixed-point numbers of `q` bits, rounded, shifted by `s`."""
    product = np.asarray(x, np.int64) * np.asarray(y, np.int64)
    shift = np.asarray(q, np.int64) + np.asarray(s, np.int64)
    return (product + (np.int64(1) << (shift - 1))) >> shift
