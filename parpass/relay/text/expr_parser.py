"""The parser of expressions, of matches and their patterns, and of infix operators.

A node is made as soon as its text has been read, and names are resolved at that time,
so no syntax tree is built. Nothing recurses along the text: open constructs, such as a
call whose arguments are being read, are on a stack.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from string import ascii_letters, digits
from typing import Any, TypeVar

from parpass.diagnostic import Span
from parpass.ir.op_table import Op
from parpass.ir.text.cursor import is_line, is_variable
from parpass.ir.text.precedence import Operand, Operator, PrecedenceParser
from parpass.ir.type_structure import MAX_NESTING
from parpass.ir.types import Type
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.expr import Call, Expr, Tuple, TupleGetItem
from parpass.relay.text.block_parser import BlockParser
from parpass.relay.text.parse_stack import Open, OpenMatch, OpenParenthesis

T = TypeVar("T")


class MatchParser(BlockParser):
    """Makes matches."""

    def begins_match(self, at: int) -> bool:
        """Return whether a match begins at a token: `match (` or `match? (`."""
        return self.texts[at] == "match" and self.texts[at + 1] in {"(", "?"}

    def begin_match(self, begin: int) -> None:
        """Read a match up to its value, which stands in parentheses."""
        self.at = begin + 1
        complete = not self.is_next("?")
        if self.texts[self.at] != "(":
            self.fail("'('")
        self.open.append(Open(begin, partial(self._in_data, complete)))

    def _in_data(
        self, complete: bool, part: Open, data: Expr, _begin: int
    ) -> Operand | None:
        self.open.pop()
        self.expect("{")
        match = OpenMatch(part.begin, self._in_clause, data, complete=complete)
        self.open.append(match)
        return self._next_clause(match)

    def _next_clause(self, match: OpenMatch) -> Operand | None:
        """Read a clause up to its expression; return the match if there is none."""
        if self.is_next("}"):
            self.open.pop()
            span = self.span(match.begin, self.at - 1)
            whole = Match(match.data, match.clauses, match.complete, span)
            return Operand(whole, match.begin)
        self.names.push_scope()
        match.clause = self.at
        match.pattern = self._pattern(0, " or '}'")
        self.expect("=>")
        return None

    def _in_clause(self, match: OpenMatch, expr: Expr, _begin: int) -> Operand | None:
        self.names.pop_scope()
        if self.texts[self.at] not in {",", "}"}:
            self.fail("',' or '}'")
        span = self.span(match.clause, self.at - 1)
        match.clauses.append(Clause(match.pattern, expr, span))
        self.is_next(",")
        return self._next_clause(match)

    def _pattern(self, depth: int, also: str = "") -> Pattern:
        at = self.at
        token = self.texts[at]
        if depth > MAX_NESTING:
            self.fail(f"patterns in each other at most {MAX_NESTING} deep")
        if is_variable(token):
            key, var = self.annotated_var("a variable such as %x")
            self.names.bind(key, var)
            return PatternVar(var, self.span(at, self.at - 1))
        if token == "(":
            parts = self.listed(partial(self._pattern, depth + 1), "a pattern")
            return PatternTuple(parts, self.span(at, self.at - 1))
        if token == "_":
            self.at = at + 1
            return PatternWildcard(self.span(at, at))
        constructor = self.constructors.get(token)
        if constructor is None:
            self.fail(f"a constructor, a variable, '_' or '('{also}")
        self.at = at + 1
        parts: list[Pattern] = []
        if self.texts[self.at] == "(":
            parts = self.listed(partial(self._pattern, depth + 1), "a pattern")
        return PatternConstructor(constructor, parts, self.span(at, self.at - 1))

    def listed(self, read: Callable[[], T], what: str) -> list[T]:
        """Read what stands in parentheses, with commas between.

        Args:
            read: Reads one.
            what: What it reads, in words.
        """
        self.expect("(")
        found: list[T] = []
        while self.texts[self.at] != ")":
            found.append(read())
            if not self.is_next(",") and self.texts[self.at] != ")":
                self.fail(f"',' or ')' after {what}")
        self.at += 1
        return found


def _calls(name: str) -> Callable[[tuple[Any, ...], Span], Call]:
    def make(args: tuple[Any, ...], span: Span) -> Call:
        return Call(Op.get(name), args, span=span)

    return make


NEGATIVE = Operator(5, _calls("negative"), operands=1)
OPERATORS = {
    "*": Operator(4, _calls("multiply")),
    "/": Operator(4, _calls("divide")),
    "+": Operator(3, _calls("add")),
    "-": Operator(3, _calls("subtract")),
    "<": Operator(2, _calls("less")),
    "<=": Operator(2, _calls("less_equal")),
    ">": Operator(2, _calls("greater")),
    ">=": Operator(2, _calls("greater_equal")),
    "==": Operator(1, _calls("equal")),
    "!=": Operator(1, _calls("not_equal")),
}


_ENDS = {";", ",", ")", "}"}  # what nearly always follows an expression
_TAILS = {"(", *OPERATORS}
_BEFORE_TYPES = {*ascii_letters, *digits, *'_")}]'}
_BEGIN_TYPES = {*ascii_letters, *"_("}


class ExprParser(MatchParser):
    """Makes expressions."""

    def read_open(self) -> None:
        """Read until no part is open any more."""
        opened = self.open
        while opened:
            begin = self.at
            expr = self._operand(begin)
            while expr is not None:
                token = self.texts[self.at]
                if token not in _ENDS and (token in _TAILS or token[:1] == "."):
                    expr = self._tail(expr, begin)
                    continue
                part = opened[-1]
                if part.row is not None:
                    row, part.row = part.row, None
                    expr, begin = row.finish(Operand(expr, begin), self.at - 1)
                whole = part.take(part, expr, begin)
                if whole is None:
                    break
                expr, begin = whole

    def _operand(self, at: int) -> Expr | None:
        """Read an operand; None if a sign or parts of it come first."""
        token = self.texts[at]
        expr = self.names.meanings.get(token)
        if expr is not None:
            self.at = at + 1
            return self.call(expr, at) if self.texts[at + 1] == "(" else expr
        match token:
            case "(":
                return self._begin_parenthesis(at)
            case "{":
                self.at = at + 1
                return self.block_operand(at, "}")
            case "fn":
                return self.begin_function(at)
            case "if":
                return self.begin_if(at)
            case "match" if self.begins_match(at):
                return self.begin_match(at)
            case _:
                if is_line(token):
                    self.open[-1].row = None  # an error: no operand goes on with a `=`
                    self.enter_line()
                expr = self.leaf()
        if expr is None:
            part = self.open[-1]
            if token != "-":
                self.fail(part.expected if part.row is None else "an expression")
            self.at = at + 1
            self._row().push_prefix(NEGATIVE, at)
        return expr

    def _row(self) -> PrecedenceParser:
        part = self.open[-1]
        if part.row is None:
            part.row = PrecedenceParser(self.span)
        return part.row

    def _tail(self, expr: Expr, begin: int) -> Expr | None:
        """Read what follows an operand, and belongs to the expression."""
        at = self.at
        token = self.texts[at]
        if token == "(":
            return self.call(expr, begin)
        if token[0] == ".":
            self.at = at + 1
            index = self.converted((at, at), token, _index, 0)
            return TupleGetItem(expr, index, self.span(begin, at))
        if token == "<" and self._opens_types(at):
            type_args = self._type_args()
            if self.texts[self.at] != "(":
                self.fail("'('")
            return self.call(expr, begin, type_args)
        self.at = at + 1
        self._row().push_infix(Operand(expr, begin), OPERATORS[token], at)
        return None

    def _opens_types(self, at: int) -> bool:
        """Return whether a `<` is that of `@f<int32>(%x)`, rather than of `%x < %y`.

        Type arguments follow what is called at once. A comparison with a name or a
        parenthesis on its right has a blank before the `<`.
        """
        before, after = self.texts[at - 1], self.texts[at + 1]
        return (
            before[-1] in _BEFORE_TYPES
            and after[:1] in _BEGIN_TYPES
            and self.are_adjacent(at - 1)
            and self.are_adjacent(at)
        )

    def _type_args(self) -> tuple[Type, ...]:
        self.at += 1
        types = [self.type()]
        while self.is_next(","):
            types.append(self.type())
        self.expect(">", "',' or '>'")
        return tuple(types)

    def _begin_parenthesis(self, begin: int) -> Expr | None:
        self.at = begin + 1
        following = self.texts[self.at]
        if following == ")":
            self.at += 1
            return Tuple((), self.span(begin, begin + 1))
        if following == "let" or (is_line(following) and following[:4] == "let "):
            return self.block_operand(begin, ")")
        self.open.append(OpenParenthesis(begin, self._in_parenthesis))
        return None

    def _in_parenthesis(
        self, part: OpenParenthesis, expr: Expr, _begin: int
    ) -> Operand | None:
        part.fields.append(expr)
        part.expected = "an expression or ')'"
        comma = self.is_next(",")
        if comma and self.texts[self.at] != ")":
            return None
        end = self.expect(")", "')' or ','")
        self.open.pop()
        if len(part.fields) == 1 and not comma:
            return Operand(expr, part.begin)
        whole = Tuple(tuple(part.fields), self.span(part.begin, end))
        return Operand(whole, part.begin)


def _index(text: str) -> int:
    index = text[1:]
    if len(index) > 9:
        raise ValueError(f"a tuple has no field '{index[:40]}'")
    return int(index)
