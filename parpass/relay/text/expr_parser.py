"""The parser of expressions.

A node is made as soon as its text has been read, and names get their meanings at that
time, so no tree is built besides the program. Nothing recurses along the text: what is
open, such as a call of which the arguments are being read, is on a stack.
"""

from __future__ import annotations

from string import ascii_letters, digits

from parpass.ir.text.cursor import is_line
from parpass.ir.text.infix import Operand, Row
from parpass.ir.types.ty import Type
from parpass.relay.expr import Expr, Tuple, TupleGetItem
from parpass.relay.text.match_parser import MatchParser
from parpass.relay.text.open_parts import OpenParenthesis
from parpass.relay.text.operators import NEGATIVE, OPERATORS

_ENDS = {";", ",", ")", "}"}  # what nearly always follows an expression
_TAILS = {"(", *OPERATORS}
_BEFORE_TYPES = {*ascii_letters, *digits, *'_")}'}
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
                    expr, begin = row.end(Operand(expr, begin), self.at - 1)
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
            self._row().sign(NEGATIVE, at)
        return expr

    def _row(self) -> Row:
        part = self.open[-1]
        if part.row is None:
            part.row = Row(self.span)
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
        self._row().operator(Operand(expr, begin), OPERATORS[token], at)
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
        if following == "let":
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
