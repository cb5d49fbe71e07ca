"""The values of expressions, and the check that a value has a type.

A value is an array, a tuple of values, the result of a constructor, a reference, or a
callable: a closure, a constructor, an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import IRTypeError
from parpass.ir.adt import Constructor, TypeCall
from parpass.ir.op.op_table import Op
from parpass.ir.types import RelayRefType, TensorType, TupleType, Type, TypeVar
from parpass.relay.expr import Constant, Function, const
from parpass.relay.op.declaration.type_relations import agree
from parpass.runtime.dtypes import DTYPES, numpy_dtype

Array = npt.NDArray[Any]
Value = Any  # an Array, a tuple of Values, a Closure, a ConstructorValue, ...


class Closure:
    """The value of a function: its code, and where its free variables have values.

    Attributes:
        function: The code.
        scope: The frame in which the function was met; None for a global one.
        name: The global name; empty for a function inside of an expression.
    """

    __slots__ = ("function", "name", "scope")

    def __init__(self, function: Function, scope: Any = None, name: str = "") -> None:
        self.function = function
        self.scope = scope
        self.name = name

    def __repr__(self) -> str:
        return f"Closure({self.name or 'fn'})"


class ConstructorValue:
    """The result of a constructor, under TVM's name.

    Attributes:
        tag: The tag of the constructor.
        fields: The arguments of the constructor.
        constructor: The constructor.
    """

    __slots__ = ("constructor", "fields", "tag")

    def __init__(
        self, tag: int, fields: Sequence[Any], constructor: Constructor
    ) -> None:
        self.tag = tag
        self.fields = tuple(fields)
        self.constructor = constructor

    def __repr__(self) -> str:
        return f"ConstructorValue({self.constructor.name_hint}, {len(self.fields)})"


class RefValue:
    """A reference: the one object among values that changes.

    Attributes:
        value: What it refers to now.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "RefValue()"


CALLABLE = (Closure, Op, Constructor)  # the kinds of values that can be called


def as_value(arg: Any, wanted: Type | None = None) -> Value:
    """Return what a caller gives as an argument in the form of a value.

    Args:
        arg: The argument.
        wanted: The type of the parameter, if it has one. A number of Python's has no
            dtype of its own, so it takes the parameter's, if that can hold it.
    """
    if isinstance(arg, tuple | list):
        fields = cast("Sequence[Any]", arg)
        known = wanted.fields if isinstance(wanted, TupleType) else ()
        types = known if len(known) == len(fields) else (None,) * len(fields)
        return tuple(map(as_value, fields, types))
    if type(arg) in _NUMBERS and isinstance(wanted, TensorType):
        return _number(arg, wanted)
    if isinstance(arg, ConstructorValue | RefValue):
        return map_parts(arg, as_value)
    if isinstance(arg, CALLABLE):
        return arg
    if isinstance(arg, Constant):
        return arg.data.numpy()
    return const(arg).data.numpy()


_NUMBERS = {bool: "b", int: "iufV", float: "fV"}  # the kinds of dtypes that hold them


def _number(arg: float, wanted: TensorType) -> Array:
    dtype = numpy_dtype(wanted.dtype)
    if dtype.kind in _NUMBERS[type(arg)]:
        try:
            return np.asarray(arg, dtype)
        except OverflowError:
            pass  # the dtype is too narrow: it is refused as what it is
    return const(arg).data.numpy()


def has_type(value: Value, expected: Type) -> bool:
    """Return whether a value has a type, as far as the type is known.

    Of what can be called, no more is looked at.
    """
    return _has_type(value, expected, {})


def _has_type(value: Value, expected: Type, known: dict[tuple[int, int], bool]) -> bool:
    """Return whether a value has a type; what both share is looked at once."""
    key = (id(value), id(expected))
    if key not in known:
        known[key] = _is_of(value, expected, known)
    return known[key]


