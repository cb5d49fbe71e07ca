"""The syntax tree of pipeline text, which knows no passes, and errors in the text."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parpass.diagnostic import excerpt
from parpass.errors import PipelineSyntaxError
from parpass.fork_safety import forks_wait

if TYPE_CHECKING:
    from lark import UnexpectedInput  # by those alone who read text


_NUMBER = re.compile(r"-?\d")

# The values of unquoted words for options of unknown types.
WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "inf": float("inf"),
    "-inf": float("-inf"),
    "nan": float("nan"),
    "-nan": float("-nan"),
}
MAX_DEPTH = 100  # levels of passes in passes, and of lists in lists
MAX_FAULTS = 10  # faults that are shown of one text
_MAX_LINE_CHARS = 72  # characters of a line
_MAX_CACHED_CHARS = 1_000  # characters of a text whose tree is cached

# The terminals, in the order in which messages list them.
_TERMINALS = {
    "NAME": "a pass name",
    "KEY": "an option name",
    "WORD": "a value",
    "LSQB": "'['",
    "EQUAL": "'='",
    "COMMA": "','",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "LBRACE": "'{'",
    "LPAR": "'('",
    "RPAR": "')'",
    "$END": "the end",
}
# A word, or another character: the part of the text that a message quotes.
_GOT = re.compile(r"[\w.-]+|.")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word, a number or a string.

    Attributes:
        value: The value for an option of unknown type.
        word: The value for an option that expects a string; None if it is quoted.
    """

    value: Any
    word: str | None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `depth` is the number of lists in each other, this one included."""

    elements: Sequence[Value]
    depth: int


Value = Scalar | Items


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass, at an offset in the text."""

    at: int
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Item:
    """A pass, at an offset in the text.

    Attributes:
        children: The passes in parentheses; None if there are no parentheses.
        depth: The number of passes or lists in each other, this pass included.
    """

    at: int
    name: str
    options: Sequence[Option]
    children: Sequence[Item] | None
    depth: int


class TreeBuilder:
    """Called by the parser with the parts of each rule, from the inside out."""

    def pipeline(self, parts: list[Any]) -> list[Any]:
        return parts

    children = options = pipeline

    def item(self, parts: list[Any]) -> Item:
        name, options, children = parts
        inside = [option.value for option in options or ()] + (children or [])
        depth = 1 + max((part.depth for part in inside), default=0)
        return Item(name.start_pos, str(name), options or (), children, depth)

    def option(self, parts: list[Any]) -> Option:
        key, *value = parts
        name = key.replace("-", "_")
        return Option(key.start_pos, name, value[0] if value else Scalar(True, None))

    def bracketed(self, parts: list[Any]) -> Items:
        return Items(parts, 1 + max((part.depth for part in parts), default=0))

    flat_list = bracketed

    def word(self, parts: list[Any]) -> Scalar:
        word = str(parts[0])
        if word in WORDS:
            return Scalar(WORDS[word], word)
        if _NUMBER.match(word):
            try:
                return Scalar(json.loads(word), word)
            except ValueError:
                pass  # such as a version, 1.2.3
        return Scalar(word, word)

    def string(self, parts: list[Any]) -> Scalar:
        quoted = str(parts[0])
        if quoted[0] == "'":
            return Scalar(quoted[1:-1], None)
        return Scalar(json.loads(quoted, strict=False), None)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the text at an offset."""

    at: int
    message: str


def read_items(text: str) -> Sequence[Item]:
    """Return the passes that pipeline text names.

    A service runs the same few texts repeatedly, and parsing one leaves 84 kB of
    garbage behind, so the trees of short texts are cached.

    Raises:
        PipelineSyntaxError: The text does not match the grammar.
    """
    return _read_cached(text) if len(text) <= _MAX_CACHED_CHARS else _read(text)


def _read(text: str) -> Sequence[Item]:
    parser = _parser()
    from lark import UnexpectedInput  # loaded by now

    faults: list[Fault] = []
    last = 0  # the last offset at which the parser skipped something

    def on_error(error: UnexpectedInput) -> bool:
        nonlocal last
        at = _error_offset(error, text)
        # After a comma it is another fault, otherwise the same one.
        if not faults or "," in text[last + 1 : at]:
            faults.append(_fault(error, text, at))
        last = at
        return at < len(text) and len(faults) < MAX_FAULTS

    items: list[Item] = []
    with contextlib.suppress(UnexpectedInput):  # recorded by on_error
        items = parser.parse(text, on_error=on_error)
    faults += [
        Fault(item.at, f"passes are nested more than {MAX_DEPTH} deep")
        for item in items
        if item.depth > MAX_DEPTH
    ]
    if faults:
        raise syntax_error(text, faults)
    return tuple(items)


_read_cached = functools.lru_cache(maxsize=128)(_read)


def syntax_error(text: str, faults: Iterable[Fault]) -> PipelineSyntaxError:
    located: list[tuple[int, int, str]] = []
    shown: list[str] = []
    for fault in sorted(faults, key=lambda fault: fault.at):
        start = text.rfind("\n", 0, fault.at) + 1
        line, column = text.count("\n", 0, start) + 1, fault.at - start + 1
        located.append((line, column, fault.message))
        place = f"line {line}, column {column}" if "\n" in text else f"column {column}"
        excerpt = _excerpt(text, start, fault.at)
        shown.append(f"{place}: {fault.message}\n{excerpt}")
    return PipelineSyntaxError("\n".join(shown), faults=located)


def _excerpt(text: str, start: int, at: int) -> str:
    line = re.sub(r"\s", " ", text[start:].partition("\n")[0])
    shown, place = excerpt(line, at - start, _MAX_LINE_CHARS)
    return f"  {shown}\n  {' ' * place}^"


@functools.cache
def _parser() -> Any:
    with forks_wait():
        # Loaded here, because workers need none of it.
        from lark import Lark

    parser: Any = Lark  # whose annotations are not complete
    return parser.open(
        "grammar.lark",
        rel_to=__file__,
        start="pipeline",
        parser="lalr",
        transformer=TreeBuilder(),
    )


def _error_offset(error: Any, text: str) -> int:
    token = getattr(error, "token", None)
    at_end = token is not None and token.type == "$END"
    return len(text.rstrip()) if at_end else error.pos_in_stream


def _fault(error: Any, text: str, at: int) -> Fault:
    allowed: set[str] = getattr(error, "accepts", None) or error.allowed
    words = [_TERMINALS[name] for name in _TERMINALS if name in allowed]
    expected = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    found = _GOT.match(text, at)
    got = f"'{found[0]}'" if found else "the end"
    return Fault(at, f"expected {expected}, got {got}{_hint(got, allowed)}")


def _hint(got: str, allowed: Iterable[str]) -> str:
    match got:
        case "'<'" if "LBRACE" in allowed:
            return "; options are written in braces, as in 'Name{option=value}'"
        case "'='":
            return "; options are separated by blanks, and lists by commas"
        case "'\"'":
            return "; a string ends with '\"' and has JSON's escapes"
        case _:
            return ""
