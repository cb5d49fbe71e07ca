"""The scanner: from text to tokens, all of a piece of text at once.

One regular expression splits the text into tokens and what is between them: a call for
each token would take as long as all else that the parser does with it. What a token
is does not depend on what stands before it. So a sign is a token of its own, as is
`<`, and the parser asks what is next to them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

END = ""  # the last token of a text
STRAY = "\0"  # begins what is no token; the character follows
OPEN_COMMENT = STRAY + "/"

# A string or a comment that does not end is a token too, up to the end of its line or
# of the text. If it was none, it would be looked for again from each quote in it.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_REST = r'[^()"/;\n]*'
_LINE = (
    rf"(?:let\ )?%(?:{_NAME}|[0-9]+)\ =\ [%@A-Za-z0-9_.]+"
    rf'\({_REST}(?:"[^"\\\n]*"{_REST})*\);'
)
_TOKEN = rf"""
    %(?:{_NAME}|[0-9]+|{_STRING})
    | [(),;{{}}\]:?]
    | meta\[relay\.Constant\]\[[0-9]+\]
    | {_NAME}(?:\.{_NAME})*
    | [0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:f(?:16|32|64)?|[iu](?:8|16|32|64))?
    | [<>=]=? | -> | [-+*\[] | != | \#\[
    | @(?:{_NAME}(?:\.{_NAME})*|{_STRING})
    | {_STRING}
    | \.[0-9]+
    | "[^\n]*(?:\n|\Z)
    | // [^\n]*
    | /\*(?s:.*?)(?:\*/|\Z)
    | /
"""
_TOKENS = re.compile(f"({_TOKEN})", re.VERBOSE)
_LINES_AND_TOKENS = re.compile(f"({_LINE} | {_TOKEN})", re.VERBOSE)
_ENDED = re.compile(rf"(?!\"|/\*)|{_STRING}\Z|/\*(?s:.*?)\*/")
_BLANK = " \t\r\n\f"


class Tokens(NamedTuple):
    """The tokens of a piece of text.

    Attributes:
        texts: The tokens; the last one is END, or begins with STRAY, and after it is
            an END again, so that one may look ahead. One that begins with a quote and
            ends with a line is a string that does not end.
        starts: Where each begins, in characters from the beginning of the piece.
        lines: Where each line of the piece begins, likewise, and where the last ends.
    """

    texts: list[str]
    starts: array[int]
    lines: Sequence[int]


def scan(piece: str, *, lines: bool) -> Tokens:
    """Return the tokens of a piece of text, comments left out.

    Args:
        piece: The text.
        lines: Whether a line such as `%2 = add(%0, %1);` is one token.
    """
    parts = (_LINES_AND_TOKENS if lines else _TOKENS).split(piece)
    texts, between = parts[1::2], parts[::2]
    starts = array("q", accumulate(map(len, parts)))[::2]
    blank = {one: not one.strip(_BLANK) for one in set(between)}
    if not all(blank.values()):
        at = next(at for at, one in enumerate(between) if not blank[one])
        stray = between[at].lstrip(_BLANK)
        starts[at] -= len(stray)
        _cut(texts, starts, at, stray)
    elif texts and not _ENDED.match(texts[-1]):
        _cut(texts, starts, len(texts) - 1, texts[-1])
    else:
        texts.append(END)
    if "//" in piece or "/*" in piece:
        kept = [at for at, one in enumerate(texts) if one[:2] not in {"//", "/*"}]
        texts = [texts[at] for at in kept]
        starts = array("q", [starts[at] for at in kept])
    texts.append(END)
    lengths = (len(line) + 1 for line in piece.split("\n"))
    return Tokens(texts, starts, array("q", accumulate(lengths, initial=0)))


def _cut(texts: list[str], starts: array[int], at: int, stray: str) -> None:
    """End the tokens with what is none."""
    texts[at:] = [STRAY + stray[0]]
    del starts[at + 1 :]
