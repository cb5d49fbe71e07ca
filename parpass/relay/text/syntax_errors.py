"""What to say where a text is not of the grammar: what was expected, and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lark import UnexpectedInput, UnexpectedToken

if TYPE_CHECKING:
    from lark import Lark, Token

_LONGEST_SHOWN = 30

_EXPRESSION = {
    *("VAR", "GLOBAL", "NAME", "NUMBER", "TRUE", "FALSE", "META"),
    *("LPAR", "FN", "IF", "LBRACE", "MINUS"),
}
_TYPE = {"TENSOR", "NAME", "LPAR", "FN"}
_VALUE = {
    *_TYPE,
    *("STRING", "NUMBER", "NON_FINITE", "NONE", "TRUE", "FALSE", "LSQB", "LBRACE"),
}
_CONTINUATION = {
    *("PROJECTION", "OPERATOR", "MINUS", "LESS", "MORE", "LPAR", "TYPE_OPEN"),
}
# Larger sets come before those that they contain.
_GROUPS = (
    ({*_EXPRESSION, "STRING"}, "an argument"),
    (_EXPRESSION, "an expression"),
    (_VALUE, "a value"),
    (_TYPE, "a type"),
    ({"VAR", "NAME", "STRING"}, "a parameter"),
    ({"NAME", "STRING"}, "an attribute such as axis=1"),
    (_CONTINUATION, ""),  # true of each expression, and never what is missing
    ({"LESS", "TYPE_OPEN"}, "'<'"),
)
_WORDS = {
    "VAR": "a variable such as %x",
    "GLOBAL": "a function's name such as @main",
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string in double quotes",
    "$END": "the end of the text",
}


def place_of(error: UnexpectedInput, end: int) -> tuple[int, int]:
    """Return where an error is, and the length of what is wrong.

    Args:
        error: The error.
        end: The length of the text.
    """
    token = _token(error)
    if token is None:
        return cast("int", error.pos_in_stream), 1
    if token.type == "$END" or token.start_pos is None:
        return end, 1
    return token.start_pos, len(token.partition("\n")[0])


def message_of(error: UnexpectedInput, grammar: Lark) -> str:
    """Return an error in words."""
    words = _words(_expected(error), grammar)
    listed = ", ".join(words[:-1])
    wanted = f"{listed} or {words[-1]}" if listed else "".join(words)
    return f"expected {wanted}, got {_got(error)}"


def _expected(error: UnexpectedInput) -> set[str]:
    interactive: Any = getattr(error, "interactive_parser", None)
    if interactive is not None:
        return set(interactive.accepts())
    return set(getattr(error, "allowed", None) or getattr(error, "expected", ()))


def _words(expected: set[str], grammar: Lark) -> list[str]:
    words: list[str] = []
    for group, name in _GROUPS:
        if group <= expected and group != expected:
            expected = expected - group
            words += [name] if name else []
        elif group == expected and name:
            return [*words, name]
    return [*words, *sorted(_word(terminal, grammar) for terminal in expected)]


def _word(terminal: str, grammar: Lark) -> str:
    known = _WORDS.get(terminal)
    return known or f"'{grammar.get_terminal(terminal).pattern.value}'"


def _got(error: UnexpectedInput) -> str:
    token = _token(error)
    if token is not None and token.type == "$END":
        return "the end of the text"
    text = str(token or getattr(error, "char", ""))
    if text == '"':
        return "a string that does not end"
    if text == "/" and token is None:
        return "a comment that does not end"
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"'{shown}'" if shown.isprintable() else repr(shown)


def _token(error: UnexpectedInput) -> Token | None:
    return error.token if isinstance(error, UnexpectedToken) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- lark does not say
