"""Loops, branches and sequences."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.node import Role, reflected
from parpass.tir.expr import (
    Var,
    check_var,
    convert_fields,
)
from parpass.tir.iteration import IterVar
from parpass.tir.prim_expr import (
    IntImm,
    Operand,
    PrimExpr,
)
from parpass.tir.stmt.stmt_base import (
    STMT_KINDS,
    Stmt,
    check_body,
    check_scalar,
    plain_attrs,
)


class ForKind(enum.IntEnum):
    """How the rounds of a loop are run; the numbers are TVM's."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


_KINDS = frozenset(map(int, ForKind))


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
        check_scalar(self, "loop_var", "min", "extent")
        if type(self.kind) is not int or self.kind not in _KINDS:
            self._take_kind(self.kind)
        if type(self.annotations) is not DictAttrs:
            force_setattr(self, "annotations", plain_attrs(self.annotations))
        check_body(self, "body")

    def _take_kind(self, kind: object) -> None:
        if kind not in ForKind.__members__.values():
            raise IRTypeError(f"expected a ForKind for a loop, got {kind!r:.40}")
        force_setattr(self, "kind", int(cast("ForKind", kind)))


@reflected(is_graph=False, scopes=1, condition=Role.CHILD, body=Role.CHILD)
class While(Stmt, frozen=True, eq=False):
    """`body`, again and again, as long as a condition holds before it."""

    condition: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "condition")
        check_scalar(self, "condition")
        if isinstance(self.condition, IntImm):
            raise IRTypeError(
                "expected a condition that can change for While, got a constant"
            )
        check_body(self, "body")


@reflected(is_graph=False, seq=Role.CHILDREN)
class SeqStmt(Stmt, frozen=True, eq=False):
    """Statements, one after the other."""

    seq: Sequence[Stmt]
    span: Span | None = None

    def __post_init__(self) -> None:
        given = cast("Any", self.seq)
        if type(given) is not tuple:
            force_setattr(self, "seq", tuple(given))
        for one in cast("tuple[Any, ...]", self.seq):
            if type(one) not in STMT_KINDS:
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
        check_body(self, "then_case")
        if self.else_case is not None:
            check_body(self, "else_case")


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
