"""The value of one call of an operator, on numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.ir.op.op_table import Op
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.interpreter.values import (
    CALLABLE,
    Array,
    ConstructorValue,
    RefValue,
    Value,
    describe,
    map_arrays,
    type_of_value,
)
from parpass.runtime.dtypes import computed_in, numpy_dtype


def evaluate_call(op: Op, attrs: Any, values: Sequence[Value]) -> Value:
    """Return the value of one call of an operator: an array, or a tuple of them.

    Narrow floats are computed in float32, and the results rounded; see `computed_in`.

    Raises:
        EvaluationError: The operator cannot be evaluated on these values, whatever its
            meaning raised.
    """
    if len(values) != op.num_inputs:
        raise EvaluationError(
            f"expected {op.num_inputs} arguments for '{op.name}', got {len(values)}"
        )
    if op.attrs_type is not None and not isinstance(attrs, op.attrs_type):
        raise EvaluationError(
            f"expected {op.attrs_type.__name__} for the attributes of '{op.name}', "
            f"got {type(attrs).__name__}"
        )
    try:
        # Division by zero, overflow and the like give inf, nan or wrapped integers,
        # as they do in compiled programs.
        with np.errstate(all="ignore"):
            result = _computed(op, attrs, [_in_one_layout(value) for value in values])
    except EvaluationError:
        raise
    except Exception as error:
        shown = ", ".join(describe(value) for value in values)
        raise EvaluationError(
            f"operator '{op.name}' cannot be evaluated on ({shown}): {error}"
        ) from error
    return map_arrays(result, _as_array)


def _computed(op: Op, attrs: Any, values: list[Value]) -> Any:
    if op.moves or not _have_narrow(values):
        return op.compute(attrs, *values)
    result = op.compute(attrs, *[map_arrays(value, _widened) for value in values])
    types = [type_of_value(value) for value in values]
    return _rounded(result, op.relation(types, attrs))


def _have_narrow(values: list[Value]) -> bool:
    found: list[bool] = []
    map_arrays(tuple(values), lambda part: found.append(_is_narrow(part)))
    return any(found)


def _is_narrow(value: Value) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    # Of numpy's own there is one, float16; those of ml_dtypes are V.
    dtype = cast("Array", value).dtype
    return dtype.itemsize <= 2 and dtype.kind in "fV"


def _widened(value: Value) -> Value:
    if not _is_narrow(value):
        return value
    array = cast("Array", value)
    return array.astype(computed_in(array.dtype.name))


def _rounded(result: Any, wanted: Type) -> Any:
    if isinstance(wanted, TupleType):
        return tuple(map(_rounded, result, wanted.fields))
    if isinstance(wanted, TensorType):
        return np.asarray(result).astype(numpy_dtype(wanted.dtype), copy=False)
    return result


def _as_array(result: Any) -> Value:
    """Return a number as an array; annotations may be on functions, too."""
    is_other = isinstance(result, (*CALLABLE, ConstructorValue, RefValue))
    return result if is_other else np.asarray(result)


def _in_one_layout(value: Value) -> Value:
    """Return a value with its arrays in C order, or of one repeated element.

    Sums and products give other bits in another layout, and the layout of a constant
    may change when it is pickled for a worker.
    """
    return map_arrays(value, _contiguous)


def _contiguous(value: Value) -> Value:
    if not isinstance(value, np.ndarray):
        return value
    array = cast("Array", value)
    return np.ascontiguousarray(array) if any(array.strides) else array
