"""Operators that make ranges and grids of coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Operand,
    TupleWrapper,
    as_expr,
    const,
)
from parpass.relay.op.declaration.attributes import DType, OneOf
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    require_rank,
    tensor_fields,
    tensors,
)
from parpass.relay.op.transform.join import TensorTuple, as_tuple
from parpass.runtime.dtypes import converted

__all__ = ["arange", "meshgrid"]


class ArangeAttrs(Attrs, frozen=True):
    """Attributes of `arange`.

    Attributes:
        length: The number of elements; None if it is known only at run time.
    """

    dtype: DType = "float32"
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
    return converted(start + np.arange(count) * step, attrs.dtype)


def arange_length(start: float, stop: float, step: float) -> int:
    """Return the number of elements from `start` up to `stop`.

    Raises:
        TypeRelationError: The step is 0.
    """
    if not step:
        raise TypeRelationError("expected a step other than 0")
    return max(0, math.ceil((stop - start) / step))


@operator("arange", _arange_relation, _arange, ArangeAttrs)
def _range(start: Expr, stop: Expr, step: Expr, dtype: str, length: int | None) -> Call:
    """Build the call."""
    ...


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
    return _range(*bounds, dtype=dtype, length=length)


def _bound(value: Operand, dtype: str) -> Expr:
    return as_expr(value) if isinstance(value, Expr) else const(value, dtype)


class MeshgridAttrs(Attrs, frozen=True):
    """Attributes of `meshgrid`; `xy` exchanges the first two dimensions."""

    indexing: Annotated[str, OneOf("ij", "xy")] = "ij"


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


def _count(call: Call) -> int:
    """Return the number of results, 1 where it depends on the type."""
    return len(getattr(call.args[0], "fields", ())) or 1


@operator(
    "meshgrid",
    _meshgrid_relation,
    _meshgrid,
    MeshgridAttrs,
    argument=as_tuple,
    pattern=INJECTIVE,
    results=_count,
)
def meshgrid(data: TensorTuple, indexing: str = "ij") -> TupleWrapper:
    """Repeat vectors along each other's axes, giving one tensor for each of them."""
    ...
