"""The text of statements.

What holds for the rest of a block, such as `let x: int32 = 1;`, has the rest for its
body. A sequence is what stands in braces; one that is shorter than two statements is
written as `seq { ... }`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from parpass.ir.node import Node
from parpass.ir.text.parts import Part, indent
from parpass.tir.expr import Var
from parpass.tir.iteration import IterVar
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
)
from parpass.tir.text.expr_text import ExprText
from parpass.tir.text.leaf_text import attribute_text
from parpass.tir.text.notation import FOR_WORDS, SIGN_OF
from parpass.tir.text.text_variables import Variables


class StmtText(ExprText):
    """Writes statements."""

    def __init__(self, variables: Variables) -> None:
        super().__init__(variables)
        # Their bodies are the rest of the block that they stand in.
        self._heads: dict[type[Node], Any] = {
            LetStmt: self._let_head,
            AttrStmt: self._attr_head,
            Allocate: self._allocate_head,
            AssertStmt: self._assert_head,
        }
        self._lines: dict[type[Node], Callable[[Any, int], list[Part]]] = {
            Store: self._store,
            BufferStore: self._buffer_store,
            Evaluate: lambda stmt, _: [self.expr(stmt.value), ";"],
            For: self._for,
            While: self._while,
            IfThenElse: self._if,
            BufferRealize: self._realize,
            SeqStmt: self._sequence,
        }

    def block(self, stmt: Stmt, depth: int) -> Part:
        """Return the lines of a block that has a statement."""
        return partial(self._block, stmt, depth)

    def _block(self, stmt: Stmt, depth: int) -> Sequence[Part]:
        if isinstance(stmt, SeqStmt) and len(stmt.seq) > 1:
            return self._items(stmt.seq, depth)
        return self._item(stmt, depth)

    def _items(self, stmts: Sequence[Stmt], depth: int) -> list[Part]:
        last = len(stmts) - 1
        return [
            partial(self._item, stmt, depth, is_last=at == last)
            for at, stmt in enumerate(stmts)
        ]

    def _item(self, stmt: Stmt, depth: int, *, is_last: bool = True) -> list[Part]:
        """Return the lines of one of several statements."""
        head = self._heads.get(type(stmt))
        if head is None:
            write = self._lines.get(type(stmt))
            line = [f"<{type(stmt).__name__}>"] if write is None else write(stmt, depth)
            return [indent(depth), *line, "\n"]
        if not is_last:
            return [indent(depth), *self._braces(stmt, depth), "\n"]
        bound, line = head(stmt)
        body: Any = stmt
        return [
            indent(depth),
            *line,
            ";\n",
            partial(self.variables.enter, bound),
            self.block(body.body, depth),
            partial(self.variables.leave, bound),
        ]

    def _braces(self, stmt: Stmt, depth: int) -> list[Part]:
        return ["{\n", self.block(stmt, depth + 1), indent(depth), "}"]

    def _let_head(self, stmt: LetStmt) -> tuple[tuple[Var, ...], list[Part]]:
        declared = self.variables.declared(stmt.var)
        return (stmt.var,), [f"let {declared} = ", self.expr(stmt.value)]

    def _attr_head(self, stmt: AttrStmt) -> tuple[tuple[Var, ...], list[Part]]:
        node = stmt.node
        shown: Part = "None" if node is None else self.expr(node)
        key = attribute_text(stmt.attr_key)
        bound = (node.var,) if isinstance(node, IterVar) else ()
        return bound, ["attr [", shown, f"] {key} = ", self.expr(stmt.value)]

    def _allocate_head(self, stmt: Allocate) -> tuple[tuple[Var, ...], list[Part]]:
        declared = self.variables.declared(stmt.buffer_var)
        held: list[Part] = []
        if not (isinstance(stmt.condition, IntImm) and stmt.condition.value == 1):
            held = [" if ", self.expr(stmt.condition)]
        return (stmt.buffer_var,), [
            f"allocate({declared}, {stmt.dtype}, [",
            *self.listed(stmt.extents),
            f"]{_annotations(stmt)})",
            *held,
        ]

    def _assert_head(self, stmt: AssertStmt) -> tuple[tuple[Var, ...], list[Part]]:
        return (), ["assert(", *self.listed((stmt.condition, stmt.message)), ")"]

    def _store(self, stmt: Store, _depth: int) -> list[Part]:
        return [*self.pointed_at(stmt), " = ", self.expr(stmt.value), ";"]

    def _buffer_store(self, stmt: BufferStore, _depth: int) -> list[Part]:
        place = self.access(stmt.buffer, stmt.indices)
        return [*place, " = ", self.expr(stmt.value), ";"]

    def _for(self, stmt: For, depth: int) -> list[Part]:
        bound = (stmt.loop_var,)
        thread: list[Part] = []
        if stmt.thread_binding is not None:
            bound = (stmt.loop_var, stmt.thread_binding.var)
            thread = [", thread=", self.expr(stmt.thread_binding)]
        serial = stmt.kind == ForKind.SERIAL
        return [
            f"for ({self.variables.declared(stmt.loop_var)}, ",
            *self.listed((stmt.min, stmt.extent)),
            *thread,
            f"{_annotations(stmt)}) ",
            "" if serial else f'"{FOR_WORDS[stmt.kind]}" ',
            partial(self.variables.enter, bound),
            *self._braces(stmt.body, depth),
            partial(self.variables.leave, bound),
        ]

    def _while(self, stmt: While, depth: int) -> list[Part]:
        return [
            "while ",
            *self._in_parentheses(stmt.condition),
            " ",
            *self._braces(stmt.body, depth),
        ]

    def _if(self, stmt: IfThenElse, depth: int) -> list[Part]:
        then_case = self._braces(stmt.then_case, depth)
        parts = ["if ", *self._in_parentheses(stmt.condition), " ", *then_case]
        if stmt.else_case is not None:
            parts += [" else ", *self._braces(stmt.else_case, depth)]
        return parts

    def _in_parentheses(self, condition: PrimExpr) -> list[Part]:
        if type(condition) in SIGN_OF:  # it has its own
            return [self.expr(condition)]
        return ["(", self.expr(condition), ")"]

    def _realize(self, stmt: BufferRealize, depth: int) -> list[Part]:
        bound = stmt.buffer.declared
        return [
            "realize(",
            self.expr(stmt.buffer),
            ", [",
            *self.listed(stmt.bounds),
            "], ",
            self.expr(stmt.condition),
            ") ",
            partial(self.variables.enter, bound),
            *self._braces(stmt.body, depth),
            partial(self.variables.leave, bound),
        ]

    def _sequence(self, stmt: SeqStmt, depth: int) -> list[Part]:
        word = "" if len(stmt.seq) > 1 else "seq "
        lines = self._items(stmt.seq, depth + 1)
        return [f"{word}{{\n", *lines, indent(depth), "}"]


def _annotations(stmt: Any) -> str:
    if not stmt.annotations:
        return ""
    return f", annotations={attribute_text(stmt.annotations)}"
