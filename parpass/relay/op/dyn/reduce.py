"""Reductions along axes that are known only when the program runs.

TVM has none of them; they are what ONNX's reductions need since their axes are inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import TypeRelationError
from parpass.ir.ty import TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.build import call_op
from parpass.relay.op.dyn.counterpart import (
    UNKNOWN,
    ints_of,
    length,
    register_dynamic,
)
from parpass.relay.op.reduce import ReduceBuilder, all, any, max, mean, min, prod, sum
from parpass.relay.op.relations import require_dtype, require_number, tensors

Array = npt.NDArray[Any]


class DynReduceAttrs(Attrs, frozen=True):
    """Attributes of reductions along axes that are an argument.

    Attributes:
        keepdims: Whether the reduced axes stay, with length 1.
    """

    keepdims: bool = False


class DynReduceBuilder(Protocol):
    """Builds a call of a reduction."""

    def __call__(self, data: Expr, axis: Expr, keepdims: bool = False) -> Call:
        """Return the call."""
        ...


def _dynamic(static: ReduceBuilder, *, is_logical: bool = False) -> DynReduceBuilder:
    """Register a reduction and return the builder of its calls."""
    kind = getattr(static, "__name__", "")

    def relation(types: Sequence[Type], attrs: DynReduceAttrs) -> TensorType:
        data, axes = tensors(types)
        if is_logical:
            require_dtype(data, "bool")
        else:
            require_number(data)
        rank, gone = len(data.shape), length(axes, "the axes")
        if gone > rank:
            raise TypeRelationError(f"expected up to {rank} axes, got {axes}")
        if attrs.keepdims:
            dims = tuple(1 if dim == 1 else UNKNOWN for dim in data.shape)
            return TensorType(dims if gone < rank else (1,) * rank, data.dtype)
        return TensorType((UNKNOWN,) * (rank - gone), data.dtype)

    def counterpart(attrs: DynReduceAttrs, data: Expr, axes: Array) -> Call:
        return static(data, ints_of(axes), attrs.keepdims)

    op = register_dynamic(f"dyn.{kind}", 2, relation, counterpart, DynReduceAttrs)

    def build(data: Expr, axis: Expr, keepdims: bool = False) -> Call:
        return call_op(op, (data, axis), DynReduceAttrs(keepdims=keepdims))

    build.__name__ = build.__qualname__ = kind
    build.__doc__ = static.__doc__
    return build


dyn_sum = _dynamic(sum)
dyn_mean = _dynamic(mean)
dyn_max = _dynamic(max)
dyn_min = _dynamic(min)
dyn_prod = _dynamic(prod)
dyn_all = _dynamic(all, is_logical=True)
dyn_any = _dynamic(any, is_logical=True)
