"""A place among tokens: what all parsers of a part of the language read from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from string import ascii_letters
from typing import NoReturn, TypeVar

from parpass.diagnostic import Span
from parpass.relay.text.problems import Problems
from parpass.relay.text.scanner import END, OPEN_COMMENT, STRAY, Tokens

_KEYWORDS = {"def", "else", "fn", "free_var", "if", "let"}
_LONGEST_SHOWN = 30
_FOLLOWING = {*";,()}]<>+-*/", "<=", ">=", "==", "!=", "->"}
_LETTERS = {*ascii_letters, "_"}
DIGITS = {*"0123456789"}

T = TypeVar("T")


class SyntaxFault(Exception):  # noqa: N818 -- it never leaves the parser
    """A token is none of those that may stand where it stands.

    Attributes:
        at: Which token it is.
        length: How many characters of the text are wrong.
        is_sudden: Whether the token can follow no expression or type at all, so that
            what stands before it was hardly meant as one.
    """

    def __init__(self, at: int, token: str, expected: str) -> None:
        super().__init__(f"expected {expected}, got {_shown(token)}")
        self.at = at
        is_part = token[:1] in {END, STRAY} or token[-1] == "\n"
        self.length = 1 if is_part else len(token)
        self.is_sudden = token not in _FOLLOWING


class Cursor:
    """Goes along the tokens of one piece of text after the other.

    Attributes:
        problems: Takes the errors.
        texts: The tokens of the piece.
        at: The number of the one that is to be read next.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._source_name = problems.source_name
        self.texts: list[str] = []
        self.at = 0

    def enter(self, tokens: Tokens, first_line: int) -> None:
        """Go to the beginning of a piece, which begins with a line of that number."""
        self.texts, self.at = tokens.texts, 0
        self.starts, self._lines = tokens.starts, tokens.lines
        self._first_line = first_line
        self._line, self._line_start, self._line_end = first_line, 0, 0

    def span(self, first: int, last: int) -> Span:
        """Return the stretch of text from one token to another one."""
        start = self.starts[first]
        stop = self.starts[last] + len(self.texts[last])
        line_start = self._line_start
        # Most of what is read is of the line that was read from last.
        if start < line_start or stop > self._line_end:
            return self._span_elsewhere(start, stop)
        line = self._line
        column, end_column = start - line_start + 1, stop - line_start + 1
        return Span(self._source_name, line, line, column, end_column)

    def _span_elsewhere(self, start: int, stop: int) -> Span:
        first, last = self._line_of(start), self._line_of(stop)
        column, self._line_start = start - self._lines[first] + 1, self._lines[last]
        end_column, self._line_end = (
            stop - self._line_start + 1,
            self._lines[last + 1] - 1,
        )
        self._line = self._first_line + last
        line = self._first_line + first
        return Span(self._source_name, line, self._line, column, end_column)

    def _line_of(self, position: int) -> int:
        return bisect_right(self._lines, position, hi=len(self._lines) - 1) - 1

    def is_next(self, text: str) -> bool:
        """Go over a token if it is the next one; return whether it was."""
        if self.texts[self.at] != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str, expected: str = "") -> int:
        """Go over a token, and return which it was.

        Args:
            text: The token.
            expected: What else could be there, and the token, in words.
        """
        at = self.at
        if self.texts[at] != text:
            self.fail(expected or f"'{text}'")
        self.at = at + 1
        return at

    def expect_name(self) -> int:
        """Go over a name, and return which token it was."""
        if not is_name(self.texts[self.at]):
            self.fail("a name")
        self.at += 1
        return self.at - 1

    def fail(self, expected: str) -> NoReturn:
        """Give up the piece: the next token is not what was expected."""
        raise SyntaxFault(self.at, self.texts[self.at], expected)

    def are_adjacent(self, at: int) -> bool:
        """Return whether nothing stands between a token and the one after it."""
        return self.starts[at] + len(self.texts[at]) == self.starts[at + 1]

    def is_number(self, at: int) -> bool:
        """Return whether a number begins at a token; a sign is next to its digits."""
        if self.texts[at] == "-":
            return self.are_adjacent(at) and self.texts[at + 1][:1] in DIGITS
        return self.texts[at][:1] in DIGITS

    def number(self, convert: Callable[[str], T], default: T) -> tuple[T, Span]:
        """Go over a number, signed or not, and return what it stands for."""
        first = last = self.at
        text = self.texts[first]
        if text == "-":
            last += 1
            text += self.texts[last]
        self.at = last + 1
        span = self.span(first, last)
        return self.converted(text, span, convert, default), span

    def converted(
        self, text: str, span: Span, convert: Callable[[str], T], default: T
    ) -> T:
        """Return what a text stands for; report what cannot be converted."""
        try:
            return convert(text)
        except ValueError as error:
            self.problems.report(span, str(error))
            return default


def is_name(token: str) -> bool:
    """Return whether a token is a name, such as `x` or `nn.relu`."""
    return token[:1] in _LETTERS and token not in _KEYWORDS and token[-1] != "]"


def is_string(token: str) -> bool:
    """Return whether a token is a string in quotes; a stray quote takes its line."""
    return token[:1] == '"' and token[-1] == '"'


def _shown(token: str) -> str:
    if token == END:
        return "the end of the text"
    if token == OPEN_COMMENT:
        return "a comment that does not end"
    text = token.removeprefix(STRAY)
    if text[:1] == '"' and not is_string(token):
        return "a string that does not end"
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"'{shown}'" if shown.isprintable() else repr(shown)
