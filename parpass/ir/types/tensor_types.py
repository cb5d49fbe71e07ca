"""Types of tensors, whose dimensions are ints, or `Any()` where only the run tells."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec

from parpass.errors import IRTypeError
from parpass.ir.types.type_structure import Type
from parpass.runtime.dtypes import NUMPY_DTYPES, dtype_of, is_int_dtype


class Any(msgspec.Struct, frozen=True, gc=False):
    """A dimension that is unknown until the program runs; prints as `?`."""

    namespace: ClassVar[str] = "relay"

    def __str__(self) -> str:
        return "?"


Dim = int | Any


class TensorType(Type, frozen=True, gc=False):
    """A tensor of a shape and a dtype; a scalar has the shape `()`.

    Dimensions are ints from 0 to 64 bits, or `Any()`, to which an expression of ints,
    such as `te.var("n")`, is converted. The dtype is one that programs may name; TVM's
    `float`, `int` and `uint` are those of 32 bits, and numpy's own dtypes are taken by
    their names.

    The collector skips tensor types, and tuples of nothing else, such as each call has:
    a third of the objects. They are flat, and cannot be part of a cycle.

    Raises:
        IRTypeError: A dimension or the dtype is invalid.
    """

    visitor: ClassVar[str] = "visit_tensor_type"

    shape: tuple[Dim, ...]
    dtype: str = "float32"

    if TYPE_CHECKING:  # a sequence becomes a tuple below

        def __init__(self, shape: Sequence[Dim], dtype: str = "float32") -> None: ...

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
            msgspec.structs.force_setattr(
                self, "dtype", dtype_of(dtype, or_vector=True)
            )
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
        dims = ", ".join(map(str, self.shape))
        comma = "," if len(self.shape) == 1 else ""
        return f"Tensor[({dims}{comma}), {self.dtype}]" if self.shape else self.dtype


_LIMIT = 1 << 63


def _dims(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    return tuple(dim if isinstance(dim, Any) else _length(dim) for dim in shape)


def _length(dim: object) -> Dim:
    try:
        length = int(operator.index(dim))  # pyright: ignore[reportArgumentType]
    except TypeError:
        if _is_int_expression(dim):
            return Any()
        length = -1
    if not 0 <= length < _LIMIT:
        raise IRTypeError(
            f"expected an int of 64 bits from 0 on, or Any(), for a dimension, "
            f"got {dim!r:.40}"
        )
    return length


def _is_int_expression(dim: object) -> bool:
    """Return whether this is an expression of loop programs, such as `te.var("n")`."""
    dtype = getattr(dim, "dtype", None)
    is_of_an_ir = isinstance(getattr(dim, "namespace", None), str)
    return is_of_an_ir and isinstance(dtype, str) and is_int_dtype(dtype)


def scalar_type(dtype: str = "float32") -> TensorType:
    """Return the type of a scalar."""
    return TensorType((), dtype)


def tensor_type(shape: Sequence[Dim], dtype: str = "float32") -> TensorType:
    """Return the type of a tensor."""
    return TensorType(tuple(shape), dtype)
