"""A place among tokens: what all parsers of a part of the language read from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import NoReturn, TypeVar

from parpass.diagnostic import Span
from parpass.ir.text.names import read_name
from parpass.ir.text.pieces import Piece
from parpass.ir.text.problems import Problems
from parpass.ir.text.scanner import END, OPEN_COMMENT, STRAY, scan_line

_KEYWORDS = {"def", "else", "fn", "free_var", "if", "let"}
_LONGEST_SHOWN = 30
_FOLLOWING = {*";,()}]<>+-*/", "<=", ">=", "==", "!=", "->"}
_LETTERS = {*ascii_letters, "_"}
DIGITS = {*"0123456789"}

T = TypeVar("T")


class GivenUp(Exception):  # noqa: N818 -- it never leaves the parser
    """A function cannot be read on, for a reason that has been reported.

    Attributes:
        at: The token at which the reading ended.
    """

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


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
        texts: The tokens of the piece, or of a line in it.
        starts: Where they begin in the piece.
        at: The number of the one that is to be read next.
        outer: While the tokens of a line are read: the tokens of the piece, and which
            of them the line is.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._source_name = problems.source_name
        self.texts: list[str] = []
        self.starts: Sequence[int] = ()
        self.at: int = 0
        self.outer: tuple[list[str], Sequence[int], int] | None = None
        self._signs_end = 0  # up to here signs belong to no number

    def enter_piece(self, piece: Piece, first_line: int) -> None:
        """Go to the beginning of a piece, which begins with a line of that number."""
        self.texts, self.starts = piece.tokens
        self.at, self._lines = 0, piece.lines
        self._first_line = first_line
        self._line, self._line_start = first_line, 0
        self._line_end = self._lines[1] - 1
        self.outer = None
        self._signs_end = 0

    def enter_line(self) -> None:
        """Go on with the tokens of the next token, which is a line."""
        at = self.at
        texts, starts = scan_line(self.texts[at])
        self.outer = self.texts, self.starts, at
        start = self.starts[at]
        self.texts, self.starts, self.at = texts, [start + one for one in starts], 0
        self._signs_end = 0

    def leave_line(self) -> None:
        """Go on after the line of which all tokens have been read."""
        assert self.outer is not None
        self.texts, self.starts, at = self.outer
        self.at, self.outer, self._signs_end = at + 1, None, 0

    def go_on_from(self, other: Cursor) -> None:
        """Go to the place where another cursor of the same text is."""
        self.texts, self.starts, self.at = other.texts, other.starts, other.at
        self._lines, self._first_line = other._lines, other._first_line
        self._line, self._line_start = other._line, other._line_start
        self._line_end, self.outer = other._line_end, other.outer

    def span(self, first: int, last: int) -> Span:
        """Return the stretch of text from one token to another one."""
        return self.stretch(
            self.starts[first], self.starts[last] + len(self.texts[last])
        )

    def stretch(self, start: int, stop: int) -> Span:
        """Return the stretch of text between two places in the piece."""
        if start > self._line_end:
            # Most is of the line that was read from last; else of the next one.
            self._line_start = self._line_end + 1
            self._line_end = self._lines[self._line - self._first_line + 2] - 1
            self._line += 1
        line, line_start = self._line, self._line_start
        if start < line_start or stop > self._line_end:
            return self._stretch_elsewhere(start, stop)
        column, end_column = start - line_start + 1, stop - line_start + 1
        return Span(self._source_name, line, line, column, end_column)

    def _stretch_elsewhere(self, start: int, stop: int) -> Span:
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

    def name(self, at: int) -> str:
        """Return the name that follows the sigil of a token."""
        name = self.texts[at][1:]
        if name[0] == '"':
            return self.converted((at, at), name, read_name, "")
        return name

    def fail(self, expected: str) -> NoReturn:
        """Give up the piece: the next token is not what was expected."""
        if is_line(self.texts[self.at]):
            self.enter_line()
        raise SyntaxFault(self.at, self.texts[self.at], expected)

    def are_adjacent(self, at: int) -> bool:
        """Return whether nothing stands between a token and the one after it."""
        return self.starts[at] + len(self.texts[at]) == self.starts[at + 1]

    def is_number(self, at: int) -> bool:
        """Return whether a number begins at a token; signs are next to its digits."""
        texts, first = self.texts, at
        if at < self._signs_end:
            return False  # or a long row of signs would be looked through for each
        while texts[at] == "-" and self.are_adjacent(at):
            at += 1
        found = texts[at][:1] in DIGITS
        if at > first and not found:
            self._signs_end = at
        return found

    def number(self, convert: Callable[[str], T], default: T) -> T:
        """Go over a number, signed or not, and return what it stands for.

        Each of several signs turns it round, as in `--1`.
        """
        first = last = self.at
        while self.texts[last] == "-":
            last += 1
        sign = "-" * ((last - first) % 2)
        self.at = last + 1
        text = sign + self.texts[last]
        return self.converted((first, last), text, convert, default)

    def converted(
        self,
        where: tuple[int, int],
        text: str,
        convert: Callable[[str], T],
        default: T,
    ) -> T:
        """Return what a text stands for, which is that of some tokens.

        Args:
            where: The first and the last token.
            text: The text.
            convert: Makes it of the text; raises `ValueError` where it stands for none.
            default: What is returned then, and the error is reported.
        """
        try:
            return convert(text)
        except ValueError as error:
            self.problems.report(self.span(*where), str(error))
            return default


def is_name(token: str) -> bool:
    """Return whether a token is a name, such as `x` or `nn.relu`."""
    # What ends so begins with one: `meta[relay.Constant][0]`, or a whole line.
    return token[:1] in _LETTERS and token[-1] not in "];" and token not in _KEYWORDS


def is_variable(token: str) -> bool:
    """Return whether a token is a variable, such as `%x` or `%0`."""
    return token[:1] == "%" and token[-1] != ";"


def is_line(token: str) -> bool:
    """Return whether a token is a whole line."""
    return token[-1:] == ";" and token != ";"


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
