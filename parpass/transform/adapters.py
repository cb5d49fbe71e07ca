"""Which adapter handles which modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from parpass.errors import PassInputError, kind_of
from parpass.tables import Table
from parpass.transform.adapter import ModuleAdapter
from parpass.transform.passes import Pass
from parpass.transform.textual import register_programs

_adapters: Table[type, ModuleAdapter] = Table("adapter of")


_homes: dict[str, type] = {}  # packages of passes, and the modules that these are for


def register_adapter(
    module_type: type, adapter: ModuleAdapter, *, passes_in: Sequence[str] = ()
) -> None:
    """Say how modules of a type, and of its subclasses, are handled.

    Args:
        module_type: The type.
        adapter: What handles them.
        passes_in: Packages whose passes, and subclasses of these, are for such modules
            alone. A pass that no package says so of may be for any.
    """
    _adapters[module_type] = adapter
    _homes.update(dict.fromkeys(passes_in, module_type))
    _expected_in.cache_clear()
    if adapter.ir_name:
        register_programs(adapter)


def wrong_input(pass_: Pass, adapter: ModuleAdapter) -> PassInputError | None:
    """Return the error for a pass of another IR than that of the modules it is given.

    Args:
        pass_: The pass.
        adapter: What handles the modules.
    """
    for kind in type(pass_).__mro__:
        expected = _expected_in(kind.__module__)
        if expected is not None:
            break
    else:
        return None
    if _adapters.find(expected) is adapter:
        return None
    given = [kind for kind in _adapters if _adapters.find(kind) is adapter]
    if not given or any(issubclass(kind, expected) for kind in given):
        return None
    name = pass_.info.name
    return PassInputError(
        f"pass '{name}' expected {expected.__name__}, got {given[0].__name__}: it is a "
        "pass of another IR; name one of this, or give the pass a program of its own",
        pass_name=name,
    )


@functools.cache
def _expected_in(module: str) -> type | None:
    """Return what modules the passes that a module defines are for."""
    package = module
    while package:
        if package in _homes:
            return _homes[package]
        package = package.rpartition(".")[0]
    return None


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
