"""Statements of loop programs: immutable nodes, under TVM's names and fields."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.node import Node, Role, reflected
from parpass.ir.prim_ty import PointerType, PrimType
from parpass.tir.binary_op import check_bool
from parpass.tir.buffer import Buffer, check_buffer, check_indices, stored_as
from parpass.tir.data_type import checked, data_type
from parpass.tir.expr import (
    Var,
    check_access,
    check_bound,
    check_var,
    const_true,
    convert_fields,
)
from parpass.tir.iteration import IterVar, Range
from parpass.tir.prim_expr import (
    FloatImm,
    IntImm,
    Operand,
    Operands,
    PrimExpr,
    StringImm,
    as_prim_expr,
    as_prim_exprs,
)


class Stmt(Node, frozen=True, eq=False):
    """The base of statements."""

    namespace: ClassVar[str] = "tir"


def _check_body(node: Stmt, *fields: str) -> None:
    for name in fields:
        body = getattr(node, name)
        if not isinstance(body, Stmt):
            raise IRTypeError(
                f"expected a statement for {type(node).__name__}.{name}, got "
                f"{type(body).__name__}"
            )


def _check_scalar(node: Stmt, *fields: str) -> None:
    for name in fields:
        dtype = getattr(node, name).dtype
        if data_type(dtype).lanes != 1:
            raise IRTypeError(
                f"expected a scalar for {type(node).__name__}.{name}, got {dtype}"
            )


def plain(value: Any) -> Any:
    """Return what annotations may hold for a value: constants become Python's."""
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, FloatImm | StringImm):
        return value.value
    if isinstance(value, tuple | list):
        return tuple([plain(one) for one in cast("list[Any]", value)])
    return value


def plain_attrs(attrs: Mapping[str, Any] | None) -> DictAttrs:
    """Return annotations of a statement, or attributes of a function."""
    if type(attrs) is DictAttrs:
        return attrs
    return DictAttrs({key: plain(value) for key, value in (attrs or {}).items()})


@reflected(
    is_graph=False, scopes=1, var=Role.BINDING, value=Role.CHILD, body=Role.CHILD
)
class LetStmt(Stmt, frozen=True, eq=False):
    """`body`, in which a variable has a value."""

    var: Var
    value: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        check_bound(self, self.var, self.value)
        _check_body(self, "body")


@reflected(
    is_graph=False, scopes=1, node=Role.OPTIONAL, value=Role.CHILD, body=Role.CHILD
)
class AttrStmt(Stmt, frozen=True, eq=False):
    """`body`, of which something is said: by a key and a value, of a node or of all."""

    node: Any
    attr_key: str
    value: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        if self.node is not None and not isinstance(self.node, Node):
            force_setattr(self, "node", as_prim_expr(self.node))
        convert_fields(self, "value")
        _check_body(self, "body")


@reflected(
    is_graph=False,
    scopes=1,
    condition=Role.CHILD,
    message=Role.CHILD,
    body=Role.CHILD,
)
class AssertStmt(Stmt, frozen=True, eq=False):
    """`body`, before which a condition must hold."""

    condition: Operand
    message: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "condition", "message")
        if self.message.dtype != "int32" and not isinstance(self.message, StringImm):
            raise IRTypeError(
                "expected an int or a string for the message of AssertStmt, got "
                f"{self.message.dtype}"
            )
        _check_body(self, "body")


