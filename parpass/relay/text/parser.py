"""The parser of Relay's text format, the inverse of the printer.

lark reads the text by the rules of `grammar.lark` and calls an action for each rule it
has read; the actions make the program. After a syntax error it goes on with the next
function, so that the errors of all functions are reported at once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextvars import ContextVar
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

import msgspec
from lark import Lark, UnexpectedInput

from parpass.errors.missing_names import refusing
from parpass.ir.module import IRModule
from parpass.relay.expr import Expr
from parpass.relay.text.constant_section import read_section
from parpass.relay.text.module_actions import ModuleActions
from parpass.relay.text.problems import Problems
from parpass.relay.text.syntax_errors import message_of, place_of
from parpass.runtime.ndarray import NDArray

import_module("parpass.relay.op")  # enters the operators in their table

_SECTION = re.compile(r"^#\[metadata\]", re.MULTILINE)
_BYTE = re.compile(r" \(byte (\d+)\)$")
_FUNCTION = re.compile(r"^[ \t]*def\b", re.MULTILINE)


def parse(text: str, source_name: str = "from_string") -> IRModule:
    """Return the module of which this is the text.

    The text of a single expression gives a module with that expression in it, as
    `IRModule.from_expr` makes it.

    Args:
        text: The text; comments are `// ...` and `/* ... */`.
        source_name: What diagnostics call the text, a file's name for example.

    Raises:
        ParseError: The text cannot be read; it shows all errors, each with its place.
    """
    program, actions = _read(text, source_name, "module")
    actions.check_global_uses()
    actions.problems.raise_if_any()
    if actions.root is not None:
        module = IRModule.from_expr(actions.root)
        module.attrs = actions.attrs
    else:
        module = IRModule(attrs=actions.attrs)
        for name, function in actions.functions.items():
            module[actions.global_vars[name]] = function
    module.sources[source_name] = program
    return module


def fromtext(data: str, source_name: str = "from_string") -> IRModule:
    """Return the module of which this is the text; another name of `parse`."""
    return parse(data, source_name)


def parse_expr(text: str, source_name: str = "from_string") -> Expr:
    """Return the expression of which this is the text.

    Variables that it does not bind are declared before it, `free_var %x: float32;`.

    Raises:
        ParseError: The text cannot be read; it shows all errors, each with its place.
    """
    _, actions = _read(text, source_name, "expression")
    actions.problems.raise_if_any()
    assert actions.root is not None
    return actions.root


def _read(text: str, source_name: str, start: str) -> tuple[str, ModuleActions]:
    """Return the text without its constants, and what its rules have given."""
    problems = Problems(source_name, text)
    found = [*_SECTION.finditer(text)]
    program, constants = text, None
    if found:
        program = text[: found[-1].start()]
        constants = _constants(text, found[-1].end(), problems)
    actions = ModuleActions(problems, constants)
    token = _actions.set(actions)
    try:
        _parse_parts(program, start, actions)
    finally:
        _actions.reset(token)
    return program, actions


def _parse_parts(text: str, start: str, actions: ModuleActions) -> None:
    """Parse a text; after an error go on with the next function."""
    grammar, problems, begin = _grammar(), actions.problems, 0
    while not problems.are_many:
        # Empty lines in place of what has been read keep the numbers of lines right.
        lines = text.count("\n", 0, begin)
        try:
            grammar.parse("\n" * lines + text[begin:], start=start)  # pyright: ignore[reportUnknownMemberType] -- lark also reads bytes
        except UnexpectedInput as error:
            at, length = place_of(error, lines + len(text) - begin)
            at += begin - lines
            problems.report(problems.span_at(at, length), message_of(error, grammar))
            following = _FUNCTION.search(text, max(at, begin + 1))
            if following is None:
                return
            begin, start = following.start(), "module"
            actions.forget_scopes()
        else:
            return


def _constants(text: str, begin: int, problems: Problems) -> list[NDArray]:
    section = text[begin:]
    try:
        return read_section(section)
    except (ValueError, msgspec.DecodeError) as error:
        offset = _BYTE.search(str(error))
        at = begin + (_characters(section, int(offset[1])) if offset else 0)
        message = _BYTE.sub("", str(error)).replace("`", "'")
        problems.report(problems.span_at(at), f"in the constants: {message}")
        return []


def _characters(text: str, count: int) -> int:
    """Return how many characters the first bytes of a text are."""
    return len(text.encode("utf-8", "replace")[:count].decode("utf-8", "ignore"))


_actions: ContextVar[ModuleActions] = ContextVar("parpass_text_actions")


@functools.cache
def _grammar() -> Lark:
    grammar = (resources.files("parpass.relay.text") / "grammar.lark").read_text(
        "utf-8"
    )
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["module", "expression"],
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


if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
