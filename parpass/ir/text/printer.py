"""Printing without recursion, and the text of a module.

A printer yields parts, each a string or an iterator of further parts, which a stack
renders. `module_text` prints each function in the format of its IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from parpass.ir.dialect import Annotate, Dialect, FunctionPrinter, dialect_of
from parpass.ir.global_var import GlobalVar
from parpass.ir.text.literals import items_text

# A part of the text: a string, or an iterator of further parts.
Part: TypeAlias = "str | Callable[[], Sequence[Part]]"

_DEEPEST_INDENT = 20


def render_parts(parts: Sequence[Part]) -> str:
    """Render parts in order, each evaluated when its turn comes."""
    text: list[str] = []
    waiting = [*reversed(parts)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            text.append(part)
        else:
            waiting += part()[::-1]
    return "".join(text)


def indent(depth: int) -> str:
    """Return the indentation of a line at a block depth.

    Blocks deeper than a screen is wide are indented no further: the text of 100,000
    nested blocks would be quadratic in size otherwise.
    """
    return "  " * min(depth, _DEEPEST_INDENT)


def header_text(functions: Iterable[Any]) -> str:
    """Return the header of a text of these functions that stands alone."""
    kinds = {dialect_of(function) for function in functions}
    return "".join(
        sorted({one.text_header for one in kinds or {dialect_of(GlobalVar)}})
    )


def module_text(
    functions: Mapping[str, Any],
    definitions: Iterable[Any],
    attrs: Mapping[str, Any] | None,
    *,
    show_meta_data: bool,
    annotate: Annotate | None,
) -> str:
    """Return the text of a module behind its header.

    Args:
        functions: The functions by name.
        definitions: The types that the module defines.
        attrs: The module's attributes.
        show_meta_data: Whether large constants are included, in a section at the end.
        annotate: Returns a comment for a node.
    """
    items = items_text(attrs)
    parts = [f"#[attrs({', '.join(items)})]\n"] if items else []
    printers: dict[Dialect, FunctionPrinter] = {}

    def printer_of(node: Any) -> FunctionPrinter:
        dialect = dialect_of(node)
        if dialect not in printers:
            printers[dialect] = dialect.printer(annotate)
        return printers[dialect]

    parts += [printer_of(GlobalVar).definition(one) for one in definitions]
    parts += [printer_of(one).function(name, one) for name, one in functions.items()]
    text = "\n".join(parts)
    if not show_meta_data:
        return text.rstrip("\n")
    return text + "".join(printer.section() for printer in printers.values())
