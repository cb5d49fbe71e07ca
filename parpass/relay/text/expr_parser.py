"""The parser of expressions, of matches and their patterns, and of infix operators.

A node is made as soon as its text has been read, and names are resolved at that time,
so no syntax tree is built. Nothing recurses along the text: what has parts is read by
rules, as `ir/text/grammar_rules.py` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from string import ascii_letters, digits
from typing import Any, TypeVar

from parpass.diagnostic import Span
from parpass.ir.op.op_table import Op
from parpass.ir.text.cursor import is_line, is_variable
from parpass.ir.text.grammar_rules import Rule
from parpass.ir.text.precedence import Operand, Operator, PrecedenceParser
from parpass.ir.types import Type
from parpass.ir.types.type_structure import MAX_NESTING
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
from parpass.relay.text.call_parser import LetHead

T = TypeVar("T")


class MatchParser(BlockParser):
    """Makes matches."""

    def begins_match(self, at: int) -> bool:
        """Return whether a match begins at a token: `match (` or `match? (`."""
        return self.texts[at] == "match" and self.texts[at + 1] in {"(", "?"}

    def match(self, begin: int) -> Rule:
        """Read a match."""
        self.at = begin + 1
        complete = not self.is_next("?")
        if self.texts[self.at] != "(":
            self.fail("'('")
        data = yield self.expr()
        self.expect("{")
        clauses: list[Clause] = []
        while not self.is_next("}"):
            clauses.append((yield self._clause()))
            self.is_next(",")
        return Match(data, clauses, complete, self.span(begin, self.at - 1))

    def _clause(self) -> Rule:
        begin = self.at
        self.names.push_scope()
        pattern = self._pattern(0, " or '}'")
        self.expect("=>")
        value = yield self.expr()
        self.names.pop_scope()
        if self.texts[self.at] not in {",", "}"}:
            self.fail("',' or '}'")
        return Clause(pattern, value, self.span(begin, self.at - 1))

    def _pattern(self, depth: int, also: str = "") -> Pattern:
        at = self.at
        token = self.texts[at]
        if depth > MAX_NESTING:
            self.fail(f"patterns nested at most {MAX_NESTING} deep")
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
_BEFORE_TYPES = {*ascii_letters, *digits, *'_")}]'}
_BEGIN_TYPES = {*ascii_letters, *"_("}


class ExprParser(MatchParser):
    """Makes expressions."""

    def expr(self, expected: str = "an expression", let: LetHead | None = None) -> Rule:
        """Read an expression.

        Args:
            expected: The valid tokens where it begins, in words, for the error message.
            let: The let of which it is the value.
        """
        row: PrecedenceParser | None = None
        while True:
            begin = self.at
            operand = self.names.meanings.get(self.texts[begin])
            if operand is not None:
                self.at = begin + 1
            elif (rule := self._with_parts(begin, None if row else let)) is not None:
                operand = yield rule
            elif (operand := self.leaf()) is None:
                row = self._before_operand(row, expected)
                continue
            while (token := self.texts[self.at]) not in _ENDS:
                if token[:1] == ".":
                    operand = self._field(operand, begin)
                elif (call := self._call_of(operand, begin)) is not None:
                    operand = yield call
                else:
                    break
            infix = OPERATORS.get(token)
            if infix is None:
                if row is None:
                    return operand
                return row.finish(Operand(operand, begin), self.at - 1).expr
            row = row or PrecedenceParser(self.span)
            row.push_infix(Operand(operand, begin), infix, self.at)
            self.at += 1

    def _before_operand(
        self, row: PrecedenceParser | None, expected: str
    ) -> PrecedenceParser | None:
        """Go over what begins no operand, and return the row of the one that follows.

        That is a sign; or a line, which is entered: it is an error at its `=`.
        """
        token = self.texts[self.at]
        if is_line(token):
            self.enter_line()
            return None
        if token != "-":
            self.fail("an expression" if row else expected)
        row = row or PrecedenceParser(self.span)
        row.push_prefix(NEGATIVE, self.at)
        self.at += 1
        return row

    def _call_of(self, callee: Expr, begin: int) -> Rule | None:
        """Return the rule for a call of what was read; None if none follows."""
        if self.texts[self.at] == "(":
            return self.call(callee, begin)
        if self.texts[self.at] == "<" and self._opens_types(self.at):
            return self.call(callee, begin, self._type_args())
        return None

    def _with_parts(self, begin: int, let: LetHead | None) -> Rule | None:
        """Return the rule for what begins at a token; None if that has no parts."""
        match self.texts[begin]:
            case "(":
                self.at = begin + 1
                following = self.texts[self.at]
                if following == "let" or (is_line(following) and following[0] == "l"):
                    return self.block(")")
                return self._fields(begin)
            case "{":
                self.at = begin + 1
                return self.block("}")
            case "fn":
                self.at = begin + 1
                return self.function(begin, let)
            case "if":
                return self.condition(begin)
            case "match" if self.begins_match(begin):
                return self.match(begin)
            case _:
                return None

    def _fields(self, begin: int) -> Rule:
        """Read a tuple, or an expression in parentheses, from its first field on."""
        fields: list[Expr] = []
        expected, comma = "an expression, ')' or 'let'", True
        while comma and self.texts[self.at] != ")":
            field = self.part_of_one_token()
            fields.append((yield self.expr(expected)) if field is None else field)
            expected, comma = "an expression or ')'", self.is_next(",")
        end = self.expect(")", "')' or ','")
        if len(fields) == 1 and not comma:
            return fields[0]
        return Tuple(tuple(fields), self.span(begin, end))

    def _field(self, expr: Expr, begin: int) -> TupleGetItem:
        """Read the index of a field of a tuple."""
        at = self.at
        self.at = at + 1
        index = self.converted((at, at), self.texts[at], _index, 0)
        return TupleGetItem(expr, index, self.span(begin, at))

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
        if self.texts[self.at] != "(":
            self.fail("'('")
        return tuple(types)


def _index(text: str) -> int:
    index = text[1:]
    if len(index) > 9:
        raise ValueError(f"a tuple has no field '{index[:40]}'")
    return int(index)
