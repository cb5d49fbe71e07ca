"""Operators that join tensors, or split one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, TupleType, Type
from parpass.relay.expr import Call, Expr, Operand, Tuple, TupleWrapper, as_expr
from parpass.relay.op.declaration.attributes import Ints, int_tuple
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    Shape,
    normal_axis,
    require_rank,
    require_shape,
    tensor_fields,
    tensors,
    unify,
)

__all__ = ["concatenate", "split", "stack"]

TensorTuple = Expr | TupleWrapper | Iterable[Operand]


def as_tuple(data: TensorTuple) -> Expr:
    """Return tensors as one argument; a tuple expression stays as it is."""
    if isinstance(data, Expr):
        return data
    fields = tuple(as_expr(field) for field in data)
    if not fields:
        raise IRTypeError("expected one tensor or more to join, got none")
    return Tuple(fields)


class ConcatenateAttrs(Attrs, frozen=True):
    """Attributes of `concatenate`."""

    axis: int = 0


def _concatenate_relation(types: Sequence[Type], attrs: ConcatenateAttrs) -> TensorType:
    fields = tensor_fields(types)
    shape = list(fields[0].shape)
    axis = normal_axis(attrs.axis, len(shape))
    length: Dim = 0
    for at, field in enumerate(fields, 1):
        require_rank(field, len(shape), f"field {at}")
        dim = field.shape[axis]
        wanted = tuple(shape[:axis]), tuple(shape[axis + 1 :])
        require_shape(field, (*wanted[0], dim, *wanted[1]), f"field {at}")
        shape = [
            unify(known, more) for known, more in zip(shape, field.shape, strict=True)
        ]
        if isinstance(length, int):
            length = dim if isinstance(dim, UnknownDim) else length + dim
    shape[axis] = length
    return TensorType(tuple(shape), fields[0].dtype)


def _concatenate(attrs: ConcatenateAttrs, fields: tuple[Array, ...]) -> Array:
    return np.concatenate(fields, attrs.axis)


@operator(
    "concatenate",
    _concatenate_relation,
    _concatenate,
    ConcatenateAttrs,
    argument=as_tuple,
    pattern=INJECTIVE,
    moves=True,
)
def concatenate(data: TensorTuple, axis: int) -> Call:
    """Join tensors end to end along an axis."""
    ...


class StackAttrs(Attrs, frozen=True):
    """Attributes of `stack`."""

    axis: int = 0


def _stack_relation(types: Sequence[Type], attrs: StackAttrs) -> TensorType:
    fields = tensor_fields(types)
    shape: Shape = fields[0].shape
    for at, field in enumerate(fields, 1):
        require_shape(field, shape, f"field {at}")
        shape = tuple(map(unify, shape, field.shape))
    axis = normal_axis(attrs.axis, len(shape) + 1)
    return TensorType((*shape[:axis], len(fields), *shape[axis:]), fields[0].dtype)


def _stack(attrs: StackAttrs, fields: tuple[Array, ...]) -> Array:
    return np.stack(fields, attrs.axis)


@operator(
    "stack",
    _stack_relation,
    _stack,
    StackAttrs,
    argument=as_tuple,
    pattern=INJECTIVE,
    moves=True,
)
def stack(data: TensorTuple, axis: int) -> Call:
    """Join tensors of one shape along a new axis."""
    ...


def _where(value: Ints, what: str) -> int | tuple[int, ...]:
    return value if isinstance(value, int) else int_tuple(value, what)


class SplitAttrs(Attrs, frozen=True):
    """Attributes of `split`.

    Attributes:
        indices_or_sections: The number of equal parts, or the begins of all parts but
            the first.
    """

    indices_or_sections: Annotated[int | tuple[int, ...], _where]
    axis: int = 0

    def check(self) -> None:
        """Reject a number of parts below 1."""
        where = self.indices_or_sections
        if isinstance(where, int) and where < 1:
            raise IRTypeError(f"expected one part or more to split into, got {where}")


def _part_lengths(length: Dim, attrs: SplitAttrs) -> list[Dim]:
    where = attrs.indices_or_sections
    if isinstance(length, UnknownDim):
        count = where if isinstance(where, int) else len(where) + 1
        return [length] * count
    if isinstance(where, int):
        if length % where:
            raise TypeRelationError(
                f"expected a length that {where} divides to split, got {length}"
            )
        return [length // where] * where
    bounds = [0, *where, length]
    lengths = [stop - start for start, stop in pairwise(bounds)]
    if min(lengths) < 0:
        raise TypeRelationError(
            f"expected ascending indices up to {length} to split at, got {where}"
        )
    return list(lengths)


def _split_relation(types: Sequence[Type], attrs: SplitAttrs) -> TupleType:
    (data,) = tensors(types)
    axis = normal_axis(attrs.axis, len(data.shape))
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    lengths = _part_lengths(data.shape[axis], attrs)
    return TupleType(
        tuple(TensorType((*before, dim, *after), data.dtype) for dim in lengths)
    )


def _split(attrs: SplitAttrs, data: Array) -> tuple[Array, ...]:
    return tuple(np.split(data, attrs.indices_or_sections, attrs.axis))


def _count(call: Call) -> int:
    where = call.attrs.indices_or_sections
    return where if isinstance(where, int) else len(where) + 1


@operator(
    "split",
    _split_relation,
    _split,
    SplitAttrs,
    pattern=INJECTIVE,
    moves=True,
    results=_count,
)
def split(data: Expr, indices_or_sections: Ints, axis: int = 0) -> TupleWrapper:
    """Split a tensor along an axis into equal parts, or at indices."""
    ...
