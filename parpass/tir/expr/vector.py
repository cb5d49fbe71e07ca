"""Short vectors: of one value, of equal steps, of lanes of others."""

from __future__ import annotations

import functools
from typing import Any

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Role, reflected
from parpass.tir.data_type import data_type
from parpass.tir.expr.fields import convert_fields, set_dtype
from parpass.tir.prim_expr import (
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    as_prim_exprs,
    shared_int,
)


@reflected(is_graph=False, base=Role.CHILD, stride=Role.CHILD, dtype=Role.DERIVED)
class Ramp(PrimExpr, frozen=True, eq=False):
    """The vector `base, base + stride, base + 2 * stride, ...`."""

    base: Operand
    stride: Operand
    lanes: int
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "base", "stride")
        if self.stride.dtype != self.base.dtype:
            raise IRTypeError(
                f"mismatched types: expected base and stride of one dtype for Ramp, "
                f"got {self.base.dtype} and {self.stride.dtype}"
            )
        set_dtype(self, _vector(self, self.base, self.lanes))


@reflected(is_graph=False, value=Role.CHILD, dtype=Role.DERIVED)
class Broadcast(PrimExpr, frozen=True, eq=False):
    """A vector of one value, again and again."""

    value: Operand
    lanes: int
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        set_dtype(self, _vector(self, self.value, self.lanes))

    def __reduce__(self) -> tuple[Any, ...]:
        if self is _true(self.lanes):
            return const_true, (self.lanes,)
        return type(self), (self.value, self.lanes, self.span, self.dtype)


def _vector(node: Ramp | Broadcast, one: PrimExpr, lanes: Any) -> str:
    if type(lanes) is not int:
        lanes = int(lanes)
        force_setattr(node, "lanes", lanes)
    return _vector_of(type(node).__name__, one.dtype, lanes)


@functools.lru_cache(maxsize=4096)
def _vector_of(kind: str, dtype: str, lanes: int) -> str:
    of_one = data_type(dtype)
    if of_one.lanes != 1:
        raise IRTypeError(f"expected a scalar for {kind}, got {dtype}")
    if not 1 < lanes < 1 << 16:
        raise IRTypeError(f"expected 2 to 65535 lanes for {kind}, got {lanes}")
    return of_one.with_lanes(lanes)


@reflected(
    is_graph=False, vectors=Role.CHILDREN, indices=Role.CHILDREN, dtype=Role.DERIVED
)
class Shuffle(PrimExpr, frozen=True, eq=False):
    """A vector of lanes of other ones, by their numbers in all of these together."""

    vectors: Operands
    indices: Operands
    span: Span | None = None
    dtype: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "vectors", as_prim_exprs(self.vectors))
        force_setattr(self, "indices", as_prim_exprs(self.indices))
        elements = {data_type(one.dtype).element for one in self.vectors}
        lanes = sum(data_type(one.dtype).lanes for one in self.vectors)
        if len(elements) != 1 or not 0 < len(self.indices) <= lanes:
            raise IRTypeError(
                "expected vectors of one dtype for Shuffle, and from 1 to as many "
                f"indices as they have lanes, got {sorted(elements)} and "
                f"{len(self.indices)} indices of {lanes} lanes"
            )
        (element,) = elements
        set_dtype(self, data_type(element).with_lanes(len(self.indices)))


def const_true(lanes: int = 1, span: Span | None = None) -> PrimExpr:
    """Return `True`, or a vector of it; without a span always the same ones."""
    if span is None:
        return _true(lanes)
    true = IntImm("bool", 1, span)
    return true if lanes == 1 else Broadcast(true, lanes, span)


@functools.cache  # there are no more than 65,535 lanes
def _true(lanes: int) -> PrimExpr:
    true = shared_int("bool", 1)
    return true if lanes == 1 else Broadcast(true, lanes)
