"""Statements that say something of a body: a variable's value, an attribute."""

from __future__ import annotations

from typing import Any

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.node import Node, Role, reflected
from parpass.tir.expr import (
    Var,
    check_bound,
    convert_fields,
)
from parpass.tir.iteration import IterVar
from parpass.tir.prim_expr import (
    Operand,
    StringImm,
    as_prim_expr,
)
from parpass.tir.stmt.stmt_base import Stmt, check_body


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
        check_body(self, "body")


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
        check_body(self, "body")

    @property
    def thread_axis(self) -> IterVar | None:
        """The axis of threads that the body is run over, if it is."""
        is_launch = self.attr_key in ("thread_extent", "virtual_thread")
        return self.node if is_launch and isinstance(self.node, IterVar) else None


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
        check_body(self, "body")
