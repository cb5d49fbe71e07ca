"""Statements: loops, branches, sequences, variables, attributes, assertions."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import force_setattr

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.attrs import DictAttrs
from parpass.ir.node import FieldKind, Node, post_order, reflected
from parpass.tir.expr import (
    IntImm,
    IterVar,
    Operand,
    PrimExpr,
    StringImm,
    Var,
    as_prim_expr,
    check_bound,
    check_var,
    convert_fields,
)
from parpass.tir.stmt.stmt_base import (
    STMT_KINDS,
    Stmt,
    check_body,
    check_scalar,
    plain_attrs,
)


class ForKind(enum.IntEnum):
    """The kind of a loop, which says how its iterations run; the numbers are TVM's."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


_KINDS = frozenset(map(int, ForKind))


@reflected(
    is_graph=False,
    scopes=("body",),
    loop_var=FieldKind.BINDING,
    min=FieldKind.CHILD,
    extent=FieldKind.CHILD,
    body=FieldKind.CHILD,
    thread_binding=FieldKind.OPTIONAL,
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


@reflected(
    is_graph=False,
    scopes=("body",),
    condition=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class While(Stmt, frozen=True, eq=False):
    """Repeats `body` while a condition holds; it is checked before each iteration."""

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


@reflected(is_graph=False, seq=FieldKind.CHILDREN)
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
    scopes=("then_case", "else_case"),
    condition=FieldKind.CHILD,
    then_case=FieldKind.CHILD,
    else_case=FieldKind.OPTIONAL,
)
class IfThenElse(Stmt, frozen=True, eq=False):
    """Executes one of two statements, or one or none."""

    condition: Operand
    then_case: Stmt
    else_case: Stmt | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "condition")
        check_body(self, "then_case")
        if self.else_case is not None:
            check_body(self, "else_case")


@reflected(is_graph=False, value=FieldKind.CHILD)
class Evaluate(Stmt, frozen=True, eq=False):
    """Evaluates an expression for its effect."""

    value: Operand
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")


@reflected(
    is_graph=False,
    scopes=("body",),
    var=FieldKind.BINDING,
    value=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class LetStmt(Stmt, frozen=True, eq=False):
    """Executes `body`, in which a variable is bound to a value."""

    var: Var
    value: Operand
    body: Stmt
    span: Span | None = None

    def __post_init__(self) -> None:
        convert_fields(self, "value")
        check_bound(self, self.var, self.value)
        check_body(self, "body")


@reflected(
    is_graph=False,
    scopes=("body",),
    node=FieldKind.OPTIONAL,
    value=FieldKind.CHILD,
    body=FieldKind.CHILD,
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
        """The axis of threads that runs the body, if any."""
        is_launch = self.attr_key in ("thread_extent", "virtual_thread")
        return self.node if is_launch and isinstance(self.node, IterVar) else None


@reflected(
    is_graph=False,
    scopes=("body",),
    condition=FieldKind.CHILD,
    message=FieldKind.CHILD,
    body=FieldKind.CHILD,
)
class AssertStmt(Stmt, frozen=True, eq=False):
    """Executes `body` after checking that a condition holds."""

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


# A sequence of more statements that is used several times stays one: laid out at each
# of its places, sixty sequences of two would be 2**60 statements.
_SHORT = 64


def stmt_seq(*args: PrimExpr | Stmt) -> Stmt:
    """Return several statements as one sequence; expressions are evaluated."""
    found = [one if isinstance(one, Stmt) else Evaluate(one) for one in args]
    return found[0] if len(found) == 1 else SeqStmt(tuple(found))


def is_no_op(stmt: Stmt | None) -> bool:
    """Return whether a statement only evaluates a constant, and so has no effect."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence, in order.

    Nested sequences are flattened. One with more than 64 statements that is used
    several times stays a single statement.
    """
    if not isinstance(stmt, SeqStmt):
        return [stmt]
    return Sequences(stmt, _sequences_in).laid_out(stmt)


def _sequences_in(stmt: Stmt) -> Sequence[Stmt]:
    found = stmt.seq if isinstance(stmt, SeqStmt) else ()
    return [one for one in found if isinstance(one, SeqStmt)]


class Sequences:
    """The sequences in a statement, each of which is laid out where it is used once.

    Args:
        root: The statement.
        below: Returns the statements in one that are looked at.
    """

    def __init__(self, root: Stmt, below: Callable[[Any], Sequence[Stmt]]) -> None:
        order: list[Any] = post_order(root, below)
        uses = Counter(one for stmt in order for one in below(stmt))
        self._whole: set[Stmt] = set()  # those that stay one statement
        lengths: dict[Stmt, int] = {}
        for stmt in order:
            if isinstance(stmt, SeqStmt):
                length = sum([lengths.get(one, 1) for one in stmt.seq])
                if length > _SHORT and uses[stmt] > 1:
                    self._whole.add(stmt)
                else:
                    lengths[stmt] = length

    def laid_out(self, seq: SeqStmt) -> list[Stmt]:
        """Return the statements of a sequence, and of those in it that are laid out."""
        found: list[Stmt] = []
        stack = [*reversed(seq.seq)]
        while stack:
            one = stack.pop()
            if isinstance(one, SeqStmt) and one not in self._whole:
                stack += reversed(one.seq)
            else:
                found.append(one)
        return found
