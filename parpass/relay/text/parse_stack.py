"""The parser's stack of open constructs: blocks, calls, parentheses, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parpass.ir.text.literals import Attribute
from parpass.ir.text.precedence import Operand, PrecedenceParser
from parpass.ir.types import Type
from parpass.ir.types import TypeVar as RelayTypeVar
from parpass.relay.adt import Clause, Pattern, PatternWildcard
from parpass.relay.expr import Expr, Var


class Head(NamedTuple):
    """A function up to its body; `begin` is the first token."""

    begin: int
    type_params: tuple[RelayTypeVar, ...]
    params: tuple[Var, ...]
    attributes: Sequence[Attribute]
    ret_type: Type | None


class LetHead(NamedTuple):
    """A let up to its value, and where it begins in the piece of text."""

    begin: int
    key: str
    var: Var


class Open:
    """A part of which expressions are being read.

    Attributes:
        begin: The first token of the part.
        take: Adds an expression that has been read; returns the whole if it was the
            last one, None if a further expression is due.
        expected: The grammar of what is due, in words, for messages.
        row: The operators that wait for the expression that is being read.
    """

    __slots__ = ("begin", "expected", "row", "take")

    def __init__(
        self,
        begin: int,
        take: Callable[[Any, Expr, int], Operand | None],
        expected: str = "an expression",
    ) -> None:
        self.begin = begin
        self.take = take
        self.expected = expected
        self.row: PrecedenceParser | None = None


class OpenBlock(Open):
    """Lines, and the expression that ends them.

    Attributes:
        closing: The token that ends it.
        whole: Returns what the block with this expression is a part of, if that is
            complete.
        name: The token that names the line that is being read; -1 if it has no name.
        line: The token at which the last line begins.
        let: The let that is being read.
        lets: Those that have been read, with their values.
        lines: The names of the lines.
    """

    __slots__ = ("closing", "let", "lets", "line", "lines", "name", "whole")

    def __init__(
        self,
        begin: int,
        take: Callable[[Any, Expr, int], Operand | None],
        closing: str,
        whole: Callable[[Expr, int], Operand | None],
    ) -> None:
        super().__init__(begin, take)
        self.closing = closing
        self.whole = whole
        self.name = self.line = -1
        self.let: LetHead | None = None
        self.lets: list[tuple[LetHead, Expr]] = []
        self.lines: set[str] = set()


class OpenParenthesis(Open):
    """A tuple, or an expression in parentheses."""

    __slots__ = ("fields",)

    def __init__(
        self, begin: int, take: Callable[[Any, Expr, int], Operand | None]
    ) -> None:
        super().__init__(begin, take, "an expression, ')' or 'let'")
        self.fields: list[Expr] = []


class OpenMatch(Open):
    """A match of which the clauses are being read.

    Attributes:
        data: The value that is matched.
        complete: Whether it is to match every value.
        clauses: The clauses read so far.
        clause: The token at which the clause begins that is being read.
        pattern: Its pattern.
    """

    __slots__ = ("clause", "clauses", "complete", "data", "pattern")

    def __init__(
        self,
        begin: int,
        take: Callable[[Any, Expr, int], Operand | None],
        data: Expr,
        *,
        complete: bool,
    ) -> None:
        super().__init__(begin, take)
        self.data = data
        self.complete = complete
        self.clauses: list[Clause] = []
        self.clause = begin
        self.pattern: Pattern = PatternWildcard()


class OpenCall(Open):
    """A call of which the arguments are being read.

    Attributes:
        callee: What is called.
        type_args: The arguments for its type parameters.
        args: The arguments read so far.
        attributes: The attributes read so far.
    """

    __slots__ = (
        "args",
        "attributes",
        "callee",
        "type_args",
    )

    def __init__(
        self,
        begin: int,
        take: Callable[[Any, Expr, int], Operand | None],
        callee: Expr,
        type_args: tuple[Type, ...],
    ) -> None:
        super().__init__(begin, take, "an argument or ')'")
        self.callee = callee
        self.type_args = type_args
        self.args: list[Expr] = []
        self.attributes: list[Attribute] = []
