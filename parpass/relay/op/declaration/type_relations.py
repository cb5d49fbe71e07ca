"""Type relations of many operators, and the checks that they consist of.

A relation maps the types of a call's arguments, and its attributes, to the type of the
result. An unknown dimension (`Any`) agrees with every other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from parpass.ir.op.op_table import TypeRelationError
from parpass.ir.op.type_relation import TYPE_RELATIONS
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, TupleType, Type
from parpass.runtime.dtypes import is_float_dtype, is_int_dtype

Shape = tuple[Dim, ...]


def tensors(types: Sequence[Type | None]) -> tuple[TensorType, ...]:
    """Return the types of arguments that must all be tensors."""
    found = tuple(found for found in types if isinstance(found, TensorType))
    if len(found) != len(types):
        at = next(n for n, t in enumerate(types) if not isinstance(t, TensorType))
        raise TypeRelationError(
            f"expected a tensor for argument {at + 1}, got {types[at]}"
        )
    return found


def tensor_fields(types: Sequence[Type]) -> tuple[TensorType, ...]:
    """Return the fields of the one argument, a tuple of one or more tensors."""
    (only,) = types
    if not isinstance(only, TupleType) or not only.fields:
        raise TypeRelationError(f"expected a tuple of tensors, got {only}")
    found = tensors(only.fields)
    require_same_dtype(found)
    return found


def require_same_dtype(args: Sequence[TensorType]) -> None:
    """Reject arguments of different dtypes."""
    for at, arg in enumerate(args):
        if arg.dtype != args[0].dtype:
            raise TypeRelationError(
                f"expected the dtype of argument 1, {args[0].dtype}, for argument "
                f"{at + 1}, got {arg.dtype}"
            )


def require_dtype(arg: TensorType, dtype: str) -> None:
    """Reject a tensor of another dtype."""
    if arg.dtype != dtype:
        raise TypeRelationError(f"expected a tensor of {dtype}, got {arg}")


def require_float(arg: TensorType) -> None:
    """Reject a tensor of integers or bools."""
    if not is_float_dtype(arg.dtype):
        raise TypeRelationError(f"expected a tensor of floats, got {arg}")


def require_number(arg: TensorType) -> None:
    """Reject a tensor of bools."""
    if arg.dtype == "bool":
        raise TypeRelationError(f"expected a tensor of numbers, got {arg}")


def require_integer(arg: TensorType, what: str = "") -> None:
    """Reject a tensor of floats or bools; `what` names the argument."""
    if not is_int_dtype(arg.dtype):
        named = f" for {what}" if what else ""
        raise TypeRelationError(f"expected a tensor of integers{named}, got {arg}")


def require_rank(arg: TensorType, rank: int, what: str) -> None:
    """Reject a tensor with another number of dimensions."""
    if len(arg.shape) != rank:
        raise TypeRelationError(f"expected {rank} dimensions for {what}, got {arg}")


def require_shape(arg: TensorType, shape: Shape, what: str) -> None:
    """Reject a tensor whose shape does not agree with `shape`."""
    if len(arg.shape) != len(shape) or not all(map(agree, arg.shape, shape)):
        wanted = TensorType(shape, arg.dtype)
        raise TypeRelationError(f"expected {wanted} for {what}, got {arg}")


def vectors_along_axis(
    types: Sequence[Type | None], attrs: Any
) -> Sequence[Type | None]:
    """Return the types of arguments that are vectors along the first one's axis."""
    data = types[0]
    if not isinstance(data, TensorType):
        return types
    axis = normal_axis(attrs.axis, len(data.shape))
    vector = TensorType((data.shape[axis],), data.dtype)
    return (data, *[vector] * (len(types) - 1))


def require_vectors(types: Sequence[TensorType], attrs: Any, *names: str) -> None:
    """Reject arguments that are no vectors along the first one's axis.

    Args:
        types: The types of all arguments.
        attrs: Give the axis.
        names: The names of the further arguments in messages.
    """
    require_same_dtype(types)
    wanted = tensors(vectors_along_axis(types, attrs))
    for name, want, got in zip(names, wanted[1:], types[1:], strict=True):
        require_shape(got, want.shape, name)


def agree(one: Dim, other: Dim) -> bool:
    """Return whether two dimensions may be equal at run time."""
    return isinstance(one, UnknownDim) or isinstance(other, UnknownDim) or one == other


def unify(one: Dim, other: Dim) -> Dim:
    """Return the common dimension of two that agree."""
    return other if isinstance(one, UnknownDim) else one


def normal_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the front; a negative one counts from the end."""
    if not -rank <= axis < rank:
        raise TypeRelationError(f"expected an axis of {rank} dimensions, got {axis}")
    return axis % rank


def normal_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Return different axes, each counted from the front."""
    axes = tuple(axes)
    normal = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise TypeRelationError(f"expected different axes, got {axes}")
    return normal


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of dimensions, unknown if one of them is."""
    total = 1
    for dim in dims:
        if isinstance(dim, UnknownDim):
            return dim
        total *= dim
    return total


def shape_text(shape: Shape) -> str:
    """Return a shape for messages, such as `(1, 3, ?)`."""
    comma = "," if len(shape) == 1 else ""
    return f"({', '.join(str(dim) for dim in shape)}{comma})"


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape to which some shapes broadcast, as in numpy."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[Dim] = []
    for dims in zip(*padded, strict=True):
        if dims.count(dims[0]) == len(dims):
            result.append(dims[0])
            continue
        known = {dim for dim in dims if isinstance(dim, int) and dim != 1}
        if len(known) > 1:
            listed = " and ".join(shape_text(shape) for shape in shapes)
            raise TypeRelationError(f"expected shapes that broadcast, got {listed}")
        unknown = any(isinstance(dim, UnknownDim) for dim in dims)
        result.append(known.pop() if known else UnknownDim() if unknown else 1)
    return tuple(result)


def identity(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate one tensor to a result of the same type."""
    (data,) = tensors(types)
    return data


def same_value(types: Sequence[Type], _attrs: Any) -> Type:
    """Relate a value of any type, functions included, to its type; for annotations."""
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
        return first  # by far the most frequent case; it needs no new type
    require_same_dtype(args)
    return TensorType(broadcast_shape(*(arg.shape for arg in args)), args[0].dtype)


def number_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of numbers of one dtype to the type they broadcast to."""
    result = _broadcast(types)
    require_number(result)
    return result


def integral_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of integers, or of bools, to the type they broadcast to."""
    return integral_identity((_broadcast(types),), None)


def integer_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of integers of one dtype to the type they broadcast to."""
    result = _broadcast(types)
    require_integer(result)
    return result


def bool_broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of bools to the type they broadcast to."""
    result = _broadcast(types)
    require_dtype(result, "bool")
    return result


def comparison(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate two tensors of one dtype to bools in the shape they broadcast to."""
    return TensorType(_broadcast(types).shape, "bool")


def broadcast(types: Sequence[Type], _attrs: Any) -> TensorType:
    """Relate tensors of one dtype to the type they broadcast to."""
    return _broadcast(types)


TYPE_RELATIONS.update(Identity=identity, Broadcast=broadcast)
