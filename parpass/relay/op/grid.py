"""Operators that make ranges and grids of coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parpass.ir.attrs import Attrs
from parpass.ir.op_table import Op, OpPattern, TypeRelationError, register_op
from parpass.ir.ty import Any as UnknownDim
from parpass.ir.ty import TensorType, TupleType, Type
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Operand,
    TupleWrapper,
    as_expr,
    const,
)
from parpass.relay.op.attributes import dtype_name, require_choice
from parpass.relay.op.build import call_op
from parpass.relay.op.join import TensorTuple, as_tuple
from parpass.relay.op.relations import require_rank, tensor_fields, tensors

Array = npt.NDArray[Any]


class ArangeAttrs(Attrs, frozen=True):
    """Attributes of `arange`.

    Attributes:
        length: How many elements there are; None if that is known only when the
            program runs.
    """

    dtype: str = "float32"
    length: int | None = None


def _arange_relation(types: Sequence[Type], attrs: ArangeAttrs) -> TensorType:
    for bound in tensors(types):
        require_rank(bound, 0, "a bound")
    length = UnknownDim() if attrs.length is None else attrs.length
    return TensorType((length,), attrs.dtype)


def _arange(attrs: ArangeAttrs, start: Array, stop: Array, step: Array) -> Array:
    count = arange_length(start.item(), stop.item(), step.item())
    if attrs.length not in {None, count}:
        raise ValueError(f"expected a length of {count}, got {attrs.length}")
    return (start + np.arange(count) * step).astype(attrs.dtype)


def arange_length(start: float, stop: float, step: float) -> int:
    """Return how many numbers there are from `start` up to `stop`.

    Raises:
        TypeRelationError: The step is 0.
    """
    if not step:
        raise TypeRelationError("expected a step other than 0")
    return max(0, math.ceil((stop - start) / step))


_ARANGE = register_op(Op("arange", 3, _arange_relation, _arange, ArangeAttrs))


def arange(
    start: Operand,
    stop: Operand | None = None,
    step: Operand | None = None,
    dtype: str = "float32",
) -> Call:
    """Return numbers from `start` up to `stop`; one bound alone is the end.

    The length is part of the type if all bounds are constants.
    """
    if stop is None:
        start, stop = const(0, dtype), start
    bounds = [
        _bound(bound, dtype) for bound in (start, stop, 1 if step is None else step)
    ]
    values = [
        bound.data.numpy().item() for bound in bounds if isinstance(bound, Constant)
    ]
    length = (
        arange_length(values[0], values[1], values[2]) if len(values) == 3 else None
    )
    attrs = ArangeAttrs(dtype=dtype_name(dtype), length=length)
    return call_op(_ARANGE, tuple(bounds), attrs)


def _bound(value: Operand, dtype: str) -> Expr:
    return as_expr(value) if isinstance(value, Expr) else const(value, dtype)


class MeshgridAttrs(Attrs, frozen=True):
    """Attributes of `meshgrid`; `xy` exchanges the first two dimensions."""

    indexing: str = "ij"


def _meshgrid_relation(types: Sequence[Type], attrs: MeshgridAttrs) -> TupleType:
    fields = tensor_fields(types)
    for at, field in enumerate(fields, 1):
        if len(field.shape) > 1:
            raise TypeRelationError(f"expected a vector for field {at}, got {field}")
    dims = [field.shape[0] if field.shape else 1 for field in fields]
    if attrs.indexing == "xy" and len(dims) > 1:
        dims[:2] = dims[1::-1]
    return TupleType((TensorType(tuple(dims), fields[0].dtype),) * len(fields))


def _meshgrid(attrs: MeshgridAttrs, fields: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(
        np.meshgrid(*fields, indexing="xy" if attrs.indexing == "xy" else "ij")
    )


_MESHGRID = register_op(
    Op(
        "meshgrid",
        1,
        _meshgrid_relation,
        _meshgrid,
        MeshgridAttrs,
        pattern=OpPattern.INJECTIVE,
    )
)


def meshgrid(data: TensorTuple, indexing: str = "ij") -> TupleWrapper:
    """Repeat vectors along each other's axes, to a tensor for each of them."""
    fields = as_tuple(data)
    attrs = MeshgridAttrs(indexing=require_choice(indexing, ("ij", "xy"), "indexing"))
    count = len(getattr(fields, "fields", ())) or 1
    return TupleWrapper(call_op(_MESHGRID, (fields,), attrs), count)
