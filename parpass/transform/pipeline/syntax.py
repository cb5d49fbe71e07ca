"""From pipeline text to its tree; and what is wrong with text, shown in it."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parpass.diagnostic import excerpt
from parpass.errors import PipelineSyntaxError
from parpass.transform.pipeline.tree import Item, TreeBuilder

if TYPE_CHECKING:
    from lark import UnexpectedInput  # by those alone who read text

MAX_DEPTH = 100  # of passes in passes and of lists in lists
MAX_FAULTS = 10  # after which no more are looked for
_SHOWN = 72  # characters of a line
_SHORT = 1_000  # characters of a text that is not read again

_TERMINALS = {
    # in the order in which messages list them
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

_GOT = re.compile(r"[\w.-]+|.")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with the text at an offset."""

    at: int
    message: str


def read_items(text: str) -> Sequence[Item]:
    """Return the passes that pipeline text names.

    A service runs the same few texts again and again, and reading one leaves 84 kB of
    garbage behind: so what short ones came to is kept.

    Raises:
        PipelineSyntaxError: The text is not of the grammar; it has the faults.
    """
    return _kept(text) if len(text) <= _SHORT else _read(text)


def _read(text: str) -> Sequence[Item]:
    from lark import UnexpectedInput  # by those alone who read text

    faults: list[Fault] = []
    last = 0  # where the parser had to skip something, whether reported or not

    def on_error(error: UnexpectedInput) -> bool:
        nonlocal last
        at = _place(error, text)
        # What was wrong may go on; after the next comma it is a fault of its own.
        if not faults or "," in text[last + 1 : at]:
            faults.append(_fault(error, text, at))
        last = at
        return at < len(text) and len(faults) < MAX_FAULTS

    items: list[Item] = []
    with contextlib.suppress(UnexpectedInput):  # taken down by on_error
        items = _parser().parse(text, on_error=on_error)
    faults += [
        Fault(item.at, f"passes are nested more than {MAX_DEPTH} deep")
        for item in items
        if item.depth > MAX_DEPTH
    ]
    if faults:
        raise syntax_error(text, faults)
    return tuple(items)


_kept = functools.lru_cache(maxsize=128)(_read)


def syntax_error(text: str, faults: Iterable[Fault]) -> PipelineSyntaxError:
    """Return the error that tells of all faults, in the order of the text."""
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
    shown, place = excerpt(line, at - start, _SHOWN)
    return f"  {shown}\n  {' ' * place}^"


@functools.cache
def _parser() -> Any:
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


def _place(error: Any, text: str) -> int:
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
