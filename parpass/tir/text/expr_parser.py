"""Reads expressions, and what else statements have: axes, ranges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from parpass.diagnostic import Span
from parpass.errors import IRTypeError
from parpass.ir.op.op_table import Op
from parpass.ir.text.cursor import is_name, is_string, is_variable
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.grammar_rules import Rule
from parpass.ir.text.precedence import Operand, Operator, PrecedenceParser
from parpass.ir.text.symbols import GlobalSymbols
from parpass.tir.expr import Any as AnyExpr
from parpass.tir.expr import (
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    IterVar,
    Let,
    Load,
    Not,
    PrimExpr,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    Var,
)
from parpass.tir.text.leaf_parser import LeafParser, is_dtype
from parpass.tir.text.notation import CALLED, INFIX, ITER_TYPES, NOT_PRECEDENCE


class ExprParser(LeafParser):
    """Reads expressions; each method that gives a rule reads one kind of them."""

    def __init__(self, problems: ErrorList, global_names: GlobalSymbols) -> None:
        super().__init__(problems, global_names)
        self._infix = {
            sign: Operator(precedence, self._maker(kind))
            for sign, (kind, precedence) in INFIX.items()
        }
        self._not = Operator(NOT_PRECEDENCE, self._maker(Not), operands=1)
        self._words: dict[str, Callable[[int], Rule]] = {
            "cast": self._cast,
            "select": partial(self._of_operands, Select, 3),
            "ramp": partial(self._vector, Ramp, 2),
            "broadcast": partial(self._vector, Broadcast, 1),
            "shuffle": self._shuffle,
            "op": self._foreign_call,
            "Range": self._range,
            "IterVar": self._axis,
            "comm_reducer": self._reducer,
            "reduce": self._reduce,
            **{
                word: partial(self._of_operands, kind, 2)
                for word, kind in CALLED.items()
            },
        }

    def _maker(self, kind: Any) -> Callable[[tuple[Any, ...], Span], Any]:
        def make(operands: tuple[Any, ...], span: Span) -> Any:
            try:
                return kind(*operands, span=span)
            except IRTypeError as error:
                self.refuse(span, str(error))

        return make

    def expr(self, first: Operand | None = None) -> Rule:
        """Read an expression, of which the first operand may have been read already."""
        row: PrecedenceParser | None = None
        while True:
            begin = self.at
            if first is not None:
                operand, begin = first
                first = None
            elif self.texts[begin] == "!":
                row = row or PrecedenceParser(self.span)
                row.push_prefix(self._not, begin)
                self.at = begin + 1
                continue
            else:
                operand = self._leaf(begin)
                if operand is None:
                    operand = yield self._operand(begin)
            infix = self._infix.get(self.texts[self.at])
            if infix is None:
                if row is None:
                    return operand
                return row.finish(Operand(operand, begin), self.at - 1).expr
            row = row or PrecedenceParser(self.span)
            row.push_infix(Operand(operand, begin), infix, self.at)
            self.at += 1

    def _leaf(self, at: int) -> Any:
        """Read an operand of one token; None if it has parts."""
        token, following = self.texts[at], self.texts[at + 1]
        if token == "?":
            self.at = at + 1
            return self.made(AnyExpr, at)
        if is_variable(token) or (is_name(token) and token not in {"True", "False"}):
            if following in {"(", "["}:
                return None
            return self.meaning()
        return self.constant()

    def _operand(self, begin: int) -> Rule:
        token, following = self.texts[begin], self.texts[begin + 1]
        if token == "(":
            return self._in_parentheses(begin)
        if token[:1] == "@":
            return self._call(begin)
        if following == "[" and token[:1] != "[":
            return self._buffer_load(begin)
        if following != "(" or not is_name(token):
            self.fail("an expression")
        if is_dtype(token):
            return self._constant()
        if token not in self._words:
            self.refuse_unknown(begin, "word for a node named", token, self._words)
        self.at = begin + 2
        return self._words[token](begin)

    def _constant(self) -> Rule:
        return self.constant_of_dtype()
        yield  # a rule all the same

    def _in_parentheses(self, begin: int) -> Rule:
        texts = self.texts
        if texts[begin + 1] == "let":
            return (yield self._let(begin))
        if texts[begin + 2] == "*" and texts[begin + 3] == ")":
            return (yield self._load(begin))
        self.at = begin + 1
        found = yield self.expr()
        self.expect(")", "an operator or ')'")
        return found

    def _let(self, begin: int) -> Rule:
        self.at = begin + 2
        var = self.declaration()
        self.expect("=")
        value = yield self.expr()
        self.expect("in", "an operator or 'in'")
        self.enter(var)
        body = yield self.expr()
        self.names.pop_scope()
        self.expect(")", "an operator or ')'")
        return self.made(Let, begin, var, value, body)

    def enter(self, *variables: Var) -> None:
        """Begin a scope that has variables."""
        self.names.push_scope()
        for var in variables:
            self.names.bind(var.name, var)

    def _load(self, begin: int) -> Rule:
        self.at = begin + 1
        dtype = self.dtype()
        self.at += 2
        pointer = self.meaning()
        self.expect("[")
        index, predicate = yield self.pointed_at()
        return self.made(Load, begin, dtype, pointer, index, predicate)

    def pointed_at(self) -> Rule:
        """Read `i]` or `i if c]`, the index and the predicate of an access."""
        index = yield self.expr()
        predicate = None
        if self.is_next("if"):
            predicate = yield self.expr()
        self.expect("]", "an operator, 'if' or ']'")
        return index, predicate

    def _buffer_load(self, begin: int) -> Rule:
        buffer = self.meaning()
        self.expect("[")
        indices = yield self.listed("]")
        return self.loaded(begin, buffer, indices)

    def loaded(self, begin: int, buffer: Any, indices: Any) -> BufferLoad:
        """Return a load from a buffer."""
        if not isinstance(buffer, Buffer):
            what = f"'{buffer.name}' is no buffer"
            hint = f"write (float32*){buffer.name}[...] to load by a pointer"
            self.refuse(self.span(begin, begin), f"{what}; {hint}")
        return self.made(BufferLoad, begin, buffer, indices)

    def listed(self, closing: str) -> Rule:
        """Read expressions with commas between them, and what closes them."""
        found: list[Any] = []
        if self.is_next(closing):
            return found
        while True:
            found.append((yield self.expr()))
            if not self.is_next(","):
                self.expect(closing, f"an operator, ',' or '{closing}'")
                return found

    def in_brackets(self) -> Rule:
        """Read `[a, b]`."""
        self.expect("[")
        return (yield self.listed("]"))

    def _call(self, begin: int) -> Rule:
        token = self.texts[begin]
        self.at = begin + 1
        name = self.name(begin)
        if token.startswith("@tir."):
            callee: Any = self._operator(begin, name)
        else:
            callee = self.globals.use(name, token, self.span(begin, begin))
        if not self.is_next("("):
            return callee
        return (yield self._arguments(begin, callee))

    def _foreign_call(self, begin: int) -> Rule:
        callee = self._operator(self.at, self.string())
        self.expect(")")
        if not self.is_next("("):
            return callee
        return (yield self._arguments(begin, callee))

    def _operator(self, at: int, name: str) -> Op:
        op = Op.find(name)
        if op is None:
            known = (one for one in Op.list_op_names() if one.startswith("tir."))
            self.refuse_unknown(at, "operator named", name, known)
        return op

    def _arguments(self, begin: int, callee: Any) -> Rule:
        """Read the arguments of a call, and the dtype of its value, which is last."""
        args: list[PrimExpr] = []
        while not (self.texts[self.at] == "dtype" and self.texts[self.at + 1] == "="):
            args.append((yield self.expr()))
            self.expect(",", "an operator or ','")
        self.at += 2
        dtype = self.dtype()
        self.expect(")")
        return self.made(Call, begin, dtype, callee, tuple(args))

    def _of_operands(self, kind: Any, count: int, begin: int) -> Rule:
        operands = yield self.listed(")")
        if len(operands) != count:
            word, got = self.texts[begin], len(operands)
            place = self.span(begin, self.at - 1)
            self.refuse(place, f"expected {count} operands for '{word}', got {got}")
        return self.made(kind, begin, *operands)

    def _cast(self, begin: int) -> Rule:
        dtype = self.dtype()
        self.expect(",")
        value = yield self.expr()
        self.expect(")", "an operator or ')'")
        return self.made(Cast, begin, dtype, value)

    def _vector(self, kind: Any, count: int, begin: int) -> Rule:
        operands: list[PrimExpr] = []
        for _ in range(count):
            operands.append((yield self.expr()))
            self.expect(",", "an operator or ','")
        lanes = self.int("a number of lanes")
        self.expect(")")
        return self.made(kind, begin, *operands, lanes)

    def _shuffle(self, begin: int) -> Rule:
        vectors = yield self.in_brackets()
        self.expect(",")
        indices = yield self.in_brackets()
        self.expect(")")
        return self.made(Shuffle, begin, vectors, indices)

    def _range(self, begin: int) -> Rule:
        ends: list[PrimExpr] = []
        for word, closing in (("min", ","), ("extent", ")")):
            self.expect(word)
            self.expect("=")
            ends.append((yield self.expr()))
            self.expect(closing, f"an operator or '{closing}'")
        return self.made(Range.from_min_extent, begin, *ends)

    def _axis(self, begin: int) -> Rule:
        var = self.declaration()
        self.expect(",")
        dom = None
        if not self.is_next("None"):
            dom = yield self.expr()
        self.expect(",")
        kind = self._axis_kind()
        self.expect(",")
        tag = self.string()
        self.expect(")")
        return self.made(IterVar, begin, dom, var, kind, tag)

    def _axis_kind(self) -> int:
        at = self.at
        if not is_string(self.texts[at]):
            return self.int('what an axis is, such as "DataPar"')
        word = self.string()
        if word not in ITER_TYPES:
            self.refuse_unknown(at, "kind of axis named", word, ITER_TYPES)
        return ITER_TYPES[word]

    def _declarations(self) -> list[Var]:
        self.expect("[")
        found: list[Var] = []
        while not found or self.is_next(","):
            found.append(self.declaration())
        self.expect("]", "',' or ']'")
        return found

    def _reducer(self, begin: int) -> Rule:
        lhs = self._declarations()
        self.expect(",")
        rhs = self._declarations()
        self.expect(",")
        identity = yield self.in_brackets()
        self.expect(",")
        self.enter(*lhs, *rhs)
        result = yield self.in_brackets()
        self.names.pop_scope()
        self.expect(")")
        return self.made(CommReducer, begin, lhs, rhs, result, identity)

    def _reduce(self, begin: int) -> Rule:
        combiner = None
        if not self.is_next("None"):
            combiner = yield self.expr()
        self.expect(",")
        init = yield self.in_brackets()
        self.expect(",")
        axes = yield self.in_brackets()
        self.expect(",")
        self.enter(*(axis.var for axis in axes if isinstance(axis, IterVar)))
        source = yield self.in_brackets()
        self.expect(",")
        condition = yield self.expr()
        self.names.pop_scope()
        self.expect(",", "an operator or ','")
        index = self.int("the index of a value")
        self.expect(")")
        if not isinstance(combiner, CommReducer | None):
            self.refuse(self.span(begin, self.at - 1), "expected a comm_reducer")
        return self.made(Reduce, begin, combiner, source, axes, condition, index, init)
