"""The lexer: splits one chunk of text into tokens at a time.

One regular expression splits the text into tokens and the blanks between them: a call
for each token would take as long as the rest of the parser. A token does not depend on
its predecessors, so a sign is a token of its own, as is `<`, and the parser looks at
the neighbours. `chunk_at` cuts a long text, so that only one chunk of it is tokens at a
time.
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

# An unterminated string or comment is a token too, up to the end of its line or of the
# text. Otherwise the search would begin again at each quote in it.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
GLOBAL = rf"@(?:{_NAME}(?:\.{_NAME})*|{_STRING})"
_REST = r'[^()"/;\n]*'
_TYPE = r"/\*\ ty=[^*/\n]*\*/"  # as the printer writes it
_LINE = (
    rf"(?:let\ )?%(?:{_NAME}|[0-9]+)\ =\ [%@A-Za-z0-9_.]+"
    rf'\({_REST}(?:(?:"[^"\\\n]*"|{_TYPE}){_REST})*\)(?:\ {_TYPE})?;'
)
_TOKEN = rf"""
    %(?:{_NAME}|[0-9]+|{_STRING})
    | [(),;{{}}\]:?]
    | meta\[relay\.Constant\]\[[0-9]+\]
    | {_NAME}(?:\.{_NAME})*
    | [0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:f(?:16|32|64)?|[iu](?:8|16|32|64))?
    | => | [<>=]=? | -> | [-+*\[] | !=? | && | \|\| | \#\[
    | {GLOBAL}
    | {_STRING}
    | \.[0-9]+
    | "[^\n]*(?:\n|\Z)
    | // [^\n]*
    | /\*(?s:.*?)(?:\*/|\Z)
    | /
"""
_TOKENS = re.compile(f"({_TOKEN})", re.VERBOSE)
_LINES_AND_TOKENS = re.compile(f"({_LINE} | {_TOKEN})", re.VERBOSE)
_COMMENT_SIGN = re.compile(r"/\*|\*/")
_NO_LINE_END = re.compile(r"[^\n]")
# A comment's begin, and tokens that may contain it without beginning one.
_OPAQUE = re.compile(rf'{_STRING}|"[^\n]*(?:\n|\Z)|//[^\n]*|/\*')
_ENDED = re.compile(rf"(?!\"|/\*)|{_STRING}\Z|/\*(?s:.*?)\*/")
_BLANK = " \t\r\n\f"


class Tokens(NamedTuple):
    """Tokens and their positions.

    Attributes:
        texts: The tokens; the last one is END, or begins with STRAY, followed by
            another END for lookahead. A token that begins with a quote and ends with a
            line is an unterminated string.
        starts: Where each begins, in characters from the beginning of the scanned text.
    """

    texts: list[str]
    starts: array[int]


def scan(piece: str) -> Tokens:
    """Return the tokens of a text, in which whole lines may be tokens."""
    tokens = _split(_LINES_AND_TOKENS, piece)
    if "//" not in piece and "/*" not in piece:
        return tokens
    if any(one[:2] == "/*" and "/*" in one[2:] for one in tokens.texts):
        tokens = _split(_LINES_AND_TOKENS, without_comments(piece))
    texts, starts = tokens
    kept = [at for at, one in enumerate(texts) if one[:2] not in {"//", "/*"}]
    if len(kept) == len(texts):
        return tokens
    places = array("q", [starts[at] for at in kept[:-1]])
    return Tokens([texts[at] for at in kept], places)


def scan_line(line: str) -> Tokens:
    """Return the tokens of a line that was one token."""
    return _split(_TOKENS, without_comments(line))


def without_comments(text: str) -> str:
    """Return a text with its comments, which may be nested, replaced by blanks.

    An unterminated comment keeps its beginning, and nothing behind it.
    """
    if "/*" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (found := _OPAQUE.search(text, at)) is not None:
        begin, end = found.span()
        if found[0] != "/*":
            parts.append(text[at:end])
        else:
            end = _comment_end(text, end)
            if not end:
                return "".join((*parts, text[at : begin + 2]))
            parts += text[at:begin], _NO_LINE_END.sub(" ", text[begin:end])
        at = end
    return "".join((*parts, text[at:]))


def _comment_end(text: str, inside: int) -> int:
    """Return where a comment ends, 0 if nowhere; `inside` is behind its beginning."""
    depth = 1
    for found in _COMMENT_SIGN.finditer(text, inside):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return found.end()
    return 0


def line_starts(piece: str) -> Sequence[int]:
    """Return where each line of a chunk begins, and where the next one would."""
    lengths = (len(line) + 1 for line in piece.split("\n"))
    return array("q", accumulate(lengths, initial=0))


def _split(pattern: re.Pattern[str], text: str) -> Tokens:
    parts = pattern.split(text)
    texts, between = parts[1::2], parts[::2]
    starts = array("q", accumulate(map(len, parts)))[::2]
    strays = {one for one in set(between) if one.strip(_BLANK)}
    if strays:
        at = next(at for at, one in enumerate(between) if one in strays)
        stray = between[at].lstrip(_BLANK)
        starts[at] -= len(stray)
        _cut(texts, starts, at, stray)
    elif texts and not _ENDED.match(texts[-1]):
        _cut(texts, starts, len(texts) - 1, texts[-1])
    else:
        texts.append(END)
    texts.append(END)
    return Tokens(texts, starts)


def _cut(texts: list[str], starts: array[int], at: int, stray: str) -> None:
    """Replace the tokens from an invalid one on."""
    texts[at:] = [STRAY + stray[0]]
    del starts[at + 1 :]


_LEAST_CHUNK = 1 << 16  # characters
# A function begins with `def @f`, or with `@f = primfn`.
_DEFINITION = re.compile(
    rf"^[ \t]*(?=(def)[ \t]+@|({GLOBAL})[ \t]*=[ \t]*primfn\b)", re.MULTILINE
)


class Chunk(NamedTuple):
    """A part of a text.

    Attributes:
        tokens: Its tokens.
        lines: Where its lines begin in it.
        end: Where it ends in the text.
    """

    tokens: Tokens
    lines: Sequence[int]
    end: int


def chunk_at(text: str, begin: int) -> Chunk:
    """Return the chunk of a text that begins at a position, the begin of a line.

    A chunk ends before a line that begins like a function. No token spans lines, so
    this line begins a function, or is an error, or is in a comment: then the chunk is
    longer. The last token of the chunk is the first one of that function, such as
    `def`.
    """
    length = _LEAST_CHUNK
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
    return Chunk(tokens, line_starts(piece), end)
