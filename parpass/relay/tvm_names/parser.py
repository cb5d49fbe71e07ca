"""`tvm.parser`: programs are read from text, and their types found at once.

`relay.parse` reads as these do and leaves types to the passes, which find them on every
core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parpass.errors.missing_names import refusing
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
    """Return the module of which this is the text, with the types that InferType finds.

    Args:
        source: The text.
        source_name: What diagnostics call it.
        init_module: A module whose functions the text may call; they are in the result.
        init_meta_table: Constants that the text refers to, under `relay.Constant`.

    Raises:
        ParseError: The text cannot be read.
        DiagnosticError: The program is ill-typed.
    """
    module = untyped.parse(source, source_name, init_module, init_meta_table)
    return InferType()(module)


def fromtext(source: str, source_name: str = "from_string") -> IRModule:
    """Return the module of which this is the text; another name of `parse`."""
    return parse(source, source_name)


__all__ = ["fromtext", "parse", "parse_expr"]

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__)
