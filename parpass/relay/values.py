"""What expressions evaluate to, and whether a value has a type.

A value is an array, a tuple of values, or something that can be called: a closure, or
an operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.relay.dtypes import DTYPES
from parpass.relay.expr import Constant, Function, const
from parpass.relay.op.registry import Op
from parpass.relay.op.relations import agree
from parpass.relay.ty import TensorType, TupleType, Type, TypeVar

Array = npt.NDArray[Any]
Value = Any  # an Array, a tuple of Values, a Closure, or an Op


class Closure:
    """The value of a function: its code, and where its free variables have values.

    Attributes:
        function: The code.
        scope: The activation in which the function was met; None for a global one.
        name: The global name; empty for a function inside of an expression.
    """

    __slots__ = ("function", "name", "scope")

    def __init__(self, function: Function, scope: Any = None, name: str = "") -> None:
        self.function = function
        self.scope = scope
        self.name = name

    def __repr__(self) -> str:
        return f"Closure({self.name or 'fn'})"


def as_value(arg: Any) -> Value:
    """Return what a caller gives as an argument in the form of a value."""
    if isinstance(arg, tuple | list):
        return tuple(as_value(field) for field in cast("Sequence[Any]", arg))
    if isinstance(arg, Closure):
        return arg
    if isinstance(arg, Constant):
        return arg.data.numpy()
    return const(arg).data.numpy()


def has_type(value: Value, expected: Type) -> bool:
    """Return whether a value has a type, as far as the type is known.

    Of what can be called, no more is looked at.
    """
    match expected:
        case TensorType():
            return isinstance(value, np.ndarray) and _is_like(
                cast("Array", value), expected
            )
        case TupleType():
            if not isinstance(value, tuple):
                return False
            fields = cast("tuple[Value, ...]", value)
            return len(fields) == len(expected.fields) and all(
                map(has_type, fields, expected.fields)
            )
        case TypeVar():
            return True
        case _:
            return isinstance(value, Closure | Op)


def _is_like(array: Array, expected: TensorType) -> bool:
    same_rank = array.ndim == len(expected.shape)
    same_dtype = array.dtype.name == expected.dtype
    return same_dtype and same_rank and all(map(agree, array.shape, expected.shape))


def type_of_value(value: Value) -> Type:
    """Return the type of an array, or of a tuple of arrays.

    Raises:
        IRTypeError: The value has something else in it.
    """
    if isinstance(value, tuple):
        fields = cast("tuple[Value, ...]", value)
        return TupleType(tuple(map(type_of_value, fields)))
    if not isinstance(value, np.ndarray):
        raise IRTypeError(f"expected arrays, got {describe(value)}")
    array = cast("Array", value)
    return TensorType(array.shape, array.dtype.name)


def describe(value: Value) -> str:
    """Return the type of a value, for a message."""
    if isinstance(value, tuple):
        fields = cast("tuple[Value, ...]", value)
        return f"({', '.join(describe(field) for field in fields)})"
    if not isinstance(value, np.ndarray):
        return "a function"
    array = cast("Array", value)
    if array.dtype.name in DTYPES:
        return str(type_of_value(array))
    return f"an array of {array.dtype}"  # of a user's operator
