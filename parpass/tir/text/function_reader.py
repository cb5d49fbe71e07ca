"""Reads functions: a head with parameters, variables and buffers, and a body."""

from __future__ import annotations

from functools import partial
from typing import Any

from parpass.ir.node_map import NodeMap
from parpass.ir.text.cursor import Cursor
from parpass.ir.text.environment import Environment
from parpass.ir.text.global_names import GlobalNames
from parpass.ir.text.problems import Problems
from parpass.tir.buffer import Buffer
from parpass.tir.expr import Var
from parpass.tir.function import PrimFunc
from parpass.tir.text.grammar_rules import Rule, followed
from parpass.tir.text.stmt_reader import StmtReader


class FunctionReader(StmtReader):
    """Reads functions, one after the other."""

    def __init__(self, problems: Problems, global_names: GlobalNames) -> None:
        super().__init__(problems, global_names)
        # The variables that buffers declare; None where none is declared so.
        self._in_head: dict[str, Var] | None = None

    def function(self, cursor: Cursor) -> PrimFunc:
        """Read a function, of which `primfn` comes next.

        Args:
            cursor: Where it is; goes on behind it.
        """
        self.go_on_from(cursor)
        self.forget()
        function = followed(self._function(self.at))
        cursor.at = self.at
        return function

    def forget(self) -> None:
        """Forget the names of the last function."""
        self.names = Environment()
        self.known.clear()
        self._in_head = None

    def meaning(self) -> Var | Buffer:
        """Read a name that is in scope; in a head, one may be declared by its type."""
        in_head, at = self._in_head, self.at
        if in_head is None or self.texts[at + 1] != ":":
            return super().meaning()
        name = self.variable_name("a variable")
        found = self.names.meanings.get(name)
        if found is None:
            self.at = at
            found = in_head[name] = self.declaration()
            self.names.meanings[name] = found  # in all scopes
        return found

    def _function(self, begin: int) -> Rule:
        self.at = begin + 1
        params = self._params()
        self.expect("->")
        ret_type = self.type()
        attrs = self.mapping() if self._clause("attr") else None
        if self._clause("vars"):
            yield self._entries(self._variable)
        declared = self._in_head = {}
        if self._clause("buffers"):
            yield self._entries(self._buffer)
        buffer_map: dict[Var, Buffer] = {}
        if self._clause("buffer_map"):
            yield self._entries(partial(self._mapped, buffer_map))
        self._in_head = None
        bound = {var for buffer in buffer_map.values() for var in buffer.declared}
        self.known |= {n: var for n, var in declared.items() if var not in bound}
        body = yield self.block()
        fields = (tuple(params), body, ret_type, NodeMap(buffer_map), attrs)
        return self.made(PrimFunc, begin, *fields)

    def _params(self) -> list[Var]:
        self.expect("(")
        params: list[Var] = []
        while not self.is_next(")"):
            at = self.at
            var = self.declaration("a parameter such as a: handle, or ')'")
            if var.name in self.names.meanings:
                message = f"parameter '{var.name}' is given twice"
                self.refuse(self.span(at, at), message)
            self.names.bind(var.name, var)
            params.append(var)
            if not self.is_next(",") and self.texts[self.at] != ")":
                self.fail("')' or ','")
        return params

    def _clause(self, word: str) -> bool:
        """Go over `attr =` or such if that comes next; return whether it did."""
        found = self.texts[self.at] == word and self.texts[self.at + 1] == "="
        self.at += 2 * found
        return found

    def _entries(self, entry: Any) -> Rule:
        """Read what stands in braces, with commas between."""
        self.expect("{")
        while not self.is_next("}"):
            yield entry()
            if not self.is_next(",") and self.texts[self.at] != "}":
                self.fail("',' or '}'")

    def _variable(self) -> Rule:
        """Read a variable that is one wherever it is bound; it may be a parameter."""
        begin = self.at
        var = self.declaration("a variable such as i: int32, or '}'")
        found = self.names.meanings.get(var.name)
        if var.name not in self.known and isinstance(found, Var):
            self.known[var.name] = found
            self.at = begin
            self.declaration()  # which checks the type
        self.known.setdefault(var.name, var)
        self.names.bind(var.name, self.known[var.name])
        return
        yield  # a rule all the same

    def _buffer(self) -> Rule:
        begin = self.at
        name = self.variable_name("a buffer such as A: Buffer(...), or '}'")
        if name in self.names.meanings:
            self.refuse(self.span(begin, begin), f"'{name}' is declared twice")
        self.expect(":")
        self.expect("Buffer")
        self.expect("(")
        data = self.meaning()
        self.expect(",")
        dtype = self.dtype()
        self.expect(",")
        shape = yield self.in_brackets()
        self.expect(",")
        strides = yield self.in_brackets()
        others: dict[str, Any] = {}
        while self.is_next(","):
            yield self._option(others)
        self.expect(")", "',' or ')'")
        fields = (data, dtype, shape, strides)
        self.names.bind(name, self.made(Buffer, begin, *fields, name=name, **others))

    def _option(self, others: dict[str, Any]) -> Rule:
        """Read what is not as usual in a buffer."""
        at = self.at
        word = self.texts[at]
        if word not in _OPTIONS or _OPTIONS[word] in others:
            left = [one for one, field in _OPTIONS.items() if field not in others]
            self.fail(f"one of {', '.join(left)}" if left else "')'")
        self.at = at + 1
        self.expect("=")
        if word == "elem_offset":
            value = yield self.expr()
        else:
            value = self.string() if word == "type" else self.int("a number")
        others[_OPTIONS[word]] = value

    def _mapped(self, buffer_map: dict[Var, Buffer]) -> Rule:
        at = self.at
        param = self.meaning()
        self.expect(":")
        place = self.at
        buffer = self.meaning()
        if not isinstance(param, Var) or not isinstance(buffer, Buffer):
            message = "expected a variable and the buffer that it is"
            self.refuse(self.span(at, place), message)
        buffer_map[param] = buffer
        return
        yield  # a rule all the same


_OPTIONS = {
    "elem_offset": "elem_offset",
    "align": "data_alignment",
    "offset_factor": "offset_factor",
    "type": "buffer_type",
}
