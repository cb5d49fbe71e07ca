"""The text of functions and statements.

What holds for the rest of a block, such as `let x: int32 = 1;`, has the rest for its
body. A sequence is what stands in braces; one that is shorter than two statements is
written as `seq { ... }`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from parpass.ir.dialect import FunctionPrinter
from parpass.ir.node import Node, bindings, children, post_order
from parpass.ir.node.tree_size import check_tree_size
from parpass.ir.text.literals import name_text
from parpass.ir.text.printer import Part, indent, render_parts
from parpass.ir.types import VOID
from parpass.tir.expr import Buffer, IntImm, IterVar, PrimExpr, Var
from parpass.tir.expr.buffer import ALIGNMENT
from parpass.tir.function import PrimFunc
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
from parpass.tir.text.expr_printer import (
    ExprPrinter,
    PrintedNames,
    attribute_text,
    loop_type_text,
)
from parpass.tir.text.notation import FOR_WORDS, SIGN_OF


class StmtPrinter(ExprPrinter):
    """Writes statements."""

    def __init__(self, variables: PrintedNames) -> None:
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


# How many places more than nodes a text may have: about a second of writing.
_MOST_COPIES = 2**20


def loop_text(node: Node, name: str = "") -> str:
    """Return a node as text; a function as that of a global name, if one is given.

    Raises:
        SizeLimitError: Nodes would be written too often, as many others share them.
    """
    check_tree_size(
        *(node, children, "nodes in a text"),
        "save_json keeps shared what is shared",
        _MOST_COPIES,
    )
    if isinstance(node, PrimFunc):
        return _OneFunctionPrinter(node).text(f"@{name} = " if name else "")
    writer = StmtPrinter(PrintedNames(declares_loose=True))
    if isinstance(node, Stmt):
        return render_parts([writer.block(node, 0)])
    return render_parts([writer.expr(node)])


class LoopPrinter(FunctionPrinter):
    """Writes PrimFuncs in the text of a module."""

    def function(self, name: str, function: PrimFunc) -> str:
        """Return `@main = primfn(...) ... { ... }`."""
        return loop_text(function, name_text(name))


class _OneFunctionPrinter(StmtPrinter):
    """Writes a function: the body first, so that it is known what its head is to say.

    That tells of the function's buffers, and of variables that are one wherever they
    are bound. The others are declared where they are bound, or by the first buffer
    that has them.
    """

    def __init__(self, function: PrimFunc) -> None:
        super().__init__(PrintedNames())
        self._function = function
        self._declared: set[Var] | None = None  # by the head, while that is written

    def text(self, head: str) -> str:
        """Return the text, which begins with a head."""
        function, variables = self._function, self.variables
        for buffer in function.buffer_map.values():
            variables.buffer(buffer)
        params = [variables.declared(param) for param in function.params]
        own = tuple(dict.fromkeys(bindings(function)))
        variables.enter(own)
        body = render_parts([self.block(function.body, 1)])
        variables.leave(own)
        loose, buffers = self._loose_and_buffers()
        pairs = [
            render_parts([self.expr(param), ": ", self.expr(buffer)])
            for param, buffer in function.buffer_map.items()
        ]
        clauses = [
            f"attr = {attribute_text(function.attrs)}" if function.attrs else "",
            _clause("vars", map(variables.declared, loose)),
            _clause("buffers", buffers, ",\n" + " " * len("  buffers = {")),
            _clause("buffer_map", pairs),
        ]
        told = "".join(f"\n  {clause}" for clause in clauses if clause)
        result = loop_type_text(function.ret_type or VOID)
        return f"{head}primfn({', '.join(params)}) -> {result}{told} {{\n{body}}}\n"

    def _loose_and_buffers(self) -> tuple[Sequence[Var], list[str]]:
        """Return the variables to be declared, and the text of buffers."""
        variables, in_body = self.variables, {*self.variables.bound}
        while True:
            loose = tuple(variables.loose)
            self._declared = {*self._function.params, *loose}
            buffers = self._buffers()
            # There may be lets in shapes, in which more such variables are found.
            for var in variables.bound:
                if var in self._declared and var not in in_body:
                    variables.loose[var] = None
            if len(loose) == len(variables.loose):
                return loose, buffers

    def _buffers(self) -> list[str]:
        """Return what buffers are, after those that are read in their shapes."""
        ordered = {
            node: None
            for buffer in self.variables.buffers
            for node in post_order(buffer)
            if isinstance(node, Buffer)
        }
        return [render_parts(self._declaration(buffer)) for buffer in ordered]

    def _declaration(self, buffer: Buffer) -> list[Part]:
        parts: list[Part] = [
            f"{self.variables.buffer(buffer)}: Buffer(",
            self.expr(buffer.data),
            f", {buffer.dtype}, [",
            *self.listed(buffer.shape),
            "], [",
            *self.listed(buffer.strides),
            "]",
        ]
        offset: Any = buffer.elem_offset
        is_usual = isinstance(offset, IntImm) and offset.dtype == buffer.index_dtype
        if not is_usual or offset.value:
            parts += [", elem_offset=", self.expr(offset)]
        if buffer.data_alignment != ALIGNMENT:
            parts.append(f", align={buffer.data_alignment}")
        if buffer.offset_factor != 1:
            parts.append(f", offset_factor={buffer.offset_factor}")
        if buffer.buffer_type:
            parts.append(f", type={json.dumps(buffer.buffer_type)}")
        return [*parts, ")"]

    def _var(self, var: Var) -> list[Part]:
        if self._declared is None:
            return super()._var(var)
        if var in self._declared or self.variables.is_bound(var):
            return [self.variables.name(var)]
        self._declared.add(var)
        return [self.variables.declared(var)]


def _clause(word: str, items: Iterable[str], between: str = ", ") -> str:
    """Return a clause of a function's head; nothing if it would be empty."""
    shown = between.join(items)
    return f"{word} = {{{shown}}}" if shown else ""
