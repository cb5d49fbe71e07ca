"""Functions of xDSL as values, which passes cannot change in place.

An operation can be changed in place and has one parent, so modules cannot share it. An
`OwnedOps` is the function as bytes and perhaps as an operation that nothing else refers
to. A pass takes that operation, or one decoded from the bytes, and its result becomes a
new `OwnedOps`.

`UnparsedOps` are text until a pass takes them: workers parse the functions of their
jobs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import marshal
from collections.abc import Generator, Sequence
from io import StringIO
from threading import RLock
from typing import Any, NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span as XDSLSpan

from parpass.diagnostic import Diagnostic, Span
from parpass.errors import UnreadFunctionError
from parpass.integrations.xdsl.attribute_codec import VERSION
from parpass.integrations.xdsl.context_spec import ContextSpec
from parpass.integrations.xdsl.xdsl_codec import (
    decode,
    encode,
    symbols_in,
    symbols_in_text,
)

# Functions that may be without a body.
_DECLARED = frozenset(("func.func", "llvm.func", "riscv_func.func", "x86_func.func"))
_EMPTY, _UNIT = 1_400, 50  # bytes, about those of no operation, and of each


class OwnedOps:
    """Operations without a parent: a function, or the result of a pass on it.

    Args:
        ops: The operations, which the object owns from now on; None if there are bytes.
        content: The operations as bytes.
        signature: What others rely on, if known; see `signature`.
        made_by: The pass that returned it, if one did.
        prints: Whether workers print it, since its text is wanted in the end.
        text: Its text, if known.

    Attributes:
        made_by: The pass that returned it, if one did.
        prints: Whether workers print it.
        verified_with: The declarations of other functions when it was last verified.
    """

    def __init__(
        self,
        ops: Sequence[Operation] | None = None,
        *,
        content: bytes | None = None,
        signature: bytes | None = None,
        made_by: str = "",
        prints: bool = False,
        text: str | None = None,
    ) -> None:
        # Several threads may run passes on a box. Operations may change as soon as they
        # are taken, so nobody takes them while another one reads, or makes bytes of it.
        self._lock = RLock()
        self._own = [] if ops is None else [ops]
        self._lent: Operation | None = None
        self._content = content
        self._signature: bytes | None = signature
        self._text = text
        self.made_by, self.prints = made_by, prints
        self.verified_with: object = None

    @classmethod
    def of(cls, op: Operation) -> OwnedOps:
        """Return a box of an operation that stays its owner's, and is only read."""
        box = cls()
        box._lent = op
        return box

    @property
    def lent(self) -> Operation | None:
        """The operation that it is of, if that is its owner's."""
        return self._lent

    @property
    def content(self) -> bytes:
        """All of it, as bytes."""
        if self._content is None:
            with self._lock:
                if self._content is None:
                    self._content = encode(self._read(), tidy=self._lent is None)
        return self._content

    @property
    def signature(self) -> bytes:
        """The function without its body, on which functions that refer to it rely."""
        if self._signature is None:
            with self._lock:
                self._signature = self.stated_by(self._read())
        return self._signature

    @staticmethod
    def stated_by(ops: Sequence[Operation]) -> bytes:
        """Return the signature of a box of operations."""
        # What passes have added is behind the first.
        return encode([_declaration(op) for op in ops[:1]])

    @property
    def text(self) -> str:
        """Its text, without a line's end."""
        if self._text is None:
            stream = StringIO()
            with self._lock:
                for op in self._read():
                    Printer(stream).print_op(op)
            self._text = stream.getvalue()
        return self._text

    @property
    def is_one(self) -> bool:
        """Whether it is one operation, to which passes have added none."""
        if self._text is not None:
            return True
        with self._lock:
            return len(self._read()) == 1

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of what it refers to."""
        return symbols_in(self.content)

    @property
    def size(self) -> int:
        """About how many operations are in it."""
        return max(0, len(self.content) - _EMPTY) // _UNIT + 1

    def take(self) -> Sequence[Operation]:
        """Return its operations, which are the caller's from now on."""
        content = self.content
        with self._lock:
            if self._own:
                return self._own.pop()
        return decode(content)

    def give_back(self, ops: Sequence[Operation]) -> None:
        """Keep operations that were taken, are the same still, and are in no block."""
        with self._lock:
            if not self._own:
                self._own.append(ops)

    def _read(self) -> Sequence[Operation]:
        """Return its operations, to be read while the lock is held."""
        if self._lent is not None:
            return [self._lent]
        if self._own:
            return self._own[-1]
        assert self._content is not None
        return decode(self._content)

    def pack(self) -> tuple[Any, ...]:
        """Return what `marshal` writes of it."""
        text = self.text if self.prints and self.is_one else None
        return self.content, self.signature, self.made_by, self.prints, text

    @staticmethod
    def unpack(*packed: Any) -> OwnedOps:
        """Return the box from `pack`."""
        content, signature, made_by, prints, text = packed
        return OwnedOps(
            content=content,
            signature=signature,
            made_by=made_by,
            prints=prints,
            text=text,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self.unpack, self.pack()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, OwnedOps) and self.content == other.content

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- as of a list

    def __repr__(self) -> str:
        return f"<Box of {len(self.content)} bytes>"


