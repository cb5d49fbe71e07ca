"""Cutting MLIR's text into functions, without parsing what is in them.

What is cut is what is understood: a module, or a list of operations, whose functions
begin on lines of their own, in the form in which they are printed. Of anything else
nothing is said, and the text is to be parsed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NESTED = re.compile(rf"{_STRING}|//[^\n]*|[(){{}}\[\]]")
_SKIPPED = re.compile(r"(?:\s+|//[^\n]*)*")
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})|(?P<word>[A-Za-z_][\w$.]*)|(?P<metadata>\{{-#)"
    rf"|(?P<name>[@%^#!](?:[\w$.-]+|{_STRING}))|(?P<arrow>->)|(?P<open>[({{\[])"
    r"|(?P<other>[^\s)}\]])"
)
_CLOSING = {"(": ")", "{": "}", "[": "]"}
_FUNCTIONS = frozenset(("func.func", "riscv_func.func"))
_SYMBOL = re.compile(r'\bsym_name\s*=\s*"([\w$.-]+)"')
_PLAIN = re.compile(r"@[\w$.-]+")


class Token(NamedTuple):
    """A token, or all between brackets, with them.

    Attributes:
        kind: string, word, metadata, name, arrow or other; or the opening bracket.
        begin: Where it begins in the text.
        end: Where it ends.
    """

    kind: str
    begin: int
    end: int


class TopLevelOp(NamedTuple):
    """An operation at the top of a module; a function if it has a name.

    Attributes:
        begin: Where it begins in the text.
        end: Where it ends.
        name: The function's name.
        body: Where its body is, with the braces.
    """

    begin: int
    end: int
    name: str = ""
    body: tuple[int, int] = (0, 0)


class SplitText(NamedTuple):
    """A text that was cut.

    Attributes:
        aliases: Where the aliases are that all operations may use.
        head: The text up to the operations, without aliases.
        pieces: The operations.
        tail: The text after them.
    """

    aliases: tuple[int, int]
    head: str
    pieces: Sequence[TopLevelOp]
    tail: str


class _UnsureError(Exception):
    """The text is not of a form that is understood here."""


def split_module(text: str) -> SplitText | None:
    """Return where the operations of a module are; None if that is not sure."""
    try:
        return _split_module(text)
    except _UnsureError:
        return None


def _split_module(text: str) -> SplitText:
    tokens = list(_tokens(text, 0, len(text)))
    at = _after_aliases(text, tokens)
    aliases = (0, tokens[at].begin if at < len(tokens) else len(text))
    rest = tokens[at:]
    first = text[rest[0].begin : rest[0].end] if rest else ""
    if first in ("", '"builtin.module"'):
        raise _UnsureError
    if first not in ("builtin.module", "module"):
        return SplitText(aliases, "", _top_level_ops(text, rest), "")
    body = _body_of_module(text, rest)
    inner = list(_tokens(text, body.begin + 1, body.end - 1))
    head = text[aliases[1] : body.begin + 1]
    return SplitText(aliases, head, _top_level_ops(text, inner), text[body.end - 1 :])


def _tokens(text: str, begin: int, end: int) -> Iterator[Token]:
    at = _skipped(text, begin)
    while at < end:
        found = _TOKEN.match(text, at, end)
        if found is None:
            raise _UnsureError
        kind = str(found.lastgroup)
        if kind == "metadata":
            raise _UnsureError
        if kind == "open":
            close = _close_of(text, at)
            yield Token(text[at], at, close)
            at = _skipped(text, close)
            continue
        yield Token(kind, at, found.end())
        at = _skipped(text, found.end())


def _skipped(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    return at if found is None else found.end()


def _close_of(text: str, begin: int) -> int:
    """Return where what opens here has closed."""
    expected: list[str] = []
    for found in _NESTED.finditer(text, begin):
        bracket = found[0]
        if bracket in _CLOSING:
            expected.append(_CLOSING[bracket])
        elif len(bracket) == 1:
            if bracket != expected.pop():
                raise _UnsureError
            if not expected:
                return found.end()
    raise _UnsureError


def _begins_line(text: str, token: Token) -> bool:
    return not text[text.rfind("\n", 0, token.begin) + 1 : token.begin].strip()


def _is_alias(text: str, tokens: Sequence[Token], at: int) -> bool:
    token, after = tokens[at], tokens[at + 1 : at + 2]
    return (
        token.kind == "name"
        and text[token.begin] in "#!"
        and [text[one.begin : one.end] for one in after] == ["="]
    )


def _after_aliases(text: str, tokens: Sequence[Token]) -> int:
    """Return the index of the first token after the aliases, each of one line."""
    at = 0
    while at < len(tokens) and _is_alias(text, tokens, at):
        at += 1
        while at < len(tokens) and not _begins_line(text, tokens[at]):
            at += 1
    return at


def _body_of_module(text: str, tokens: Sequence[Token]) -> Token:
    kinds = [
        "a" if text[one.begin : one.end] == "attributes" else one.kind for one in tokens
    ]
    for form in (["word", "{"], ["word", "a", "{", "{"]):
        if kinds == form:
            return tokens[-1]
    raise _UnsureError


def _top_level_ops(text: str, tokens: Sequence[Token]) -> list[TopLevelOp]:
    starts = [at for at in range(len(tokens)) if _starts(text, tokens, at)]
    if starts[:1] != [0][: len(tokens)]:
        raise _UnsureError
    ends = [*starts[1:], len(tokens)][: len(starts)]
    parts = [tokens[begin:end] for begin, end in zip(starts, ends, strict=True)]
    pieces = [_top_level_op(text, part) for part in parts]
    names = [one.name for one in pieces if one.name]
    if len(set(names)) < len(names):
        raise _UnsureError
    return pieces


def _starts(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Return whether an operation begins with a token."""
    token = tokens[at]
    if at and not _begins_line(text, token):
        return False
    word = text[token.begin : token.end]
    if _is_alias(text, tokens, at) or word.startswith("^"):
        raise _UnsureError
    if token.kind == "word":
        if "." not in word and word not in ("attributes", "loc"):
            raise _UnsureError
        return "." in word
    return token.kind == "string" or word.startswith("%")


