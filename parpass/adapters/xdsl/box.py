"""Boxes: functions of xDSL as values, which passes cannot change behind anyone's back.

An operation can be changed in place and has one parent, so modules cannot share it. A
box is its bytes, which say all of it, and perhaps an operation that nobody else has. A
pass takes that out, or has one made from the bytes, and puts what comes of it into a
new box.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove

from parpass.adapters.xdsl.codec import decode, encode, symbols_in

# Functions that may be without a body.
_DECLARED = frozenset(("func.func", "llvm.func", "riscv_func.func", "x86_func.func"))
_EMPTY, _UNIT = 1_400, 50  # bytes, about those of no operation, and of each


class Box:
    """Operations that stand by themselves: a function, or what a pass made of it.

    Args:
        ops: The operations, which are the box's from now on; None where there are
            bytes.
        content: They as bytes.
        signature: What others rely on, if that is known; see `signature`.
        made_by: The pass that made it, if one did.
        prints: Whether its text is wanted in the end, so that workers print it.
        text: Its text, if that is known.

    Attributes:
        made_by: The same as the argument.
        prints: The same as the argument.
        verified_with: What others stated of themselves when this was last verified.
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
        # A list, as to pop from one is atomic: several threads may run passes on a box.
        self._own = [] if ops is None else [ops]
        self._lent: Operation | None = None
        self._content = content
        self._signature: bytes | None = signature
        self._text = text
        self.made_by, self.prints = made_by, prints
        self.verified_with: object = None

    @classmethod
    def of(cls, op: Operation) -> Box:
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
            self._content = encode(self._read(), tidy=self._lent is None)
        return self._content

    @property
    def signature(self) -> bytes:
        """What functions that refer to this one may rely on: it without its body."""
        if self._signature is None:
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
            for op in self._read():
                Printer(stream).print_op(op)
            self._text = stream.getvalue()
        return self._text

    @property
    def is_one(self) -> bool:
        """Whether it is one operation, to which passes have added none."""
        return self._text is not None or len(self._read()) == 1

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
        try:
            return self._own.pop()
        except IndexError:
            return decode(content)

    def give_back(self, ops: Sequence[Operation]) -> None:
        """Keep operations that were taken, are the same still, and are in no block."""
        if not self._own:
            self._own.append(ops)

    def _read(self) -> Sequence[Operation]:
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
    def unpack(*packed: Any) -> Box:
        """Return the box from `pack`."""
        content, signature, made_by, prints, text = packed
        return Box(
            content=content,
            signature=signature,
            made_by=made_by,
            prints=prints,
            text=text,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Box) and self.content == other.content

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
