"""Operators that change the shape and keep the order of elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr
from parpass.relay.op.declaration.attributes import Ints, IntTuple
from parpass.relay.op.declaration.build import INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    Shape,
    agree,
    product,
    shape_text,
    tensors,
)

__all__ = ["reshape", "reshape_like", "reverse_reshape"]


class ReshapeAttrs(Attrs, frozen=True):
    """Attributes of `reshape`.

    Attributes:
        newshape: The dimensions. Numbers below 1 are codes that read the old shape from
            the left: 0 keeps the next dimension, -1 (once) stands for the remaining
            elements, -2 keeps all that follow, -3 joins two, and -4 splits one into the
            two that are written after it, of which one may be -1.
        allowzero: Whether 0 is a length of 0.
    """

    newshape: IntTuple
    allowzero: bool = False

    def check(self) -> None:
        """Reject malformed codes."""
        dims = self.newshape
        splits = [dims[at + 1 : at + 3] for at, dim in enumerate(dims) if dim == -4]
        rests = dims.count(-1) - sum(-1 in split for split in splits)
        if rests > 1 or any(dim < -4 for dim in dims):
            raise IRTypeError(
                f"expected ints from -4 on and one -1 at most, got {dims}"
            )
        if any(len(two) < 2 or two.count(-1) > 1 or min(two) < -1 for two in splits):
            raise IRTypeError(f"expected two factors behind each -4, got {dims}")


class _Reader:
    """Reads codes of `newshape` against an old shape."""

    def __init__(self, shape: Shape, attrs: ReshapeAttrs) -> None:
        self._shape = shape
        self._attrs = attrs
        self._at = 0
        self.kept: list[int] = []  # old dimensions that are in the new shape as such

    def dims(self) -> list[Dim | None]:
        """Return the new dimensions, None for the one to be inferred."""
        codes = iter(self._attrs.newshape)
        return [dim for code in codes for dim in self._read(code, codes)]

    def _read(self, code: int, codes: Iterator[int]) -> Sequence[Dim | None]:
        if code == 0 and not self._attrs.allowzero:
            return [self._next()]
        if code == -2:
            return [self._next() for _ in range(len(self._shape) - self._at)]
        if code == -3:
            return [product((self._next(), self._next()))]
        if code == -4:
            return self._split(next(codes, 0), next(codes, 0))
        self._at += 1
        return [None if code == -1 else code]

    def _next(self) -> Dim:
        if self._at >= len(self._shape):
            raise TypeRelationError(
                f"expected newshape to read at most {len(self._shape)} dimensions of "
                f"{shape_text(self._shape)}, got {self._attrs.newshape}"
            )
        self.kept.append(self._at)
        self._at += 1
        return self._shape[self._at - 1]

    def _split(self, left: int, right: int) -> Sequence[Dim]:
        whole = self._next()
        known = right if left == -1 else left
        if isinstance(whole, UnknownDim):
            return [whole if dim == -1 else dim for dim in (left, right)]
        rest = whole // known if known > 0 else 0
        left, right = (rest if dim == -1 else dim for dim in (left, right))
        if left * right != whole:
            raise TypeRelationError(
                f"expected two factors of {whole} behind -4, got {self._attrs.newshape}"
            )
        return [left, right]


def reshaped(shape: Shape, attrs: ReshapeAttrs) -> Shape:
    """Return the shape of the result of `reshape`, as far as it can be inferred.

    Raises:
        TypeRelationError: The new shape does not fit.
    """
    reader = _Reader(shape, attrs)
    dims = reader.dims()
    known = [dim for dim in dims if dim is not None]
    old, new = product(shape), product(known)
    if isinstance(old, UnknownDim) or isinstance(new, UnknownDim):
        rest = _unknown_rest(shape, reader, attrs)
        return tuple(rest if dim is None else dim for dim in dims)
    fits = new > 0 and old % new == 0 if len(known) < len(dims) else old == new
    if not fits:
        raise TypeRelationError(
            f"expected a newshape of {old} elements for {shape_text(shape)}, "
            f"got {attrs.newshape}"
        )
    return tuple(old // new if dim is None else dim for dim in dims)


def _unknown_rest(shape: Shape, reader: _Reader, attrs: ReshapeAttrs) -> Dim:
    """Return the value of -1 if the unknown dimensions are all kept."""
    left = product(dim for at, dim in enumerate(shape) if at not in reader.kept)
    written = 1
    for code in attrs.newshape:
        written *= code if code > 0 else 1
    if isinstance(left, UnknownDim) or left % written or -4 in attrs.newshape:
        return UnknownDim()
    return left // written


def _reshape_relation(types: Sequence[Type], attrs: ReshapeAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType(reshaped(data.shape, attrs), data.dtype)


def _reshape(attrs: ReshapeAttrs, data: Array) -> Array:
    return data.reshape(cast("tuple[int, ...]", reshaped(data.shape, attrs)))


@operator(
    "reshape", _reshape_relation, _reshape, ReshapeAttrs, pattern=INJECTIVE, moves=True
)
def reshape(data: Expr, newshape: Ints | Expr, allowzero: bool = False) -> Call:
    """Change the shape.

    0 keeps a dimension, -1 takes the rest, -2 keeps all that follow, -3 joins two, -4
    splits one into the next two.

    Raises:
        IRTypeError: There are two -1, or a dimension is below -4.
    """
    ...


class ReverseReshapeAttrs(ReshapeAttrs, frozen=True):
    """Attributes of `contrib_reverse_reshape`, whose codes are read from the right."""

    def check(self) -> None:
        """Reject malformed codes, and -4, which has an order of its own."""
        super().check()
        if -4 in self.newshape:
            raise IRTypeError(f"expected no -4 from the right, got {self.newshape}")


def _reversed_shape(shape: Shape, attrs: ReverseReshapeAttrs) -> Shape:
    codes = ReshapeAttrs(newshape=attrs.newshape[::-1], allowzero=attrs.allowzero)
    return reshaped(shape[::-1], codes)[::-1]


def _reverse_relation(types: Sequence[Type], attrs: ReverseReshapeAttrs) -> TensorType:
    (data,) = tensors(types)
    return TensorType(_reversed_shape(data.shape, attrs), data.dtype)


def _reverse(attrs: ReverseReshapeAttrs, data: Array) -> Array:
    return data.reshape(cast("tuple[int, ...]", _reversed_shape(data.shape, attrs)))


@operator(
    "contrib_reverse_reshape",
    _reverse_relation,
    _reverse,
    ReverseReshapeAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def reverse_reshape(data: Expr, newshape: Ints) -> Call:
    """Change the shape, with codes that are read from the right.

    Raises:
        IRTypeError: There are two -1, a -4, or a dimension is below that.
    """
    ...


class ReshapeLikeAttrs(Attrs, frozen=True):
    """Attributes of `reshape_like`; an end of None is the last dimension's."""

    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None


