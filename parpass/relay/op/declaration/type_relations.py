"""Type relations that many operators have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parpass.ir.types.ty import TensorType, Type
from parpass.ir.types.type_relation import TYPE_RELATIONS
from parpass.relay.op.declaration.relations import (
    broadcast_shape,
    normal_axis,
    require_dtype,
    require_float,
    require_integer,
    require_number,
    require_same_dtype,
    tensors,
)


def identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor to a result of the same type."""
    (data,) = tensors(types)
    return data


def same_value(types: Sequence[Type], _attrs: Any) -> Type:
    """Relate a value of any type, functions included, to itself; for annotations."""
    (found,) = types
    return found


def float_identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor of floats to a result of the same type."""
    (data,) = tensors(types)
    require_float(data)
    return data


def axis_identity(types: Sequence[Type], attrs: Any) -> TensorType:
    """Relate a tensor that has the attribute's axis to a result of the same type."""
    (data,) = tensors(types)
    normal_axis(attrs.axis, len(data.shape))
    return data


def float_axis_identity(types: Sequence[Type], attrs: Any) -> TensorType:
    """Relate a tensor of floats that has the attribute's axis to one of its type."""
    return axis_identity((float_identity(types, attrs),), attrs)


def number_identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor of numbers to a result of the same type."""
    (data,) = tensors(types)
    require_number(data)
    return data


def bool_identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor of bools to a result of the same type."""
    (data,) = tensors(types)
    require_dtype(data, "bool")
    return data


def integral_identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor of integers or bools to a result of the same type."""
    (data,) = tensors(types)
    if data.dtype != "bool":
        require_integer(data)
    return data


def predicate(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor to bools in its shape."""
    (data,) = tensors(types)
    return TensorType(data.shape, "bool")


def _broadcast(types: Sequence[Type]) -> TensorType:
    args = tensors(types)
    first = args[0]
    if all(arg is first or arg == first for arg in args):
        return first  # by far the most frequent case, and it needs no new type
    require_same_dtype(args)
    return TensorType(broadcast_shape(*(arg.shape for arg in args)), args[0].dtype)


def number_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of numbers of one dtype to what they broadcast to."""
    result = _broadcast(types)
    require_number(result)
    return result


def integral_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of integers, or of bools, to what they broadcast to."""
    return integral_identity((_broadcast(types),), None)


def integer_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of integers of one dtype to what they broadcast to."""
    result = _broadcast(types)
    require_integer(result)
    return result


def bool_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of bools to what they broadcast to."""
    result = _broadcast(types)
    require_dtype(result, "bool")
    return result


def comparison(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate two tensors of one dtype to bools in the shape they broadcast to."""
    return TensorType(_broadcast(types).shape, "bool")


def broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of one dtype to what they broadcast to."""
    return _broadcast(types)


TYPE_RELATIONS.update(Identity=identity, Broadcast=broadcast)
