"""Functions that are text, until a pass takes them: workers parse what they work on."""

from __future__ import annotations

import contextlib
import dataclasses
import marshal
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span as XDSLSpan

from parpass.adapters.xdsl.attribute_bytes import VERSION
from parpass.adapters.xdsl.box import Box
from parpass.adapters.xdsl.codec import symbols_in_text
from parpass.adapters.xdsl.xdsl_environment import Environment
from parpass.diagnostic import Diagnostic, Span
from parpass.errors import UnreadFunctionError

_UNIT = 35  # characters, about those of an operation


class FunctionText(NamedTuple):
    """A function as text.

    Attributes:
        aliases: What stands before it that it may use.
        text: The function.
        body: Where its body is in that, with its braces.
        line: The number of the line on which it begins.
        column: That of the column, which counts from 1, too.
        source_name: The name of the file that it is from.
    """

    aliases: str
    text: str
    body: tuple[int, int]
    line: int
    column: int
    source_name: str

    def parsed(self, environment: Environment) -> Sequence[Operation]:
        """Return the function.

        Raises:
            UnreadFunctionError: It cannot be read; the place is that in the file.
        """
        try:
            return self._parsed(environment, self.aliases + self.text)
        except ParseError:
            blank = "\n" * (self.line - 1 - self.aliases.count("\n"))
            blank += " " * (self.column - 1)
            with telling_of_text():
                self._parsed(environment, self.aliases + blank + self.text)
            raise

    def without_body(self, environment: Environment) -> Sequence[Operation]:
        """Return the function without what is in it."""
        begin, end = self.body
        text = f"{self.text[:begin]}{{}}{self.text[end:]}"
        try:
            return self._parsed(environment, self.aliases + text)
        except ParseError:
            return self.parsed(environment)

    def _parsed(self, environment: Environment, text: str) -> Sequence[Operation]:
        parser = Parser(environment.context(), text, self.source_name)
        ops = list(parser.parse_module().ops)
        for op in ops:
            op.detach()
        return ops


@contextlib.contextmanager
def telling_of_text() -> Generator[None]:
    """Have an error of xDSL's parser raised as one of the program, with its place.

    Raises:
        UnreadFunctionError: There was one.
    """
    try:
        yield
    except ParseError as error:
        told = Diagnostic.error(_span(error.span), error.msg)
        raise UnreadFunctionError(str(error).rstrip(), [told]) from error


def _span(place: XDSLSpan[Any]) -> Span:
    begin = place.get_location()
    end = dataclasses.replace(place, start=place.end).get_location()
    return Span(begin.file, begin.line, end.line, begin.col, end.col)


class TextBox(Box):
    """A box of a function that is not parsed yet.

    Args:
        source: The function.
        environment: The dialects that it may use.
    """

    def __init__(self, source: FunctionText, environment: Environment) -> None:
        super().__init__(prints=True)
        self._source, self._environment = source, environment

    @property
    def size(self) -> int:
        """About how many operations are in it."""
        return len(self._source.text) // _UNIT + 1

    @property
    def signature(self) -> bytes:
        """What functions that refer to this one may rely on: it without its body."""
        if self._signature is None:
            ops = self._source.without_body(self._environment)
            self._signature = self.stated_by(ops)
        return self._signature

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of what it refers to, and perhaps some more."""
        return symbols_in_text(self._source.aliases + self._source.text)

    def take(self) -> Sequence[Operation]:
        """Return its operations, which are the caller's; the text stays, and is all."""
        try:
            return self._own.pop()
        except IndexError:
            return self._source.parsed(self._environment)

    def pack(self) -> tuple[Any, ...]:
        """Return what `marshal` writes of it: the text."""
        return (tuple(self._source),)

    def _read(self) -> Sequence[Operation]:
        if not self._own:
            self._own.append(self._source.parsed(self._environment))
        return self._own[-1]


def packed(box: Box) -> bytes:
    """Return a box as bytes."""
    return marshal.dumps(box.pack(), VERSION)


def unpacked(content: bytes | memoryview, environment: Environment) -> Box:
    """Return a box from `packed`; text is parsed in an environment."""
    fields = marshal.loads(content)
    if len(fields) == 1:
        return TextBox(FunctionText(*fields[0]), environment)
    return Box.unpack(*fields)
