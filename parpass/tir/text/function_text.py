"""The text of functions, and of whatever else a loop program is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from parpass.errors import SizeLimitError
from parpass.ir.node import Node, bindings, post_order, size_as_tree
from parpass.ir.tenants import FunctionPrinter
from parpass.ir.text.names import name_text
from parpass.ir.text.parts import Part, written
from parpass.ir.types.prim_ty import VOID
from parpass.tir.buffer import ALIGNMENT, Buffer
from parpass.tir.expr import Var
from parpass.tir.function import PrimFunc
from parpass.tir.prim_expr import IntImm
from parpass.tir.stmt import Stmt
from parpass.tir.text.leaf_text import attribute_text, loop_type_text
from parpass.tir.text.stmt_text import StmtText
from parpass.tir.text.text_variables import Variables

_MOST_NODES = 2**23  # in a text


def loop_text(node: Node, name: str = "") -> str:
    """Return a node as text; a function as that of a global name, if one is given.

    Raises:
        SizeLimitError: Nodes would be written too often, as many others share them.
    """
    _check_size(node)
    if isinstance(node, PrimFunc):
        return _FunctionText(node).text(f"@{name} = " if name else "")
    writer = StmtText(Variables(declares_loose=True))
    if isinstance(node, Stmt):
        return written([writer.block(node, 0)])
    return written([writer.expr(node)])


class LoopPrinter(FunctionPrinter):
    """Writes PrimFuncs in the text of a module."""

    def function(self, name: str, function: PrimFunc) -> str:
        """Return `@main = primfn(...) ... { ... }`."""
        return loop_text(function, name_text(name))


def _check_size(root: Node) -> None:
    """Check how large a node is as a tree, which may be far more than it has nodes."""
    if size_as_tree(root) > _MOST_NODES:
        raise SizeLimitError(
            f"expected at most {_MOST_NODES} nodes in a text, each counted wherever it "
            "is used; save_json keeps shared what is shared"
        )


class _FunctionText(StmtText):
    """Writes a function: the body first, so that it is known what its head is to say.

    That tells of the function's buffers, and of variables that are one wherever they
    are bound. The others are declared where they are bound, or by the first buffer
    that has them.
    """

    def __init__(self, function: PrimFunc) -> None:
        super().__init__(Variables())
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
        body = written([self.block(function.body, 1)])
        variables.leave(own)
        loose, buffers = self._loose_and_buffers()
        pairs = [
            written([self.expr(param), ": ", self.expr(buffer)])
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
        """Return which variables are to be told of, and what buffers are."""
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
        return [written(self._declaration(buffer)) for buffer in ordered]

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