def _like(shape: Shape, like: Shape, attrs: ReshapeLikeAttrs) -> Shape:
    left = slice(attrs.lhs_begin, attrs.lhs_end)
    new = like[attrs.rhs_begin : attrs.rhs_end]
    begin, end, _ = left.indices(len(shape))
    if begin > end:
        raise TypeRelationError(
            f"expected lhs_begin up to lhs_end, got {begin} and {end}"
        )
    if not agree(product(shape[left]), product(new)):
        raise TypeRelationError(
            f"expected {shape_text(new)} to have as many elements as "
            f"{shape_text(shape[left])}"
        )
    return (*shape[:begin], *new, *shape[end:])


def _reshape_like_relation(
    types: Sequence[Type], attrs: ReshapeLikeAttrs
) -> TensorType:
    data, like = tensors(types)
    return TensorType(_like(data.shape, like.shape, attrs), data.dtype)


def _reshape_like(attrs: ReshapeLikeAttrs, data: Array, like: Array) -> Array:
    return data.reshape(cast("tuple[int, ...]", _like(data.shape, like.shape, attrs)))


@operator(
    "reshape_like",
    _reshape_like_relation,
    _reshape_like,
    ReshapeLikeAttrs,
    pattern=INJECTIVE,
    moves=True,
)
def reshape_like(
    data: Expr,
    shape_like: Expr,
    lhs_begin: int = 0,
    lhs_end: int | None = None,
    rhs_begin: int = 0,
    rhs_end: int | None = None,
) -> Call:
    """Give a range of dimensions the lengths of a range of another tensor."""
    ...
