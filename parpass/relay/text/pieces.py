"""Where a long text is cut, so that no more than a piece of it is tokens at a time."""

from __future__ import annotations

import re

from parpass.relay.text.scanner import END, OPEN_COMMENT, Tokens, scan

_LEAST = 1 << 16  # characters
_DEFINITION = re.compile(r"^[ \t]*(?=def[ \t]+@)", re.MULTILINE)


def piece_at(text: str, begin: int) -> tuple[Tokens, int]:
    """Return the tokens of the piece that begins at a place, and where it ends.

    A piece ends before a line that begins with `def @`. No token goes on from one line
    to the next, so that is the beginning of a function, or an error, or stands in a
    comment: then the piece is longer. The `def` is the last token of the piece.
    """
    length = _LEAST
    while True:
        found = _DEFINITION.search(text, begin + length)
        end = found.start() if found else len(text)
        tokens = scan(text[begin:end], lines=True)
        if found is None:
            return tokens, end
        comment_end = -1
        if tokens.texts[-2] == OPEN_COMMENT:
            comment_end = text.find("*/", end)
        if comment_end < 0:
            break
        length = max(2 * length, comment_end - begin)
    if tokens.texts[-2] == END:
        tokens.texts[-2] = "def"
        tokens.starts[-1] = found.end() - begin
    return tokens, end
