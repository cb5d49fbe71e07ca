"""Where a long text is cut, so that no more than a piece of it is tokens at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from parpass.ir.text.scanner import (
    END,
    GLOBAL,
    OPEN_COMMENT,
    Tokens,
    line_starts,
    scan,
)

_LEAST = 1 << 16  # characters
# A function begins with `def @f`, or with `@f = primfn`.
_DEFINITION = re.compile(
    rf"^[ \t]*(?=(def)[ \t]+@|({GLOBAL})[ \t]*=[ \t]*primfn\b)", re.MULTILINE
)


class Piece(NamedTuple):
    """A piece of a text.

    Attributes:
        tokens: Its tokens.
        lines: Where its lines begin in it.
        end: Where it ends in the text.
    """

    tokens: Tokens
    lines: Sequence[int]
    end: int


def piece_at(text: str, begin: int) -> Piece:
    """Return the piece of a text that begins at a place, with a line.

    A piece ends before a line that begins as a function does. No token goes on from one
    line to the next, so that is the beginning of a function, or an error, or stands in
    a comment: then the piece is longer. The last token of the piece is the first one of
    that function, such as `def`.
    """
    length = _LEAST
    while True:
        following = _DEFINITION.search(text, begin + length)
        end = following.start() if following else len(text)
        piece = text[begin:end]
        texts, starts = tokens = scan(piece)
        comment_end = -1
        if following and texts[-2] == OPEN_COMMENT:
            comment_end = text.find("*/", end)
        if comment_end < 0:
            break
        length = max(2 * length, comment_end - begin)
    if following and texts[-2] == END:
        texts[-2] = following[1] or following[2]
        starts[-1] = following.end() - begin
    return Piece(tokens, line_starts(piece), end)
