"""The arguments of a program: what buffers declare is found in the arrays given."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from parpass.errors import EvaluationError
from parpass.tir.data_type import data_type, int_range
from parpass.tir.expr import Buffer, PrimExpr, Var
from parpass.tir.interpreter.lane_arithmetic import Value, typed
from parpass.tir.interpreter.machine import Item, Machine, drop
from parpass.tir.interpreter.memory import Array, Memory, Pointer, element_dtype


class Arrays:
    """The arrays that a program is given.

    Args:
        machine: Whose variables get the values.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._of: dict[Buffer, Array] = {}
        self._copied: list[tuple[Array, Array]] = []

    def bind(self, param: Var, buffer: Buffer | None, arg: Any) -> None:
        """Give a parameter its value, and what its buffer declares."""
        if buffer is None and param.dtype != "handle":
            self._machine.bind(param, as_scalar(param, arg))
            return
        if buffer is None and isinstance(arg, Pointer | None):
            self._machine.bind(param, arg)
            return
        if not isinstance(arg, np.ndarray):
            raise EvaluationError(
                f"expected an array for parameter '{param.name}', got "
                f"{type(arg).__name__}"
            )
        array = cast("Array", arg)
        if array.dtype.hasobject:
            raise EvaluationError(
                f"expected numbers for parameter '{param.name}', got an array of "
                f"{array.dtype}"
            )
        flat = np.ascontiguousarray(array).reshape(-1)
        if not np.shares_memory(flat, array):
            self._copied.append((flat, array))
        name = param.name if buffer is None else buffer.name
        pointer = Pointer(Memory(name, flat, is_defined=True))
        self._machine.bind(param, pointer)
        if buffer is not None:
            self._declare(buffer, array, pointer)

    def _declare(self, buffer: Buffer, array: Array, pointer: Pointer) -> None:
        wanted, lanes = element_dtype(buffer.dtype), data_type(buffer.dtype).lanes
        rank = len(buffer.shape) + (lanes > 1)
        fits = array.dtype == wanted or {array.dtype.name, wanted.name} == {
            "bool",
            "int8",
        }
        if not fits or array.ndim != rank or (lanes > 1 and array.shape[-1] != lanes):
            raise EvaluationError(
                f"expected an array of {buffer.dtype} with {len(buffer.shape)} "
                f"dimensions for buffer '{buffer.name}', got one of {array.dtype} with "
                f"{array.ndim}"
            )
        self._machine.bind(buffer.data, pointer)
        self._of[buffer] = array
        for expr, value in _declared(buffer, array):
            if isinstance(expr, Var) and expr not in self._machine.values:
                self._machine.bind(expr, typed(value, expr.dtype))

    def write_back(self) -> None:
        """Give arrays that are not in one piece what was written for them."""
        for flat, array in self._copied:
            array[...] = flat.reshape(array.shape)

    def checks(self) -> list[Item]:
        """Return what checks that arrays have the shapes that buffers declare."""
        found: list[Item] = []
        for buffer, array in self._of.items():
            for (expr, got), what in zip(
                _declared(buffer, array), _names(buffer), strict=True
            ):
                found += (expr, _check(buffer, got, what), drop)
        return found


def _declared(buffer: Buffer, array: Array) -> list[tuple[PrimExpr, int]]:
    """Return what a buffer declares, and what an array has for it."""
    shape = array.shape[: len(buffer.shape)]
    steps = [int(np.prod(shape[at + 1 :])) for at in range(len(shape))]
    found = [*zip(buffer.shape, shape, strict=True), (buffer.elem_offset, 0)]
    if buffer.strides:
        found += zip(buffer.strides, steps, strict=True)
    return found


def _names(buffer: Buffer) -> list[str]:
    """Return what these are, for messages."""
    dims = [f"{{}} for dimension {at}" for at in range(len(buffer.shape))]
    strides = [f"a stride of {{}} in {at}" for at in range(len(buffer.strides))]
    return [*dims, "an offset of {}", *strides]


def _check(buffer: Buffer, got: int, what: str) -> Item:
    def run(machine: Machine) -> None:
        wanted = int(machine.stack[-1])
        if wanted != got:
            raise EvaluationError(
                f"expected {what.format(wanted)} of buffer '{buffer.name}', got {got}"
            )

    return run


def as_scalar(var: Var, value: Any) -> Value:
    """Return a number as the value of a variable."""
    if isinstance(value, Pointer):
        return value
    number: Any = value
    if not isinstance(number, int | float | np.generic):
        raise EvaluationError(
            f"expected a number for '{var.name}', got {type(value).__name__}"
        )
    if data_type(var.dtype).is_integral and int(value) not in int_range(var.dtype):
        raise EvaluationError(
            f"expected a number that {var.dtype} has for '{var.name}', got {value}"
        )
    return typed(value, var.dtype)
