"""Values of functions, and comparison of those that two modules compute.

The inputs and results of a loop program are tensors by name. Its results are the
returned value, if any, and the arguments that it stores to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from parpass.cli.files.arrays import random_value
from parpass.errors import EvaluationError
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.replacement import roots
from parpass.ir.types import PointerType, PrimType, TensorType
from parpass.relay.expr import Function
from parpass.relay.interpreter import interpreter
from parpass.tir.arith import Analyzer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Buffer, Call, IntImm, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.interpreter import evaluation
from parpass.tir.stmt import BufferStore, Store
from parpass.tir.stmt_functor import substitute

# Passes may change the order of sums, and so the last digits.
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


class ReferenceValues:
    """The values of a module's functions on random inputs.

    Its entry functions are evaluated: `main`, or those to which no other refers.

    Raises:
        EvaluationError: A function cannot be evaluated.
    """

    def __init__(self, mod: IRModule, seed: int) -> None:
        random = np.random.default_rng(seed)
        self._inputs = {
            name: [
                random_value(random, p.type_annotation, f"the parameters of '{name}'")
                for p in _parameters(mod[name])
            ]
            for name in _entries(mod)
        }
        self._known = {
            name: value_of(mod[name], inputs, mod)
            for name, inputs in self._inputs.items()
        }

    def difference(self, mod: IRModule) -> str | None:
        """Return the first difference of the values of another module, or None."""
        for name, inputs in self._inputs.items():
            if name not in mod:
                return f"function '{name}' is gone"
            try:
                value = value_of(mod[name], inputs, mod)
            except EvaluationError as error:
                return f"function '{name}' cannot be evaluated: {error}"
            found = _difference(self._known[name], value)
            if found is not None:
                return f"the value of function '{name}' differs: {found}"
        return None


def value_of(function: Any, inputs: Sequence[Any], mod: IRModule) -> Any:
    """Return the value of a function of a module, of either kind.

    Raises:
        EvaluationError: It cannot be evaluated.
    """
    if isinstance(function, PrimFunc):
        return evaluate_loop_function(function, inputs)
    return interpreter.evaluate(function, inputs, mod)


def _parameters(function: Any) -> Sequence[Any]:
    if isinstance(function, PrimFunc):
        return parameters(function, {}, {})
    return function.params


def _entries(mod: IRModule) -> list[str]:
    return ["main"] if "main" in mod else roots(mod)


def _difference(
    known: Any, value: Any, equal: set[tuple[int, int]] | None = None
) -> str | None:
    if isinstance(known, tuple) and isinstance(value, tuple):
        equal = set() if equal is None else equal
        pair = (id(cast("Any", known)), id(cast("Any", value)))
        if pair in equal:
            return None
        equal.add(pair)  # if they are not, that is told at once
        pairs = list(zip(cast("Any", known), cast("Any", value), strict=False))
        if len(pairs) != max(len(cast("Any", known)), len(cast("Any", value))):
            return "tuples of different lengths"
        found = (_difference(mine, theirs, equal) for mine, theirs in pairs)
        return next((one for one in found if one is not None), None)
    if isinstance(known, Function) or not isinstance(known, np.ndarray):
        return None  # closures have no value to compare
    before, after = cast("Any", known), np.asarray(value)
    if before.shape != after.shape or before.dtype != after.dtype:
        return (
            f"{before.dtype} of shape {before.shape} before, {after.dtype} of shape "
            f"{after.shape} after"
        )
    if np.allclose(before, after, _RELATIVE, _ABSOLUTE, equal_nan=True):
        return None
    at = int(
        np.argmax(~np.isclose(before, after, _RELATIVE, _ABSOLUTE, equal_nan=True))
    )
    return f"{before.flat[at]} before, {after.flat[at]} after, at {at}"


Shapes = Mapping[str, Sequence[Any]]


class Parameter(NamedTuple):
    """A parameter as a tensor; `type_annotation` is None if unknown."""

    name_hint: str
    type_annotation: TensorType | None


def parameters(
    func: PrimFunc, values: Mapping[str, Any], shapes: Shapes
) -> list[Parameter]:
    """Return the parameters, with the shapes that follow from values and shapes."""
    sizes = _sizes(func, values, shapes)
    return [
        Parameter(one.name, _type(one, func.buffer_map.get(one), sizes))
        for one in func.params
    ]


def with_sizes(
    func: PrimFunc, values: Mapping[str, Any], shapes: Shapes
) -> dict[str, Any]:
    """Return values, with those of parameters that are lengths of given arrays."""
    sizes = _sizes(func, values, shapes)
    known = {
        one.name: np.asarray(sizes[one], one.dtype)
        for one in func.params
        if one in sizes
    }
    return {**known, **values}


def _sizes(func: PrimFunc, values: Mapping[str, Any], shapes: Shapes) -> dict[Var, int]:
    found: dict[Var, int] = {}
    for param in func.params:
        name, buffer = param.name, func.buffer_map.get(param)
        given = values.get(name)
        if buffer is not None:
            shape = shapes.get(name, ()) if given is None else np.shape(given)
            for dim, size in zip(buffer.shape, shape, strict=False):
                if isinstance(dim, Var) and isinstance(size, int):
                    found.setdefault(dim, size)
        elif given is not None and data_type(param.dtype).is_integral:
            found[param] = int(given)
    return found


def _type(
    param: Var, buffer: Buffer | None, sizes: Mapping[Var, int]
) -> TensorType | None:
    if buffer is not None:
        dims = [_dim(one, sizes) for one in buffer.shape]
        return TensorType(tuple(dims), buffer.dtype)
    pointer = param.type_annotation
    if not isinstance(pointer, PointerType):
        return None if param.dtype == "handle" else TensorType((), param.dtype)
    element: Any = pointer.element_type
    length: Any = Var("length")  # which nobody says
    is_known = isinstance(element, PrimType)
    return TensorType((length,), element.dtype) if is_known else None


def _dim(dim: Any, sizes: Mapping[Var, int]) -> Any:
    """Return a length, or an expression if it is unknown."""
    known = Analyzer().simplify(substitute(dim, sizes))
    return known.value if isinstance(known, IntImm) else known


def evaluate_loop_function(func: PrimFunc, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the result of a function, and the arrays that it writes, in order.

    The inputs stay unchanged.

    Raises:
        EvaluationError: It cannot be evaluated on these inputs.
    """
    pointers = [
        func.buffer_map[one].data if one in func.buffer_map else one
        for one in func.params
    ]
    args: list[Any] = [
        np.array(value) if pointer.dtype == "handle" else np.asarray(value)[()]
        for pointer, value in zip(pointers, inputs, strict=True)
    ]
    result = evaluation.evaluate(func, args)
    written = _written(func)
    arrays = [a for at, a in zip(pointers, args, strict=True) if at in written]
    return (*(() if result is None else (np.asarray(result),)), *arrays)


def _written(func: PrimFunc) -> set[Any]:
    """Return the pointers that are stored to, or passed to calls that may do so."""
    found: set[Any] = set()
    for node in post_order(func.body):
        if isinstance(node, BufferStore):
            found.add(node.buffer.data)
        elif isinstance(node, Store):
            found.add(node.buffer_var)
        elif isinstance(node, Call):
            found.update(one for one in node.args if not isinstance(one, Load))
    return found
