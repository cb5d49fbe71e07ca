"""Reads statements; `stmt_text.py` tells which have the rest of a block as a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.ir.text.cursor import is_name, is_variable
from parpass.ir.text.global_names import GlobalNames
from parpass.ir.text.infix import Operand
from parpass.ir.text.problems import Problems
from parpass.tir.buffer import Buffer
from parpass.tir.iteration import IterVar
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
from parpass.tir.text.expr_reader import ExprReader
from parpass.tir.text.grammar_rules import Rule
from parpass.tir.text.notation import FOR_KINDS, RESERVED


class StmtReader(ExprReader):
    """Reads statements; each method that gives a rule reads one kind of them."""

    def __init__(self, problems: Problems, global_names: GlobalNames) -> None:
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
        self.names.close()
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
        self.names.close()
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
        self.names.close()
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
        self.names.close()
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
