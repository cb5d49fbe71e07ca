"""Relay's types, compared by structure.

Names and fields are those of `tvm.relay.ty`. A dimension is an int, or `Any()` where
it is known only when the program runs.
"""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from parpass.errors import IRTypeError
from parpass.relay.dtypes import NUMPY_DTYPES, dtype_of


class Any(msgspec.Struct, frozen=True):
    """A dimension that is unknown until the program runs; prints as `?`."""

    namespace: ClassVar[str] = "relay"

    def __str__(self) -> str:
        return "?"


Dim = int | Any

# Of types that are read, and of values in attributes: they are compared and printed by
# recursion.
MAX_NESTING = 100


class Type(msgspec.Struct, frozen=True):
    """The base of all types; for `namespace`, see `Node`."""

    namespace: ClassVar[str] = "relay"

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other


class TensorType(Type, frozen=True):
    """A tensor of a shape and a dtype; a scalar has the shape `()`.

    Dimensions are ints from 0 on that have 64 bits, or `Any()`. The dtype is one that
    programs may name; TVM's `float`, `int` and `uint` are those of 32 bits, and numpy's
    own dtypes are taken by their names.

    Raises:
        IRTypeError: A dimension or the dtype is none.
    """

    shape: tuple[Dim, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        shape, dtype = self.shape, self.dtype
        if type(shape) is tuple and dtype in NUMPY_DTYPES:
            for dim in shape:
                if type(dim) is not int or not 0 <= dim < _LIMIT:
                    break
            else:
                return  # nearly always, and types are made at every call
        msgspec.structs.force_setattr(self, "shape", _dims(shape))
        try:
            msgspec.structs.force_setattr(self, "dtype", dtype_of(dtype))
        except ValueError as error:
            raise IRTypeError(f"expected a dtype for a tensor: {error}") from None

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints.

        Raises:
            IRTypeError: A dimension is unknown.
        """
        dims = tuple(dim for dim in self.shape if isinstance(dim, int))
        if len(dims) != len(self.shape):
            raise IRTypeError(f"expected a static shape, got {self}")
        return dims

    def __str__(self) -> str:
        dims = ", ".join(str(dim) for dim in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f"Tensor[({dims}{comma}), {self.dtype}]" if self.shape else self.dtype


_LIMIT = 1 << 63


def _dims(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    return tuple(dim if isinstance(dim, Any) else _length(dim) for dim in shape)


def _length(dim: object) -> int:
    try:
        length = operator.index(dim)  # pyright: ignore[reportArgumentType]
    except TypeError:
        length = -1
    if not 0 <= length < _LIMIT:
        raise IRTypeError(
            f"expected an int of 64 bits from 0 on, or Any(), for a dimension, "
            f"got {dim!r:.40}"
        )
    return length


class TupleType(Type, frozen=True):
    """The type of a tuple, field by field."""

    fields: tuple[Type, ...]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "fields", tuple(self.fields))

    def __str__(self) -> str:
        comma = "," if len(self.fields) == 1 else ""
        return f"({', '.join(str(field) for field in self.fields)}{comma})"


class TypeKind(enum.IntEnum):
    """What a type variable stands for; here that is always a type."""

    Type = 0


class TypeVar(Type, frozen=True):
    """A type parameter of a polymorphic function, told apart by its name."""

    name_hint: str
    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return self.name_hint


class IncompleteType(Type, frozen=True, eq=False):
    """A type that InferType has to find; prints as `_`.

    As an annotation it leaves open a type or a part of one. Each object is an unknown
    of its own: the same object in two places means the same type in both.
    """

    kind: int = TypeKind.Type

    def __str__(self) -> str:
        return "_"


class FuncType(Type, frozen=True):
    """The type of a function; equal to one with other names for its type parameters."""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()

    def __post_init__(self) -> None:
        if type(self.arg_types) is not tuple:
            msgspec.structs.force_setattr(self, "arg_types", tuple(self.arg_types))
        if type(self.type_params) is not tuple:
            params = tuple(self.type_params or ())
            msgspec.structs.force_setattr(self, "type_params", params)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, FuncType):
            return self is other
        mine, theirs = self, other
        if mine.type_params != theirs.type_params:
            if len(mine.type_params) != len(theirs.type_params):
                return False
            names = [TypeVar(f"#{next(_fresh)}") for _ in mine.type_params]
            mine, theirs = mine.instantiated(names), theirs.instantiated(names)
        return mine.arg_types == theirs.arg_types and mine.ret_type == theirs.ret_type

    def __hash__(self) -> int:
        if self.type_params:  # their names must not matter, here or further in
            return hash((len(self.type_params), len(self.arg_types)))
        return hash((self.arg_types, self.ret_type))

    def instantiated(self, type_args: Sequence[Type]) -> FuncType:
        """Return this type with types for its first type parameters."""
        from parpass.relay.type_functor import substitute

        given, rest = len(type_args), self.type_params[len(type_args) :]
        known = dict(zip(self.type_params[:given], type_args, strict=True))
        bare = FuncType(self.arg_types, self.ret_type, rest)
        found = substitute(bare, known) if known else bare
        assert isinstance(found, FuncType)
        return found

    def __str__(self) -> str:
        params = ", ".join(str(param) for param in self.type_params)
        args = ", ".join(str(arg) for arg in self.arg_types)
        head = f"fn <{params}>" if params else "fn "
        return f"{head}({args}) -> {self.ret_type}"


_fresh = itertools.count()


def scalar_type(dtype: str = "float32") -> TensorType:
    """Return the type of a scalar."""
    return TensorType((), dtype)


def tensor_type(shape: Sequence[Dim], dtype: str = "float32") -> TensorType:
    """Return the type of a tensor."""
    return TensorType(tuple(shape), dtype)


__all__ = [
    "Any",
    "Dim",
    "FuncType",
    "IncompleteType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeKind",
    "TypeVar",
    "scalar_type",
    "tensor_type",
]
