"""The token cursor, base of the parsers of all parts of a language."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Mapping, Sequence
from string import ascii_letters
from typing import NoReturn, TypeVar

from parpass.diagnostic import Span
from parpass.ir.text.error_list import ErrorList
from parpass.ir.text.lexer import END, OPEN_COMMENT, STRAY, Chunk, scan_line
from parpass.ir.text.literals import float_of_word, read_name

_KEYWORDS = {"def", "else", "fn", "free_var", "if", "let"}
_LONGEST_SHOWN = 30
_FOLLOWING = {*";,()}]<>+-*/", "<=", ">=", "==", "!=", "->"}
_LETTERS = {*ascii_letters, "_"}
DIGITS = {*"0123456789"}

T = TypeVar("T")


class ParseAborted(Exception):  # noqa: N818 -- it never leaves the parser
    """Parsing of a function is aborted by an error that has been reported.

    Attributes:
        at: The token at which parsing stopped.
    """

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class UnexpectedToken(Exception):  # noqa: N818 -- it never leaves the parser
    """A token is none of those that are valid at its place.

    Attributes:
        at: The index of the token.
        length: How many characters of the text are wrong.
        is_sudden: Whether the token can follow no expression or type at all, so that
            the preceding one was hardly meant as one.
    """

    def __init__(self, at: int, token: str, expected: str) -> None:
        super().__init__(f"expected {expected}, got {_shown(token)}")
        self.at = at
        is_part = token[:1] in {END, STRAY} or token[-1] == "\n"
        self.length = 1 if is_part else len(token)
        self.is_sudden = token not in _FOLLOWING


class Cursor:
    """Reads the tokens of one chunk of text after the other.

    Attributes:
        problems: Collects the errors.
        texts: The tokens of the chunk, or of a line in it.
        starts: Where they begin in the chunk.
        at: The index of the next token.
        outer: While the tokens of a line are read: the tokens of the chunk, and which
            of them the line is.
    """

    def __init__(self, problems: ErrorList) -> None:
        self.problems = problems
        self._source_name = problems.source_name
        self.texts: list[str] = []
        self.starts: Sequence[int] = ()
        self.at: int = 0
        self.outer: tuple[list[str], Sequence[int], int] | None = None
        self._signs_end = 0  # up to here signs belong to no number

    def enter_chunk(self, piece: Chunk, first_line: int) -> None:
        """Start at the beginning of a chunk, whose first line has that number."""
        self.texts, self.starts = piece.tokens
        self.at, self._lines = 0, piece.lines
        self._first_line = first_line
        self._line, self._line_start = first_line, 0
        self._line_end = self._lines[1] - 1
        self.outer = None
        self._signs_end = 0

    def enter_line(self) -> None:
        """Continue with the tokens of the next token, which is a line."""
        at = self.at
        texts, starts = scan_line(self.texts[at])
        self.outer = self.texts, self.starts, at
        start = self.starts[at]
        self.texts, self.starts, self.at = texts, [start + one for one in starts], 0
        self._signs_end = 0

    def leave_line(self) -> None:
        """Continue behind the line, after all of its tokens have been read."""
        assert self.outer is not None
        self.texts, self.starts, at = self.outer
        self.at, self.outer, self._signs_end = at + 1, None, 0

    def go_on_from(self, other: Cursor) -> None:
        """Move to the place of another cursor over this text."""
        self.texts, self.starts, self.at = other.texts, other.starts, other.at
        self._lines, self._first_line = other._lines, other._first_line
        self._line, self._line_start = other._line, other._line_start
        self._line_end, self.outer = other._line_end, other.outer

    def span(self, first: int, last: int) -> Span:
        """Return the span from one token to another."""
        return self.stretch(
            self.starts[first], self.starts[last] + len(self.texts[last])
        )

    def stretch(self, start: int, stop: int) -> Span:
        """Return the span between two positions in the chunk."""
        if start > self._line_end:
            # Most positions are in the line read from last, or the next one.
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
        """Consume a token, and return its index.

        Args:
            text: The token.
            expected: All valid tokens, in words, for the error message.
        """
        at = self.at
        if self.texts[at] != text:
            self.fail(expected or f"'{text}'")
        self.at = at + 1
        return at

    def expect_name(self) -> int:
        """Consume a name, and return its index."""
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
        """Raise `UnexpectedToken` for the next token."""
        if is_line(self.texts[self.at]):
            self.enter_line()
        raise UnexpectedToken(self.at, self.texts[self.at], expected)

    def are_adjacent(self, at: int) -> bool:
        """Return whether a token is directly followed by the next one."""
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
        """Consume a number, signed or not, and return its value.

        Each of several signs negates it, as in `--1`.
        """
        first = last = self.at
        while self.texts[last] == "-":
            last += 1
        sign = "-" * ((last - first) % 2)
        self.at = last + 1
        text = sign + self.texts[last]
        return self.converted((first, last), text, convert, default)

    def begins_float_word(self, words: Container[str]) -> bool:
        """Return whether a word for a float begins here; a sign is next to it.

        Args:
            words: Their spellings here, such as `nanf`.
        """
        at = self.at
        has_sign = self.texts[at] == "-" and self.are_adjacent(at)
        return self.texts[at + has_sign] in words

    def float_word(self, words: Mapping[str, str]) -> float:
        """Consume a word for a float, such as `-nan(5)`, and return its value.

        Args:
            words: The words by their spellings here.
        """
        first = self.at
        sign = "-" * self.is_next("-")
        text = sign + words[self.texts[self.at]]
        self.at += 1
        at = self.at  # of what a NaN carries: three tokens next to each other
        if self.texts[at] == "(" and self.are_adjacent(at - 1):
            closes = self.texts[at + 2] == ")"
            if not (closes and self.are_adjacent(at) and self.are_adjacent(at + 1)):
                self.fail("what a NaN carries, as in nan(1)")
            self.at += 3
            text += "".join(self.texts[at : self.at])
        return self.converted((first, self.at - 1), text, float_of_word, 0.0)

    def converted(
        self,
        where: tuple[int, int],
        text: str,
        convert: Callable[[str], T],
        default: T,
    ) -> T:
        """Return the value of a text made of some tokens.

        Args:
            where: The first and the last token.
            text: The text.
            convert: Converts the text; raises `ValueError` if it is invalid.
            default: The result for an invalid text, after the error is reported.
        """
        try:
            return convert(text)
        except ValueError as error:
            self.problems.report(self.span(*where), str(error))
            return default


def is_name(token: str) -> bool:
    """Return whether a token is a name, such as `x` or `nn.relu`."""
    # A token that ends so begins with one: `meta[relay.Constant][0]`, or a line.
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