class ForKind(enum.IntEnum):
    """How the rounds of a loop are run; the numbers are TVM's."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@reflected(
    is_graph=False,
    scopes=1,
    loop_var=Role.BINDING,
    min=Role.CHILD,
    extent=Role.CHILD,
    body=Role.CHILD,
    thread_binding=Role.OPTIONAL,
)
class For(Stmt, frozen=True, eq=False):
    """`body` for each value of `loop_var` from `min` on, `extent` times."""

    loop_var: Var
    min: Operand
    extent: Operand
    kind: int
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Mapping[str, Any] | None = DictAttrs({})
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "min", "extent")
        check_var(self, self.loop_var)
        _check_scalar(self, "loop_var", "min", "extent")
        if self.kind not in ForKind.__members__.values():
            raise IRTypeError(f"expected a ForKind for a loop, got {self.kind!r:.40}")
        force_setattr(self, "kind", int(self.kind))
        force_setattr(self, "annotations", plain_attrs(self.annotations))
        _check_body(self, "body")


@reflected(is_graph=False, scopes=1, condition=Role.CHILD, body=Role.CHILD)
class While(Stmt, frozen=True, eq=False):
    """`body`, again and again, as long as a condition holds before it."""

    condition: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "condition")
        _check_scalar(self, "condition")
        if isinstance(self.condition, IntImm):
            raise IRTypeError(
                "expected a condition that can change for While, got a constant"
            )
        _check_body(self, "body")


@reflected(
    is_graph=False,
    buffer_var=Role.CHILD,
    value=Role.CHILD,
    index=Role.CHILD,
    predicate=Role.CHILD,
)
class Store(Stmt, frozen=True, eq=False):
    """Puts a value where a pointer has an index, if the predicate holds."""

    buffer_var: Var
    value: Operand
    index: Operand
    predicate: Operand = cast("Any", None)
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value", "index")
        check_access(self, self.value.dtype)


@reflected(is_graph=False, buffer=Role.CHILD, value=Role.CHILD, indices=Role.CHILDREN)
class BufferStore(Stmt, frozen=True, eq=False):
    """Puts a value in a buffer, at indices."""

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
    scopes=1,
    bindings=lambda node: node.buffer.declared,
    buffer=Role.CHILD,
    bounds=Role.CHILDREN,
    condition=Role.CHILD,
    body=Role.CHILD,
)
class BufferRealize(Stmt, frozen=True, eq=False):
    """`body`, in which a buffer has memory for a region."""

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
        _check_body(self, "body")


@reflected(
    is_graph=False,
    scopes=1,
    buffer_var=Role.BINDING,
    extents=Role.CHILDREN,
    condition=Role.CHILD,
    body=Role.CHILD,
)
class Allocate(Stmt, frozen=True, eq=False):
    """`body`, in which a pointer points to new memory, its values undefined."""

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
        _check_body(self, "body")


@reflected(is_graph=False, seq=Role.CHILDREN)
class SeqStmt(Stmt, frozen=True, eq=False):
    """Statements, one after the other."""

    seq: Sequence[Stmt]
    span: Span | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "seq", tuple(self.seq))
        for one in cast("tuple[Any, ...]", self.seq):
            if not isinstance(one, Stmt):
                raise IRTypeError(
                    f"expected statements for SeqStmt, got {type(one).__name__}"
                )

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)


@reflected(
    is_graph=False,
    scopes=2,
    condition=Role.CHILD,
    then_case=Role.CHILD,
    else_case=Role.OPTIONAL,
)
class IfThenElse(Stmt, frozen=True, eq=False):
    """One of two statements, or one or none."""

    condition: Operand
    then_case: Stmt
    else_case: Stmt | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "condition")
        _check_body(self, "then_case")
        if self.else_case is not None:
            _check_body(self, "else_case")


@reflected(is_graph=False, value=Role.CHILD)
class Evaluate(Stmt, frozen=True, eq=False):
    """An expression, evaluated for what it does."""

    value: Operand
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")


def stmt_seq(*args: PrimExpr | Stmt) -> Stmt:
    """Return statements, one after the other, as one; expressions are evaluated."""
    found = [one if isinstance(one, Stmt) else Evaluate(one) for one in args]
    return found[0] if len(found) == 1 else SeqStmt(tuple(found))


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements that come one after the other in one, in order."""
    found: list[Stmt] = []
    stack = [stmt]
    while stack:
        one = stack.pop()
        if isinstance(one, SeqStmt):
            stack += reversed(one.seq)
        else:
            found.append(one)
    return found
