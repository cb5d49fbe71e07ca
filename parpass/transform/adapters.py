"""Which adapter handles which modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parpass.errors import PassInputError, kind_of
from parpass.tables import Table
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.textual import register_programs

_adapters: Table[type, ModuleAdapter] = Table("adapter of")


def register_adapter(module_type: type, adapter: ModuleAdapter) -> None:
    """Say how modules of a type, and of its subclasses, are handled."""
    _adapters[module_type] = adapter
    if adapter.ir_name:
        register_programs(adapter)


Unwrap = Callable[[Any], Any]

_wrappings: Table[type, Callable[[Any], tuple[Any, Unwrap]]] = Table("wrapping of")


def register_wrapping(
    part_type: type, wrap: Callable[[Any], tuple[Any, Unwrap]]
) -> None:
    """Say how something less than a module, of a type, goes through passes.

    `wrap` returns a module with it, and what takes it out of the resulting module.
    """
    _wrappings[part_type] = wrap


def wrapped(value: Any) -> tuple[Any, Unwrap]:
    """Return what a pass was called on as a module, and what gives the result back."""
    for kind in type(value).__mro__:
        wrap = _wrappings.find(kind)
        if wrap is not None:
            return wrap(value)
    return value, lambda mod: mod


def adapter_of(mod: Any, pass_name: str) -> ModuleAdapter:
    """Return the adapter for a module that a pass was given.

    Raises:
        PassInputError: No adapter is registered for its type.
    """
    for kind in type(mod).__mro__:
        adapter = _adapters.find(kind)
        if adapter is not None:
            return adapter
    expected = " or ".join(sorted(kind.__name__ for kind in _adapters)) or "a module"
    raise PassInputError(
        f"pass '{pass_name}' expected {expected}, got {kind_of(mod)}",
        pass_name=pass_name,
    )