def symbol_of(op: Operation) -> str | None:
    """Return the name that an operation defines in its module, if any."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def is_isolated(op: Operation) -> bool:
    """Return whether an operation is by itself: nothing in it refers to values around.

    Unregistered ones are not taken to be.
    """
    if op.operands or op.results or op.successors:
        return False
    return not op.regions or op.has_trait(
        IsolatedFromAbove, value_if_unregistered=False
    )


def _declaration(op: Operation) -> Operation:
    """Return a function without its body; anything else as it is."""
    return op.clone_without_regions() if op.name in _DECLARED else op


_TEXT_UNIT = 35  # characters, about those of an operation


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

    def parsed(self, environment: ContextSpec) -> Sequence[Operation]:
        """Return the function.

        Raises:
            UnreadFunctionError: It cannot be read; the place is that in the file.
        """
        try:
            return self._parsed(environment, self.aliases + self.text)
        except ParseError:
            blank = "\n" * (self.line - 1 - self.aliases.count("\n"))
            blank += " " * (self.column - 1)
            with locate_parse_errors():
                self._parsed(environment, self.aliases + blank + self.text)
            raise

    def without_body(self, environment: ContextSpec) -> Sequence[Operation]:
        """Return the function without what is in it."""
        begin, end = self.body
        text = f"{self.text[:begin]}{{}}{self.text[end:]}"
        try:
            return self._parsed(environment, self.aliases + text)
        except ParseError:
            return self.parsed(environment)

    def _parsed(self, environment: ContextSpec, text: str) -> Sequence[Operation]:
        parser = Parser(environment.context(), text, self.source_name)
        ops = list(parser.parse_module().ops)
        for op in ops:
            op.detach()
        return ops


@contextlib.contextmanager
def locate_parse_errors() -> Generator[None]:
    """Raise errors of xDSL's parser in the block as errors of the program, with spans.

    Raises:
        UnreadFunctionError: The parser raised an error.
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


class UnparsedOps(OwnedOps):
    """A box of a function that is not parsed yet.

    Args:
        source: The function.
        environment: The dialects that it may use.
    """

    def __init__(self, source: FunctionText, environment: ContextSpec) -> None:
        super().__init__(prints=True)
        self._source, self._environment = source, environment

    @property
    def size(self) -> int:
        """About how many operations are in it."""
        return len(self._source.text) // _TEXT_UNIT + 1

    @property
    def signature(self) -> bytes:
        """The function without its body, on which functions that refer to it rely."""
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
        with self._lock:
            if self._own:
                return self._own.pop()
        return self._source.parsed(self._environment)

    def pack(self) -> tuple[Any, ...]:
        """Return what `marshal` writes of it: the text."""
        return (tuple(self._source),)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnparsedOps, (self._source, self._environment)

    def _read(self) -> Sequence[Operation]:
        """Return its operations, to be read while the lock is held."""
        if not self._own:
            self._own.append(self._source.parsed(self._environment))
        return self._own[-1]


def pack_ops(box: OwnedOps) -> bytes:
    """Return a box as bytes."""
    return marshal.dumps(box.pack(), VERSION)


def unpack_ops(content: bytes | memoryview, environment: ContextSpec) -> OwnedOps:
    """Return a box from `pack_ops`; text is parsed in an environment."""
    fields = marshal.loads(content)
    if len(fields) == 1:
        return UnparsedOps(FunctionText(*fields[0]), environment)
    return OwnedOps.unpack(*fields)
