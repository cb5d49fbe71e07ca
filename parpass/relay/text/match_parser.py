"""The parser of matches: patterns, and expressions for what they match."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from parpass.ir.text.cursor import is_variable
from parpass.ir.text.infix import Operand
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
from parpass.relay.expr import Expr
from parpass.relay.text.block_parser import BlockParser
from parpass.relay.text.open_parts import Open, OpenMatch

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
        self.names.open()
        match.clause = self.at
        match.pattern = self._pattern(0, " or '}'")
        self.expect("=>")
        return None

    def _in_clause(self, match: OpenMatch, expr: Expr, _begin: int) -> Operand | None:
        self.names.close()
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
