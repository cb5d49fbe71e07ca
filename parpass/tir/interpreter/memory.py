"""Memory as programs see it: bounded, and undefined until it is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.errors import EvaluationError
from parpass.runtime.dtypes import numpy_dtype
from parpass.tir.data_type import data_type

Array = npt.NDArray[Any]


def element_dtype(name: str) -> np.dtype[Any]:
    """Return numpy's dtype of one lane of a dtype.

    Raises:
        EvaluationError: There is none.
    """
    try:
        return numpy_dtype(data_type(name).element)
    except ValueError as error:
        raise EvaluationError(f"{error}; it cannot be evaluated") from None


class Memory:
    """Some bytes, of which it is known which have been written.

    Args:
        name: That of the buffer or pointer, for messages.
        array: The elements, in C order, one after the other.
        is_defined: Whether there are values in it.
    """

    def __init__(self, name: str, array: Array, *, is_defined: bool) -> None:
        self.name = name
        self.array = array
        self._bytes = array.view(np.uint8) if array.size else np.zeros(0, np.uint8)
        self._is_written = np.full(self._bytes.shape, is_defined)

    def load(self, dtype: str, at: Array) -> Array:
        """Return the elements of a dtype at some places, counted in such elements."""
        kind = element_dtype(dtype)
        self._check(at, kind, dtype)
        written = self._is_written.reshape(-1, kind.itemsize)[at].all(axis=-1)
        if not written.all():
            raise EvaluationError(
                f"expected memory to be written before it is read, but '{self.name}' "
                f"is not at {int(at[~written].min())}"
            )
        return self._bytes.view(kind)[at]

    def store(self, dtype: str, at: Array, values: Any) -> None:
        """Put elements of a dtype in some places."""
        kind = element_dtype(dtype)
        self._check(at, kind, dtype)
        if not self._bytes.flags.writeable:
            raise EvaluationError(f"expected '{self.name}' to be writable, it is not")
        self._bytes.view(kind)[at] = values
        self._is_written.reshape(-1, kind.itemsize)[at] = True

    def shared(self) -> Array:
        """Return all elements, for a function that may write any of them."""
        self._is_written[:] = True
        return self.array

    def _check(self, at: Array, kind: np.dtype[Any], dtype: str) -> None:
        extent, rest = divmod(len(self._bytes), kind.itemsize)
        if rest:
            raise EvaluationError(
                f"expected memory of a whole number of {dtype} in '{self.name}', got "
                f"{len(self._bytes)} bytes"
            )
        wrong = at[(at < 0) | (at >= extent)]
        if wrong.size:
            raise EvaluationError(
                f"expected an index from 0 to below {extent} for '{self.name}', got "
                f"{int(wrong[0])}"
            )


class Pointer:
    """A place in memory, some bytes behind its beginning."""

    __slots__ = ("memory", "offset")

    def __init__(self, memory: Memory, offset: int = 0) -> None:
        self.memory = memory
        self.offset = offset

    def moved(self, dtype: str, by: int) -> Pointer:
        """Return the place that is some elements of a dtype behind this one."""
        size = element_dtype(dtype).itemsize * data_type(dtype).lanes
        return Pointer(self.memory, self.offset + by * size)

    def load(self, dtype: str, at: Array) -> Array:
        """Return elements of a dtype by their numbers from here on."""
        return self.memory.load(dtype, at + self._first(dtype))

    def store(self, dtype: str, at: Array, values: Any) -> None:
        """Put elements of a dtype at some numbers from here on."""
        self.memory.store(dtype, at + self._first(dtype), values)

    def _first(self, dtype: str) -> int:
        first, rest = divmod(self.offset, element_dtype(dtype).itemsize)
        if rest:
            raise EvaluationError(
                f"expected a pointer to {dtype} into '{self.memory.name}', got one "
                f"that is {self.offset} bytes behind its beginning"
            )
        return first

    def as_array(self) -> Array:
        """Return the memory from here on; what is written to it is defined."""
        return self.memory.shared()[self.offset // self.memory.array.itemsize :]


def allocated(name: str, dtype: str, count: int) -> Pointer:
    """Return new memory, nothing of which is written.

    Raises:
        EvaluationError: There is not so much, or less than none.
    """
    if count < 0:
        raise EvaluationError(f"expected a size of 0 or more for '{name}', got {count}")
    try:
        array = np.zeros(count * data_type(dtype).lanes, element_dtype(dtype))
    except (MemoryError, ValueError, OverflowError) as error:
        raise EvaluationError(
            f"there is no memory for '{name}', {count} times {dtype}: {error}"
        ) from None
    return Pointer(Memory(name, array, is_defined=False))
