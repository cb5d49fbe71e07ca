"""Statements that make memory, or write to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.node import FieldKind, reflected
from parpass.ir.types import PointerType, PrimType
from parpass.tir.data_type import checked
from parpass.tir.expr import (
    Buffer,
    Operand,
    Operands,
    Range,
    Var,
    as_prim_expr,
    as_prim_exprs,
    check_access,
    check_var,
    const_true,
    convert_fields,
)
from parpass.tir.expr.binary_op import check_bool
from parpass.tir.expr.buffer import check_buffer, check_indices, stored_as
from parpass.tir.expr.prim_expr import EXPR_KINDS
from parpass.tir.stmt.stmt_base import Stmt, check_body, plain_attrs


@reflected(
    is_graph=False,
    buffer_var=FieldKind.CHILD,
    value=FieldKind.CHILD,
    index=FieldKind.CHILD,
    predicate=FieldKind.CHILD,
)
class Store(Stmt, frozen=True, eq=False):
    """Writes a value to a pointer's element at an index, if the predicate holds."""

    buffer_var: Var
    value: Operand
    index: Operand
    predicate: Operand = cast("Any", None)
    span: Span | None = None

    def __post_init__(self) -> None:
        value = self.value
        if type(value) not in EXPR_KINDS:
            value = as_prim_expr(value)
            force_setattr(self, "value", value)
        check_access(self, value.dtype)


@reflected(
    is_graph=False,
    buffer=FieldKind.CHILD,
    value=FieldKind.CHILD,
    indices=FieldKind.CHILDREN,
)
class BufferStore(Stmt, frozen=True, eq=False):
    """Writes a value to a buffer, at indices."""

    buffer: Buffer
    value: Operand
    indices: Operands
    span: Span | None = None

    def __post_init__(self) -> None:
        check_buffer(self, self.buffer)
        convert_fields(self, "value")
        force_setattr(self, "indices", as_prim_exprs(self.indices))
        check_indices(self)


@reflected(
    is_graph=False,
    scopes=("body",),
    bindings=lambda node: node.buffer.declared,
    buffer=FieldKind.CHILD,
    bounds=FieldKind.CHILDREN,
    condition=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class BufferRealize(Stmt, frozen=True, eq=False):
    """Executes `body`, in which a region of a buffer has memory."""

    buffer: Buffer
    bounds: Sequence[Range]
    condition: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        check_buffer(self, self.buffer)
        force_setattr(self, "bounds", tuple(self.bounds))
        convert_fields(self, "condition")
        check_bool(self, self.condition)
        check_body(self, "body")


@reflected(
    is_graph=False,
    scopes=("body",),
    buffer_var=FieldKind.BINDING,
    extents=FieldKind.CHILDREN,
    condition=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class Allocate(Stmt, frozen=True, eq=False):
    """Executes `body`, in which a pointer points to new, uninitialised memory."""

    buffer_var: Var
    dtype: str
    extents: Operands
    condition: Operand
    body: Stmt
    annotations: Mapping[str, Any] | None = DictAttrs({})
    span: Span | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "dtype", checked(self.dtype))
        force_setattr(self, "extents", as_prim_exprs(self.extents))
        if self.condition is None:
            force_setattr(self, "condition", const_true())
        convert_fields(self, "condition")
        check_bool(self, cast("Any", self.condition))
        check_var(self, self.buffer_var)
        pointer = self.buffer_var.type_annotation
        known = (PrimType(self.dtype), PrimType(stored_as(self.dtype)))
        if not isinstance(pointer, PointerType) or pointer.element_type not in known:
            raise IRTypeError(
                f"expected a pointer to {self.dtype} for what is allocated, got "
                f"'{self.buffer_var.name}' of type {pointer or self.buffer_var.dtype}"
            )
        force_setattr(self, "annotations", plain_attrs(self.annotations))
        check_body(self, "body")