def _is_of(value: Value, expected: Type, known: dict[tuple[int, int], bool]) -> bool:
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
                _has_type(field, of_field, known)
                for field, of_field in zip(fields, expected.fields, strict=True)
            )
        case TypeVar():
            return True
        case TypeCall(func=func):  # no more is looked at: a list may be very long
            is_made = isinstance(value, ConstructorValue)
            return is_made and value.constructor.belong_to == func
        case RelayRefType():
            return isinstance(value, RefValue)
        case _:
            return isinstance(value, CALLABLE)


def _is_like(array: Array, expected: TensorType) -> bool:
    same_rank = array.ndim == len(expected.shape)
    same_dtype = array.dtype.name == expected.dtype
    return same_dtype and same_rank and all(map(agree, array.shape, expected.shape))


def type_of_value(value: Value) -> Type:
    """Return the type of an array, or of a tuple of arrays.

    Raises:
        IRTypeError: The value has something else in it.
    """
    return map_arrays(value, _type_of_array, TupleType)


def _type_of_array(value: Value) -> TensorType:
    if not isinstance(value, np.ndarray):
        raise IRTypeError(f"expected arrays, got {describe(value)}")
    array = cast("Array", value)
    return TensorType(array.shape, array.dtype.name)


def map_arrays(
    value: Any,
    change: Callable[[Any], Any],
    join: Callable[[tuple[Any, ...]], Any] = tuple,
) -> Any:
    """Return a value with all in it that is no tuple changed; tuples stay shared.

    Args:
        value: The value.
        change: Returns what becomes of an array, or a function.
        join: Returns what becomes of a tuple, given its changed fields.
    """
    known: dict[int, Any] = {}

    def visit(part: Any) -> Any:
        if not isinstance(part, tuple):
            return change(part)
        fields = cast("tuple[Any, ...]", part)
        if id(fields) not in known:
            known[id(fields)] = join(tuple(map(visit, fields)))
        return known[id(fields)]

    return visit(value)


def map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with all in it changed that has no parts, at any depth.

    What is shared stays shared, a reference that refers to itself included.

    Args:
        value: The value.
        change: Returns what becomes of an array, or of what can be called.
    """
    known: dict[int, Any] = {}
    references: list[tuple[RefValue, RefValue]] = []
    _map_from(value, change, known, references)
    while references:
        old, new = references.pop()
        new.value = _map_from(old.value, change, known, references)
    return known[id(value)]


def _map_from(
    value: Any,
    change: Callable[[Any], Any],
    known: dict[int, Any],
    references: list[tuple[RefValue, RefValue]],
) -> Any:
    waiting = [value]
    while waiting:
        part = waiting[-1]
        key = id(part)
        if key in known:
            waiting.pop()
            continue
        fields: tuple[Any, ...] = _fields(part)
        missing = [field for field in fields if id(field) not in known]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if isinstance(part, RefValue):
            known[key] = RefValue(None)
            references.append((part, known[key]))
            continue
        new = tuple([known[id(field)] for field in fields])
        if isinstance(part, ConstructorValue):
            known[key] = ConstructorValue(part.tag, new, part.constructor)
        else:
            known[key] = new if isinstance(part, tuple) else change(part)
    return known[id(value)]


def _fields(value: Any) -> tuple[Any, ...]:
    if isinstance(value, ConstructorValue):
        return value.fields
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()


def describe(value: Value, most: int = 100) -> str:
    """Return the type of a value, for a message; with no more parts than `most`."""
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        if array.dtype.name in DTYPES:
            return str(_type_of_array(array))
        return f"an array of {array.dtype}"  # of a user's operator
    if isinstance(value, tuple):
        fields = cast("tuple[Value, ...]", value)
        if most == 0:
            return "..."
        of_each = (most - 1) // max(len(fields), 1)
        shown = [describe(field, of_each) for field in fields[:most]]
        shown += ["..."] if len(fields) > most else []
        return f"({', '.join(shown)})"
    if isinstance(value, ConstructorValue):
        return f"a value of type '{value.constructor.belong_to}'"
    return "a reference" if isinstance(value, RefValue) else "a function"
