"""`tvm.parser`: reads programs from text and infers their types at once.

`relay.parse` reads alike and leaves types to the passes, which infer them on every
core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parpass.ir.module import IRModule
from parpass.relay.text import parser as untyped
from parpass.relay.text.parser import parse_expr
from parpass.relay.transform.infer_type import InferType


def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Parse a text as a module, and run InferType on it.

    Args:
        source: The text.
        source_name: Its name in diagnostics.
        init_module: A module whose functions the text may call; they are in the result.
        init_meta_table: Constants that the text refers to, under `relay.Constant`.

    Raises:
        ParseError: The text cannot be read.
        DiagnosticError: The program is ill-typed.
    """
    module = untyped.parse(source, source_name, init_module, init_meta_table)
    return InferType()(module)


def fromtext(source: str, source_name: str = "from_string") -> IRModule:
    """Parse a text as a module; another name of `parse`."""
    return parse(source, source_name)


__all__ = ["fromtext", "parse", "parse_expr"]
