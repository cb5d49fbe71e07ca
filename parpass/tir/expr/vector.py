"""Short vectors, and accesses to flat memory."""

from __future__ import annotations

import functools
from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import FieldKind, reflected
from parpass.ir.types import PointerType, PrimType
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr.prim_expr import (
    EXPR_KINDS,
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    as_prim_expr,
    as_prim_exprs,
    shared_int,
)
from parpass.tir.expr.scalar import Var, check_var, convert_fields, set_dtype


@reflected(
    is_graph=False,
    base=FieldKind.CHILD,
    stride=FieldKind.CHILD,
    dtype=FieldKind.DERIVED,
)
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


@reflected(is_graph=False, value=FieldKind.CHILD, dtype=FieldKind.DERIVED)
class Broadcast(PrimExpr, frozen=True, eq=False):
    """A vector that repeats one value."""

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
    is_graph=False,
    vectors=FieldKind.CHILDREN,
    indices=FieldKind.CHILDREN,
    dtype=FieldKind.DERIVED,
)
class Shuffle(PrimExpr, frozen=True, eq=False):
    """A vector of lanes of other vectors, selected by number."""

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
                "expected vectors of one dtype for Shuffle, and at most one index for "
                f"each lane, got {sorted(elements)} and {len(self.indices)} indices of "
                f"{lanes} lanes"
            )
        (element,) = elements
        set_dtype(self, data_type(element).with_lanes(len(self.indices)))


def const_true(lanes: int = 1, span: Span | None = None) -> PrimExpr:
    """Return `True`, or a vector of it; without a span always the same ones."""
    if span is None:
        return _true(lanes)
    true = IntImm("bool", 1, span)
    return true if lanes == 1 else Broadcast(true, lanes, span)


def constant_int(expr: PrimExpr | None) -> int | None:
    """Return the int that an expression is, in each lane; None if it is none."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return expr.value if isinstance(expr, IntImm) else None


def is_true(predicate: PrimExpr | None) -> bool:
    """Return whether a predicate is a constant that holds for all lanes."""
    return bool(constant_int(predicate))


@functools.cache  # there are no more than 65,535 lanes
def _true(lanes: int) -> PrimExpr:
    true = shared_int("bool", 1)
    return true if lanes == 1 else Broadcast(true, lanes)


@reflected(
    is_graph=False,
    buffer_var=FieldKind.CHILD,
    index=FieldKind.CHILD,
    predicate=FieldKind.CHILD,
)
class Load(PrimExpr, frozen=True, eq=False):
    """The element of a pointer at an index in memory, if the predicate holds."""

    dtype: str
    buffer_var: Var
    index: Operand
    predicate: Operand = cast("Any", None)
    span: Span | None = None

    def __post_init__(self) -> None:
        dtype = checked(self.dtype)
        if self.dtype != dtype:
            force_setattr(self, "dtype", dtype)
        check_access(self, dtype)


def check_access(node: Any, dtype: str) -> None:
    """Check what memory is accessed, where and whether; give it a predicate.

    The index becomes an expression, if it is none.

    Raises:
        IRTypeError: The pointer is no variable, or the lanes do not go together.
    """
    index, given = node.index, node.predicate
    if type(index) not in EXPR_KINDS:
        index = as_prim_expr(index)
        force_setattr(node, "index", index)
    if type(node.buffer_var) is not Var:
        check_var(node, node.buffer_var)
    if type(given) not in EXPR_KINDS:
        lanes = data_type(dtype).lanes
        given = const_true(lanes) if given is None else as_prim_expr(given)
        force_setattr(node, "predicate", given)
    # Only names of vectors have an x, and most accesses are of scalars.
    if "x" in dtype or "x" in index.dtype or "x" in given.dtype:
        _check_lanes(node, dtype)


def _check_lanes(node: Any, dtype: str) -> None:
    lanes, predicate = data_type(dtype).lanes, node.predicate
    pointer = node.buffer_var.type_annotation
    element = 1
    if isinstance(pointer, PointerType) and isinstance(pointer.element_type, PrimType):
        element = data_type(pointer.element_type.dtype).lanes
    of_index = data_type(node.index.dtype).lanes
    of_predicate = data_type(predicate.dtype).lanes
    if lanes not in (of_index, element * of_index) or (
        lanes not in (of_index, element * of_predicate)
    ):
        raise IRTypeError(
            f"expected an index and a predicate with the lanes of {dtype} for "
            f"{type(node).__name__}, got {node.index.dtype} and {predicate.dtype}"
        )