def _top_level_op(text: str, tokens: Sequence[Token]) -> TopLevelOp:
    begin, end = tokens[0].begin, tokens[-1].end
    kind = text[begin : tokens[0].end]
    if kind in _FUNCTIONS:
        return _function(text, tokens) or TopLevelOp(begin, end)
    if kind.strip('"') in _FUNCTIONS:
        return _generic_function(text, tokens) or TopLevelOp(begin, end)
    return TopLevelOp(begin, end)


def _function(text: str, tokens: Sequence[Token]) -> TopLevelOp | None:
    """Return a function; None for what has no body."""
    words = [text[one.begin : one.end] for one in tokens]
    at = 1
    while at < len(tokens) and tokens[at].kind == "word":
        at += 1
    if at >= len(tokens) - 2 or not _PLAIN.fullmatch(words[at]):
        return None
    if tokens[at + 1].kind != "(":
        return None
    has_location = tokens[-1].kind == "(" and words[-2] == "loc"
    last = len(tokens) - (3 if has_location else 1)
    if tokens[last].kind != "{" or words[last - 1] == "attributes":
        return None
    body = tokens[last].begin, tokens[last].end
    return TopLevelOp(tokens[0].begin, tokens[-1].end, words[at][1:], body)


def _generic_function(text: str, tokens: Sequence[Token]) -> TopLevelOp | None:
    regions = [
        one
        for one in tokens
        if one.kind == "(" and text[_skipped(text, one.begin + 1)] == "{"
    ]
    if len(regions) != 1:
        return None
    [region] = regions
    begin, end = tokens[0].begin, tokens[-1].end
    names = _SYMBOL.findall(text[begin : region.begin] + text[region.end : end])
    body = _skipped(text, region.begin + 1)
    body_end = _close_of(text, body)
    if len(names) != 1 or _skipped(text, body_end) != region.end - 1:
        return None
    if text[body + 1 : body_end - 1].strip() == "":
        return None
    return TopLevelOp(begin, end, names[0], (body, body_end))
