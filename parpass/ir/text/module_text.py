"""The text of a module: each function in the format of its IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from parpass.ir.relay_expr import GlobalVar
from parpass.ir.tenants import Annotate, FunctionPrinter, Tenant, tenant_of
from parpass.ir.text.literals import items_text


def header_text(functions: Iterable[Any]) -> str:
    """Return what a text of these functions begins with that stands for itself."""
    kinds = {tenant_of(function) for function in functions}
    return "".join(sorted({one.text_header for one in kinds or {tenant_of(GlobalVar)}}))


def module_text(
    functions: Mapping[str, Any],
    definitions: Iterable[Any],
    attrs: Mapping[str, Any] | None,
    *,
    show_meta_data: bool,
    annotate: Annotate | None,
) -> str:
    """Return what stands behind the header.

    Args:
        functions: The functions by name.
        definitions: The types that the module defines.
        attrs: The module's attributes.
        show_meta_data: Whether large constants are shown, in a section at the end.
        annotate: Returns what is written behind a node.
    """
    items = items_text(attrs)
    parts = [f"#[attrs({', '.join(items)})]\n"] if items else []
    printers: dict[Tenant, FunctionPrinter] = {}

    def printer_of(node: Any) -> FunctionPrinter:
        tenant = tenant_of(node)
        if tenant not in printers:
            printers[tenant] = tenant.printer(annotate)
        return printers[tenant]

    parts += [printer_of(GlobalVar).definition(one) for one in definitions]
    parts += [printer_of(one).function(name, one) for name, one in functions.items()]
    text = "\n".join(parts)
    if not show_meta_data:
        return text.rstrip("\n")
    return text + "".join(printer.section() for printer in printers.values())
