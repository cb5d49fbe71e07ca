"""Primitive functions that are not machine code: computed as their operators say.

This module is apart since a program that runs a library loads it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from parpass.errors import EvaluationError
from parpass.ir.module import IRModule
from parpass.ir.serialization import load_json, save_json
from parpass.ir.types import TupleType, Type
from parpass.relay.expr import Function
from parpass.relay.interpreter.interpreter import evaluate
from parpass.relay.interpreter.values import Value

Array = npt.NDArray[Any]


class NumpyFunction:
    """A primitive function that is called as kernels are: inputs, then results.

    Args:
        function: The function, typed.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._types = [param.type_annotation for param in function.params]

    @classmethod
    def restored(cls, text: str) -> NumpyFunction:
        """Return the function of which this is the JSON."""
        return cls(load_json(text)["main"])

    def __call__(self, *arrays: Array) -> None:
        """Compute the results.

        Args:
            *arrays: The operands, tuples laid out flat, then those for the results.

        Raises:
            EvaluationError: They cannot be computed, or are not as many.
        """
        rest = list(arrays)
        given = [_value(one, rest) for one in self._types]
        found = list(_flat(evaluate(self._function, given)))
        if len(found) != len(rest):
            raise EvaluationError(
                f"expected {len(arrays) - len(rest)} arrays and {len(found)} for the "
                f"results, got {len(arrays)}"
            )
        for memory, value in zip(rest, found, strict=True):
            memory[...] = value


def as_json(function: Function) -> str:
    """Return a function's JSON for `NumpyFunction.restored`."""
    return save_json(IRModule({"main": function}))


def _value(wanted: Type | None, arrays: list[Array]) -> Any:
    """Take as many arrays as a value of a type consists of, and return it."""
    if isinstance(wanted, TupleType):
        return tuple(_value(field, arrays) for field in wanted.fields)
    return np.array(arrays.pop(0))  # an operator may give a view of it


def _flat(value: Value) -> Iterator[Array]:
    if isinstance(value, tuple):
        for field in cast("tuple[Value, ...]", value):
            yield from _flat(field)
    else:
        yield value
