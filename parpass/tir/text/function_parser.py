"""Parsers of functions and of statements.

A function is a head with parameters, variables and buffers, and a body. Statements such
as `let` have the rest of their block for a body.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from parpass.ir.text.cursor import Cursor, is_name, is_variable
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.grammar_rules import Rule, run_rule
from parpass.ir.text.precedence import Operand
from parpass.ir.text.symbols import GlobalSymbols, SymbolTable
from parpass.tir.expr import Buffer, IterVar, Var
from parpass.tir.function import NodeMap, PrimFunc
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
from parpass.tir.text.expr_parser import ExprParser
from parpass.tir.text.notation import FOR_KINDS, RESERVED


class StmtParser(ExprParser):
    """Reads statements; each method that gives a rule reads one kind of them."""

    def __init__(self, problems: ErrorList, global_names: GlobalSymbols) -> None:
        super().__init__(problems, global_names)
        self._statements: dict[str, Callable[[int], Rule]] = {
            "let": self._let_stmt,
            "attr": self._attr,
            "allocate": self._allocate,
            "assert": self._assert,
            "for": self._for,
            "while": self._while,
            "if": self._if,
            "realize": self._realize,
            "seq": self._sequence,
            "{": self._braces,
        }

    def block(self) -> Rule:
        """Read what stands in braces."""
        self.expect("{")
        body = yield self._rest()
        self.at += 1
        return body

    def _rest(self) -> Rule:
        """Read the rest of a block, up to the brace that closes it."""
        begin = self.at
        found = yield self._several()
        if not found:
            self.fail("a statement")
        return found[0] if len(found) == 1 else self.made(SeqStmt, begin, found)

    def _several(self) -> Rule:
        found: list[Stmt] = []
        while self.texts[self.at] != "}":
            begin = self.at
            rule = self._statements.get(self.texts[begin])
            if rule is None:
                found.append((yield self._simple(begin)))
            else:
                self.at = begin + 1
                found.append((yield rule(begin)))
        return found

    def _braces(self, begin: int) -> Rule:
        self.at = begin
        return (yield self.block())

    def _sequence(self, begin: int) -> Rule:
        self.expect("{")
        found = yield self._several()
        self.at += 1
        return self.made(SeqStmt, begin, found)

    def _simple(self, begin: int) -> Rule:
        """Read a store, or an expression that is evaluated."""
        first = None
        if self.texts[begin + 1] == "[" and self._is_variable(begin):
            place = self.meaning()
            self.at += 1
            if not isinstance(place, Buffer):
                return (yield self._store(begin, place))
            indices = yield self.listed("]")
            if self.is_next("="):
                value = yield self.expr()
                self._end()
                return self.made(BufferStore, begin, place, value, indices)
            first = Operand(self.loaded(begin, place, indices), begin)
        elif not self._begins_expr(begin):
            self.fail("a statement or '}'")
        value = yield self.expr(first)
        self._end()
        return self.made(Evaluate, begin, value)

    def _is_variable(self, at: int) -> bool:
        token = self.texts[at]
        return is_variable(token) or (is_name(token) and token not in RESERVED)

    def _begins_expr(self, at: int) -> bool:
        token = self.texts[at]
        is_leaf = self._is_variable(at) or token in {"True", "False"}
        return is_leaf or token[:1] in {*'(@"!-'} or self.is_number(at)

    def _end(self) -> None:
        self.expect(";", "an operator or ';'")

    def _store(self, begin: int, pointer: Any) -> Rule:
        index, predicate = yield self.pointed_at()
        self.expect("=")
        value = yield self.expr()
        self._end()
        return self.made(Store, begin, pointer, value, index, predicate)

    def _let_stmt(self, begin: int) -> Rule:
        var = self.declaration()
        self.expect("=")
        value = yield self.expr()
        self._end()
        self.enter(var)
        body = yield self._rest()
        self.names.pop_scope()
        return self.made(LetStmt, begin, var, value, body)

    def _attr(self, begin: int) -> Rule:
        self.expect("[")
        node = None
        if not self.is_next("None"):
            node = yield self.expr()
        self.expect("]", "an operator or ']'")
        key = self.string()
        self.expect("=")
        value = yield self.expr()
        self._end()
        self.enter(*((node.var,) if isinstance(node, IterVar) else ()))
        body = yield self._rest()
        self.names.pop_scope()
        return self.made(AttrStmt, begin, node, key, value, body)

    def _allocate(self, begin: int) -> Rule:
        self.expect("(")
        var = self.declaration("a pointer such as A: Pointer(float32)")
        self.expect(",")
        dtype = self.dtype()
        self.expect(",")
        extents = yield self.in_brackets()
        annotations = self._annotations()
        self.expect(")", "',' or ')'")
        condition = None
        if self.is_next("if"):
            condition = yield self.expr()
        self.expect(";", "'if' or ';'" if condition is None else "an operator or ';'")
        self.enter(var)
        body = yield self._rest()
        self.names.pop_scope()
        fields = (var, dtype, extents, condition, body)
        return self.made(Allocate, begin, *fields, annotations=annotations)

    def _annotations(self) -> Any:
        """Read `, annotations={"k": 1}` if that comes next."""
        at = self.at
        if self.texts[at] != "," or self.texts[at + 1] != "annotations":
            return {}
        self.at += 2
        self.expect("=")
        return self.mapping()

    def _assert(self, begin: int) -> Rule:
        self.expect("(")
        condition = yield self.expr()
        self.expect(",", "an operator or ','")
        message = yield self.expr()
        self.expect(")", "an operator or ')'")
        self.expect(";")
        body = yield self._rest()
        return self.made(AssertStmt, begin, condition, message, body)

    def _for(self, begin: int) -> Rule:
        self.expect("(")
        var = self.declaration()
        self.expect(",")
        minimum = yield self.expr()
        self.expect(",", "an operator or ','")
        extent = yield self.expr()
        thread = None
        if self.texts[self.at] == "," and self.texts[self.at + 1] == "thread":
            self.at += 2
            self.expect("=")
            thread = yield self.expr()
        annotations = self._annotations()
        self.expect(")", "an operator, ',' or ')'")
        kind = self._for_kind()
        self.enter(var, *((thread.var,) if isinstance(thread, IterVar) else ()))
        body = yield self.block()
        self.names.pop_scope()
        fields = (var, minimum, extent, kind, body, thread)
        return self.made(For, begin, *fields, annotations=annotations)

    def _for_kind(self) -> ForKind:
        at = self.at
        if self.texts[at] == "{":
            return ForKind.SERIAL
        if self.texts[at][:1] != '"':
            self.fail("'{' or the kind of a loop, such as \"parallel\"")
        word = self.string()
        if word not in FOR_KINDS:
            self.refuse_unknown(at, "kind of loop named", word, FOR_KINDS)
        return FOR_KINDS[word]

    def _while(self, begin: int) -> Rule:
        condition = yield self._condition()
        body = yield self.block()
        return self.made(While, begin, condition, body)

    def _if(self, begin: int) -> Rule:
        condition = yield self._condition()
        then_case = yield self.block()
        else_case = None
        if self.is_next("else"):
            else_case = yield self.block()
        return self.made(IfThenElse, begin, condition, then_case, else_case)

    def _condition(self) -> Rule:
        self.expect("(")
        condition = yield self.expr()
        self.expect(")", "an operator or ')'")
        return condition

    def _realize(self, begin: int) -> Rule:
        self.expect("(")
        buffer = self.meaning()
        self.expect(",")
        bounds = yield self.in_brackets()
        self.expect(",")
        condition = yield self.expr()
        self.expect(")", "an operator or ')'")
        body = yield self.block()
        return self.made(BufferRealize, begin, buffer, bounds, condition, body)


class FunctionParser(StmtParser):
    """Reads functions, one after the other."""

    def __init__(self, problems: ErrorList, global_names: GlobalSymbols) -> None:
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
        function = run_rule(self._function(self.at))
        cursor.at = self.at
        return function

    def forget(self) -> None:
        """Forget the names of the last function."""
        self.names = SymbolTable()
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
