"""What a loop program takes and makes, as the command has it: tensors by name.

It makes what it writes to, so its values are the arrays that it stores in, of those
that it is given, and what it returns before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parpass.ir.node import post_order
from parpass.ir.types.prim_ty import PointerType, PrimType
from parpass.ir.types.ty import TensorType
from parpass.tir.arith import Analyzer
from parpass.tir.buffer import Buffer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Load, Var
from parpass.tir.function import PrimFunc
from parpass.tir.interpreter.evaluation import evaluate
from parpass.tir.prim_expr import IntImm
from parpass.tir.stmt import BufferStore, Store
from parpass.tir.stmt_functor import substitute

Shapes = Mapping[str, Sequence[Any]]


class Parameter(NamedTuple):
    """A parameter as a tensor; `type_annotation` is None where nothing says which."""

    name_hint: str
    type_annotation: TensorType | None


def parameters(
    func: PrimFunc, values: Mapping[str, Any], shapes: Shapes
) -> list[Parameter]:
    """Return the parameters, of shapes as far as values and shapes of some say them.

    Args:
        func: The function.
        values: The values of parameters that are given, by name.
        shapes: The shapes of others.
    """
    sizes = _sizes(func, values, shapes)
    return [
        Parameter(one.name, _type(one, func.buffer_map.get(one), sizes))
        for one in func.params
    ]


def with_sizes(
    func: PrimFunc, values: Mapping[str, Any], shapes: Shapes
) -> dict[str, Any]:
    """Return values, and those of parameters that are lengths of given arrays."""
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
    """Return a length; an expression where it is not known, for any."""
    known = Analyzer().simplify(substitute(dim, sizes))
    return known.value if isinstance(known, IntImm) else known


def made(func: PrimFunc, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a function returns, and the arrays that it writes, in order.

    Raises:
        EvaluationError: It cannot be evaluated on these inputs, which stay as they are.
    """
    pointers = [
        func.buffer_map[one].data if one in func.buffer_map else one
        for one in func.params
    ]
    args: list[Any] = [
        np.array(value) if pointer.dtype == "handle" else np.asarray(value)[()]
        for pointer, value in zip(pointers, inputs, strict=True)
    ]
    result = evaluate(func, args)
    written = _written(func)
    arrays = [a for at, a in zip(pointers, args, strict=True) if at in written]
    return (*(() if result is None else (np.asarray(result),)), *arrays)


def _written(func: PrimFunc) -> set[Any]:
    """Return pointers to what is stored in, or what is handed on and might be."""
    found: set[Any] = set()
    for node in post_order(func.body):
        if isinstance(node, BufferStore):
            found.add(node.buffer.data)
        elif isinstance(node, Store):
            found.add(node.buffer_var)
        elif isinstance(node, Call):
            found.update(one for one in node.args if not isinstance(one, Load))
    return found
