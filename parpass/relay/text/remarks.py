"""What stands behind a node in a text: its type and its origin, as comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parpass.ir.node import Node
from parpass.ir.types.ty import Type
from parpass.relay.expr import Call, Constant

if TYPE_CHECKING:
    from parpass.diagnostic import Span
    from parpass.ir.tenants import Annotate

_LONGEST = 1000  # characters; a type may be a thousand times as long as what it is of
_MOST = 2**27  # characters of comments in a text
_NOT_IN_A_COMMENT = re.compile(r"\*/|/\*|[\x00-\x1f]")


class Remarks:
    """Writes comments that mean nothing to the parser.

    A type that is very long is cut short, and once comments take up very much there are
    no more of them: a program whose text is short has one that can be read.

    Args:
        annotate: Returns what stands behind a node, in place of the types.
    """

    def __init__(self, annotate: Annotate | None) -> None:
        self._annotate = annotate
        self._left = _MOST
        self._types: dict[int, tuple[Type, str]] = {}  # kept, or ids could recur

    def behind(self, expr: Node) -> str:
        """Return what stands behind a node that is no constant."""
        origin = _origin(expr.span) if isinstance(expr, Call) else ""
        if self._annotate is not None:
            return origin + self._annotate(expr)
        if isinstance(expr, Call) and expr.checked_type_ is not None:
            return origin + self._type(expr.checked_type_)
        return origin

    def behind_constant(self, constant: Constant, is_typed: bool) -> str:
        """Return what stands behind a constant, its type if the program has types."""
        if self._annotate is not None:
            return self._annotate(constant)
        return self._type(constant.checked_type) if is_typed else ""

    def _type(self, typ: Type) -> str:
        known = self._types.get(id(typ))
        if known is None:
            text = str(typ)
            short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
            known = self._types[id(typ)] = typ, _comment(f"ty={short}")
        self._left -= len(known[1])
        return known[1] if self._left >= 0 else ""


def _origin(span: Span | None) -> str:
    """Return where a call is from, if that is known by a name alone.

    A place in a text has a line; diagnostics show that line.
    """
    if span is None or span.line > 0:
        return ""
    return _comment(str(span.source_name)[:_LONGEST])


def _comment(text: str) -> str:
    return "" if _NOT_IN_A_COMMENT.search(text) else f" /* {text} */"
