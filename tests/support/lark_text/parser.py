"""Relay's text by lark's parser and a grammar: what the parser is compared with.

It makes no tree either: lark calls an action for each rule that it has read, and the
actions make the program.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
from lark import Lark, UnexpectedInput

from parpass.errors import ParseError
from parpass.ir.module import IRModule
from parpass.relay.text.constant_section import read_section
from parpass.runtime.ndarray import NDArray
from tests.support.lark_text.module_actions import ModuleActions
from tests.support.lark_text.token_problems import TokenProblems

_OPAQUE = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|"[^\n]*|//[^\n]*')
_SECTION = re.compile(r"^#\[metadata\]", re.MULTILINE)


def parse(text: str, source_name: str = "from_string") -> IRModule:
    """Return the module of which this is the text.

    Raises:
        ParseError: The text is none of the grammar, or means nothing; it has not all
            errors.
    """
    program, constants = text, None
    for found in [*_SECTION.finditer(text)][-1:]:
        program = text[: found.start()]
        constants = _constants(text[found.end() :])
    bare = _without_comments(program)
    actions = ModuleActions(TokenProblems(source_name, bare), constants)
    token = _actions.set(actions)
    try:
        _grammar().parse(bare, start="module")  # pyright: ignore[reportUnknownMemberType] -- lark also reads bytes
    except UnexpectedInput as error:
        raise ParseError(str(error)) from None
    finally:
        _actions.reset(token)
    actions.check_global_uses()
    actions.problems.raise_if_any()
    module = _module(actions)
    module.sources[source_name] = program
    return module


def _without_comments(text: str) -> str:
    """Return a text with blanks for block comments; an open one ends it wrongly."""
    kept, at, depth = list(text), 0, 0
    while at < len(text):
        opaque = None if depth else _OPAQUE.match(text, at)
        sign = text[at : at + 2]
        if opaque is not None:
            at = opaque.end()
        elif sign == "/*" or (sign == "*/" and depth):
            depth += 1 if sign == "/*" else -1
            kept[at : at + 2] = "  "
            at += 2
        else:
            if depth and text[at] != "\n":
                kept[at] = " "
            at += 1
    return "".join(kept) + ("\\" if depth else "")


def _constants(section: str) -> Sequence[NDArray]:
    try:
        return read_section(section)
    except (ValueError, msgspec.DecodeError) as error:
        raise ParseError(str(error)) from None


def _module(actions: ModuleActions) -> IRModule:
    if actions.root is not None:
        module = IRModule.from_expr(actions.root)
        module.attrs = actions.attrs
        return module
    module = IRModule(attrs=actions.attrs)
    for name, function in actions.functions.items():
        module[actions.global_vars[name]] = function
    return module


_actions: ContextVar[ModuleActions] = ContextVar("lark_text_actions")


@functools.cache
def _grammar() -> Lark:
    return Lark(
        Path(__file__).with_name("grammar.lark").read_text("utf-8"),
        parser="lalr",
        lexer="contextual",
        start=["module"],
        maybe_placeholders=True,
        transformer=_Forwarding(),
    )


class _Forwarding:
    """Calls the actions of the text that is being parsed.

    lark binds the actions of a grammar once, when it prepares the grammar, which takes
    longer than to parse most texts.
    """

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Any]:
        if not hasattr(ModuleActions, rule):
            raise AttributeError(rule)  # lark asks for actions on tokens, too
        return lambda parts: getattr(_actions.get(), rule)(parts)
