"""Builders of expressions from Python: variables, numbers, tuples that unpack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.diagnostic import Span
from parpass.errors import ArgumentError, IRTypeError
from parpass.ir.global_var import GlobalVar
from parpass.ir.types import TensorType, Type
from parpass.relay.expr.expr_nodes import (
    Call,
    Constant,
    Expr,
    Function,
    TupleGetItem,
    Var,
)
from parpass.runtime.array_like import as_number_array
from parpass.runtime.ndarray import NDArray


class TupleWrapper:
    """An expression of tuple type that unpacks in Python: `a, b = relay.split(x, 2)`.

    Args:
        tuple_value: The expression.
        size: How many fields its tuple has.
    """

    def __init__(self, tuple_value: Expr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        """Return the expression itself."""
        return self.tuple_value

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < self.size:
            raise IndexError(f"tuple index {index} is out of range of {self.size}")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[index] for index in range(self.size))


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """Return a variable, annotated by a type, or by a shape and a dtype.

    A string for a type is the dtype of a scalar.
    """
    if type_annotation is not None and shape is not None:
        raise IRTypeError("expected a type or a shape, got both")
    if shape is not None:
        type_annotation = TensorType(tuple(shape), dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(
    value: npt.ArrayLike | NDArray,
    dtype: str | TensorType | None = None,
    span: Span | None = None,
) -> Constant:
    """Return a constant.

    Without a dtype a Python int becomes int32 and a float float32, as in TVM; an array
    keeps its own. A tensor type stands for its dtype.

    Raises:
        IRTypeError: The value is not an array of numbers, or the dtype cannot hold it.
    """
    if isinstance(value, NDArray):
        return Constant(value, span)
    given = dtype.dtype if isinstance(dtype, TensorType) else dtype
    try:
        array = as_number_array(value, "a constant", given)
    except ArgumentError as error:
        raise IRTypeError(str(error)) from None
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        narrow = {"int64": "int32", "float64": "float32"}.get(array.dtype.name)
        array = array.astype(narrow) if narrow else array
    if array.dtype.kind not in "biufV":  # V: bfloat16 and such
        raise IRTypeError(f"expected numbers for a constant, got {value!r}")
    return Constant(NDArray(array), span)


def as_expr(value: object) -> Expr:
    """Return an expression unchanged, a Python number as a constant.

    Raises:
        IRTypeError: The value is neither.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float | np.generic | np.ndarray):
        return const(cast("npt.ArrayLike", value))
    raise IRTypeError(
        f"expected a Relay expression or a number, got {type(value).__name__}"
    )


def eta_expanded(global_var: GlobalVar, function: Function) -> Function:
    """Return a function that calls a global function with its own parameters."""
    params = tuple(Var(p.name_hint, p.type_annotation) for p in function.params)
    call = Call(global_var, params, None, function.type_params)
    return Function(params, call, function.ret_type, function.type_params)
