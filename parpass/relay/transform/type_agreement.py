"""When two types may stand for the same value."""

from __future__ import annotations

from collections.abc import Sequence

from parpass.relay.ty import Any, FuncType, TensorType, TupleType, Type


def join(one: Type, other: Type) -> Type | None:
    """Return the type of a value that may be of either type, None if there is none.

    Types agree if they are equal save for dimensions that one of them does not know;
    the result does not know these either.
    """
    if one == other:
        return one
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        return _join_tensors(one, other)
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        fields = _join_all(one.fields, other.fields)
        return None if fields is None else TupleType(fields)
    if isinstance(one, FuncType) and isinstance(other, FuncType):
        args = _join_all(one.arg_types, other.arg_types)
        result = join(one.ret_type, other.ret_type)
        if args is None or result is None or one.type_params != other.type_params:
            return None
        return FuncType(args, result, one.type_params)
    return None


def _join_all(ones: Sequence[Type], others: Sequence[Type]) -> tuple[Type, ...] | None:
    if len(ones) != len(others):
        return None
    joined = [join(one, other) for one, other in zip(ones, others, strict=True)]
    known = tuple(found for found in joined if found is not None)
    return known if len(known) == len(joined) else None


def _join_tensors(one: TensorType, other: TensorType) -> TensorType | None:
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = list(zip(one.shape, other.shape, strict=True))
    if any(
        a != b and not isinstance(a, Any) and not isinstance(b, Any) for a, b in pairs
    ):
        return None
    return TensorType(tuple(a if a == b else Any() for a, b in pairs), one.dtype)
